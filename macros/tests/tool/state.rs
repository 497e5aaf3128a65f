//! Tools with inner state made by `#[tool]`.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::json;
use toolyard_contract::{
    CallContext, Execution, IntoTool, Invocation, Outcome, StateScope, StateWork, StatefulFunction,
    StatefulTool, ToolReturn, ToolState,
    macro_support::serde::{Deserialize, Serialize},
    tool,
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(crate = "toolyard_contract::macro_support::serde")]
struct Counter {
    count: i64,
}

/// Counts.
#[tool(blocking = false, per_agent)]
fn count(
    counter: &mut Counter,
    /// How far
    by: i64,
) -> Result<i64, &'static str> {
    counter.count += by;
    if counter.count < 0 { Err("below zero") } else { Ok(counter.count) }
}

#[tool(state = Counter { count: 10 })]
async fn wait_and_count(context: &CallContext, state: &mut Counter, with: &str) -> String {
    std::future::ready(()).await;
    state.count += i64::from(context.attempt);
    format!("{with}{}", state.count)
}

#[tool]
fn block_and_count(total: &mut u64) -> u64 {
    *total += 1;
    *total
}

fn work<S: ToolState>(tool: StatefulFunction<S>, arguments: &str, state: S) -> (ToolReturn, S) {
    match Arc::new(tool).work(Invocation::detached(arguments), state) {
        StateWork::Done(returned, state) => (returned, state),
        StateWork::Blocks(blocks) => blocks(),
        StateWork::Waits(waits) => block_on(waits),
    }
}

#[test]
fn state_is_no_argument() {
    let expected = json!({
        "type": "object",
        "properties": {"by": {"type": "integer", "description": "How far"}},
        "required": ["by"]
    });
    assert_eq!(count::tool().spec().parameters(), expected);
    assert_eq!(count::tool().spec().description_text(), "Counts.");
}

#[test]
fn state_is_changed_and_handed_back() {
    let (returned, state) = work(count::tool(), r#"{"by": 2}"#, Counter { count: 5 });
    assert_eq!((returned, state.count), (Ok(json!(7).into()), 7));
    let (returned, state) = work(wait_and_count::tool(), r#"{"with": "n"}"#, Counter { count: 5 });
    assert_eq!((returned, state.count), (Ok("n6".into()), 6));
    let (returned, state) = work(block_and_count::tool(), "{}", 5);
    assert_eq!((returned, state), (Ok(json!(6).into()), 6));
    let (returned, _) = work(count::tool(), r#"{"by": -1}"#, Counter::default());
    assert_eq!(returned.unwrap_err().outcome, Outcome::Failed);
}

#[test]
fn the_first_state_and_who_has_one_are_options() {
    assert_eq!(count::tool().initial(Some("ada")), Counter { count: 0 });
    assert_eq!(count::tool().scope(), StateScope::Agent);
    assert_eq!(wait_and_count::tool().initial(None), Counter { count: 10 });
    assert_eq!(wait_and_count::tool().scope(), StateScope::Engine);
    assert!(count::tool().into_tool().state().is_some());
}

#[test]
fn where_it_runs_follows_the_same_rule_as_without_state() {
    assert_eq!(count::tool().spec().execution, Execution::Async);
    assert_eq!(wait_and_count::tool().spec().execution, Execution::Async);
    assert_eq!(block_and_count::tool().spec().execution, Execution::Blocking);
}

#[test]
fn the_function_stays_callable_with_a_state_of_the_callers() {
    let mut counter = Counter::default();
    assert_eq!(count(&mut counter, 3), Ok(3));
    assert_eq!(counter.count, 3);
}
