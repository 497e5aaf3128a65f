//! Tools made of functions, run by the engine.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use serde::Deserialize;
use serde_json::{Value, json};
use toolyard::{
    Arguments, Engine, ExecuteOptions, FunctionTool, IntoTool, Outcome, ToolCall, ToolResult, ToolSpec,
    schemars, tool,
};

/// Adds two integers.
#[tool(parallel_safe, blocking = false)]
fn add(a: i64, b: i64) -> Result<i64, &'static str> {
    a.checked_add(b).ok_or("the sum does not fit 64 bits")
}

#[tool]
async fn divide(a: i64, b: i64) -> i64 {
    tokio::task::yield_now().await;
    a / b
}

#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(crate = "toolyard::schemars")]
struct Repeat {
    text: String,
    #[schemars(range(max = 3))]
    times: usize,
}

fn repeat() -> FunctionTool {
    FunctionTool::new(ToolSpec::new("repeat"), |Repeat { text, times }| text.repeat(times))
}

fn run(engine: &Engine, calls: &[(&str, Value)]) -> Vec<ToolResult> {
    let call = |(name, arguments): &(&str, Value)| ToolCall::new(*name, Arguments::from(arguments.clone()));
    let calls: Vec<ToolCall> = calls.iter().map(call).collect();
    engine.execute_blocking(calls, ExecuteOptions::default()).unwrap().results
}

fn engine() -> Engine {
    Engine::builder().tools([add::tool(), divide::tool(), repeat()]).build().unwrap()
}

#[test]
fn functions_of_every_kind_run_in_one_list() {
    let results = run(
        &engine(),
        &[
            ("add", json!({"a": 1, "b": 2})),
            ("divide", json!({"a": 6, "b": 3})),
            ("repeat", json!({"text": "ab", "times": 2})),
        ],
    );
    let outputs: Vec<_> = results.iter().map(|result| result.output.as_ref().unwrap().to_text()).collect();
    assert_eq!(outputs, ["3", "2", "abab"]);
}

#[test]
fn errors_and_panics_of_functions_are_results_of_their_calls() {
    let results = run(
        &engine(),
        &[
            ("add", json!({"a": i64::MAX, "b": 1})),
            ("divide", json!({"a": 1, "b": 0})),
            ("add", json!({"a": 1, "b": 1})),
        ],
    );
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Failed, Outcome::Panicked, Outcome::Ok]);
    assert_eq!(results[0].error.as_deref(), Some("the sum does not fit 64 bits"));
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_type_and_by_schema_alike() {
    let results = run(
        &engine(),
        &[
            ("add", json!({"a": "1", "b": 2})),
            ("add", json!({"a": 1})),
            ("add", json!({"a": 1.0, "b": 2})),
            ("repeat", json!({"text": "x", "times": 4})),
        ],
    );
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::BadArguments, Outcome::BadArguments, Outcome::Ok, Outcome::BadArguments]);
    let error = |index: usize| results[index].error.as_deref().unwrap();
    assert!(error(0).contains("/a") && error(0).contains("integer"), "{}", error(0));
    assert!(error(1).contains("\"b\" is a required property"), "{}", error(1));
    assert!(error(3).contains("/times"), "{}", error(3));
}

#[test]
fn plain_functions_block_threads_of_their_own() {
    // Each waits for the other, so this ends only if both run at once.
    let meet = Arc::new(Barrier::new(2));
    let spec = ToolSpec::new("meet").parallel_safe(true);
    let tool = FunctionTool::new(spec, move || {
        meet.wait();
    });
    let engine = Engine::builder().tool(tool).build().unwrap();
    let results = run(&engine, &[("meet", json!({})), ("meet", json!({}))]);
    assert!(results.iter().all(ToolResult::is_ok));
}

#[test]
fn a_tool_that_others_hold_stays_the_one_it_is() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let shared = FunctionTool::new(ToolSpec::new("count"), move || counted.fetch_add(1, Relaxed)).into_tool();
    for engine in [(); 2].map(|()| Engine::builder().tool(Arc::clone(&shared)).build().unwrap()) {
        run(&engine, &[("count", json!({}))]);
    }
    assert_eq!(count.load(Relaxed), 2);
    assert!(Arc::ptr_eq(&shared, &Arc::clone(&shared).into_tool()));
}
