//! Tools that are switched off are neither listed nor called, from the moment of the change.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use toolyard::{
    ActivationController, ActivationMode, ActivationRule, ActivationRules, Engine, ExecuteOptions, Report,
    ToolSpec,
};

use super::tools::{call, echo, outcomes, tool};

fn off(pattern: &str) -> ActivationController {
    ActivationController::new(ActivationRules {
        rules: vec![ActivationRule::new(ActivationMode::Deactivate, pattern).unwrap()],
        ..ActivationRules::default()
    })
}

fn run(engine: &Engine, tools: &[&str]) -> Report {
    let calls: Vec<_> = tools.iter().map(|tool| call(tool, json!({}))).collect();
    engine.execute_blocking(calls, ExecuteOptions::new()).unwrap()
}

#[test]
fn a_tool_that_is_off_is_inactive_and_its_siblings_run() {
    let engine = Engine::builder()
        .tool(echo("file_read"))
        .tool(echo("add"))
        .alias("reader", "file_read")
        .activation(off("file_*"))
        .build()
        .unwrap();
    let report = run(&engine, &["add", "file_read", "reader", "FILE_READ", "add"]);
    assert_eq!(outcomes(&report), ["ok", "inactive", "inactive", "inactive", "ok"]);
    assert_eq!(report.results[1].error.as_deref(), Some("tool \"file_read\": it is switched off"));
}

#[test]
fn a_tool_that_is_off_is_not_named_where_an_unknown_one_was_wanted() {
    let engine = Engine::builder()
        .tool(echo("secret_tool"))
        .tool(echo("add"))
        .activation(off("secret*"))
        .build()
        .unwrap();
    let error = run(&engine, &["secret_toll"]).results.remove(0).error.unwrap();
    assert_eq!(error, "no tool is named \"secret_toll\"; there are: add");
}

#[test]
fn a_change_counts_at_once_for_every_engine_that_shares_the_controller() {
    let activation = ActivationController::default();
    let engine = || Engine::builder().tool(echo("add")).activation(activation.clone()).build().unwrap();
    let (one, two) = (engine(), engine());
    let both = || [outcomes(&run(&one, &["add"])), outcomes(&run(&two, &["add"]))].concat();
    assert_eq!(both(), ["ok", "ok"]);
    activation.deactivate("add");
    assert_eq!(both(), ["inactive", "inactive"]);
    activation.activate("add");
    assert_eq!(both(), ["ok", "ok"]);
}

#[test]
fn tools_that_a_list_brings_along_can_be_off_too() {
    let engine = Engine::builder().activation(off("guest")).build().unwrap();
    let options = ExecuteOptions::new().guest(Arc::new(echo("guest")));
    let report = engine.execute_blocking(vec![call("guest", json!({}))], options).unwrap();
    assert_eq!(outcomes(&report), ["inactive"]);
}

#[test]
fn switching_a_tool_off_stops_the_calls_of_a_list_that_have_not_begun() {
    let activation = ActivationController::default();
    let (begun, begins) = std::sync::mpsc::channel();
    let ends = Arc::new(Semaphore::new(0));
    let gate = ends.clone();
    let slow = tool(ToolSpec::new("slow").parallel_safe(true).max_in_flight(1), move |_| {
        let (begun, gate) = (begun.clone(), gate.clone());
        async move {
            begun.send(()).unwrap();
            gate.acquire().await.unwrap().forget();
            Ok("".into())
        }
    });
    let engine = Engine::builder().tool(slow).activation(activation.clone()).build().unwrap();
    let report = std::thread::scope(|scope| {
        let list = scope.spawn(|| run(&engine, &["slow"; 3]));
        begins.recv().unwrap();
        activation.deactivate("slow");
        ends.add_permits(3);
        list.join().unwrap()
    });
    assert_eq!(outcomes(&report), ["ok", "inactive", "inactive"], "what had begun goes on");
}
