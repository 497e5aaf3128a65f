//! The engine as a manager of tools: listing, finding, adding, replacing, taking out.

use futures::executor::block_on;
use serde_json::json;
use toolyard::{CatalogError, Engine, EngineError, ExecuteOptions, StateScope, Stateful, Tool, ToolSpec};

use super::{
    state::Counter,
    tools::{call, echo, tool},
};

/// A tool that answers with its version.
fn versioned(name: &str, version: u32) -> impl Tool {
    tool(ToolSpec::new(name).description(format!("version {version}")), move |_| async move {
        Ok(json!(version).into())
    })
}

fn engine() -> Engine {
    Engine::builder().tool(versioned("one", 1)).tool(versioned("two", 1)).build().unwrap()
}

/// Name and description of the listed tools.
fn listed(engine: &Engine) -> Vec<(String, String)> {
    engine.list_tools().into_iter().map(|schema| (schema.name, schema.description)).collect()
}

fn pair(name: &str, version: u32) -> (String, String) {
    (name.to_owned(), format!("version {version}"))
}

#[test]
fn listing_leaves_out_what_is_switched_off_and_finding_does_not() {
    let engine = engine();
    engine.activation().deactivate("one");
    assert_eq!(listed(&engine), [pair("two", 1)]);
    let found = engine.find_tools(["two", " ONE "]).unwrap();
    assert_eq!(found.iter().map(|schema| schema.name.as_str()).collect::<Vec<_>>(), ["two", "one"]);
    assert_eq!(found[0].parameters["type"], "object");
}

#[test]
fn finding_an_unknown_tool_is_an_error_that_names_it() {
    let error = engine().find_tools(["one", "three"]).unwrap_err();
    assert_eq!(error, CatalogError::Unknown { name: "three".into() });
}

#[test]
fn calling_gives_one_result_for_each_call_in_their_order() {
    let engine = engine();
    let calls = vec![call("two", json!({})), call("nobody", json!({})), call("one", json!({}))];
    let results = block_on(engine.call_tools(calls, ExecuteOptions::new())).unwrap();
    let shown: Vec<_> = results.iter().map(|result| (result.index, result.outcome.as_str())).collect();
    assert_eq!(shown, [(0, "ok"), (1, "unknown_tool"), (2, "ok")]);
}

#[test]
fn one_call_has_one_result_and_an_unknown_name_is_a_result_too() {
    let engine = engine();
    let run =
        |name: &str| block_on(engine.execute_one(call(name, json!({})), ExecuteOptions::new())).unwrap();
    assert_eq!(run("ONE").output.unwrap().to_value(), 1);
    assert_eq!(run("nobody").outcome.as_str(), "unknown_tool");
    assert!(run("nobody").error.unwrap().contains("there are: one, two"));
}

#[test]
fn adding_puts_new_tools_at_the_end_and_replaces_those_that_are_there_in_their_place() {
    let engine = engine();
    block_on(engine.add_tools([versioned("three", 1), versioned("one", 2)])).unwrap();
    assert_eq!(listed(&engine), [pair("one", 2), pair("two", 1), pair("three", 1)]);
}

#[test]
fn adding_a_name_in_another_spelling_is_refused_and_changes_nothing() {
    let engine = engine();
    let error = block_on(engine.add_tools([versioned("three", 1), versioned("ONE", 2)])).unwrap_err();
    let taken = CatalogError::NameTaken { name: "ONE".into(), taken_by: "one".into() };
    assert_eq!(error, EngineError::Catalog(taken));
    assert_eq!(listed(&engine), [pair("one", 1), pair("two", 1)]);
}

#[test]
fn updating_a_tool_that_is_not_there_is_an_error_and_changes_nothing() {
    let engine = engine();
    let error = block_on(engine.update_tools([versioned("two", 2), versioned("three", 1)])).unwrap_err();
    assert_eq!(error, EngineError::Catalog(CatalogError::Unknown { name: "three".into() }));
    assert_eq!(listed(&engine), [pair("one", 1), pair("two", 1)]);
    block_on(engine.update_tools([versioned("two", 2)])).unwrap();
    assert_eq!(listed(&engine), [pair("one", 1), pair("two", 2)]);
}

#[test]
fn deleting_takes_out_all_named_tools_or_none() {
    let engine = engine();
    let error = block_on(engine.delete_tools(["one", "three"])).unwrap_err();
    assert_eq!(error, EngineError::Catalog(CatalogError::Unknown { name: "three".into() }));
    assert_eq!(listed(&engine).len(), 2);
    block_on(engine.delete_tools(["ONE", "two"])).unwrap();
    assert!(engine.list_tools().is_empty());
}

#[test]
fn a_tool_with_a_schema_that_cannot_be_used_changes_nothing() {
    let engine = engine();
    let bad =
        tool(ToolSpec::new("three").input_schema(json!({"type": "nonsense"})), |_| async { Ok("".into()) });
    let error = block_on(engine.add_tools([bad])).unwrap_err();
    assert!(matches!(error, EngineError::Catalog(CatalogError::BadSchema { .. })), "{error}");
    assert_eq!(listed(&engine).len(), 2);
}

#[test]
fn an_alias_of_an_alias_leads_to_the_tool_and_a_circle_is_refused() {
    let builder = || Engine::builder().tool(echo("add")).alias("sum", "plus").alias("plus", "add");
    let results =
        builder().build().unwrap().execute_blocking(vec![call("SUM", json!({}))], ExecuteOptions::new());
    assert!(results.unwrap().all_ok());
    let error = builder().alias("ping", "pong").alias("pong", "ping").build().unwrap_err();
    assert_eq!(error.to_string(), "alias \"pong\" leads back to itself: let one of its aliases name a tool");
}

#[test]
fn an_alias_equal_to_the_name_of_a_tool_is_no_error_and_the_tool_wins() {
    let builder = Engine::builder().tool(versioned("one", 1)).tool(versioned("two", 2));
    let engine = builder.alias("one", "One").alias("two", "one").alias("uno", "uno").build().unwrap();
    let run = |name: &str| {
        let result = block_on(engine.execute_one(call(name, json!({})), ExecuteOptions::new())).unwrap();
        result.output.map_or_else(|| json!(result.outcome.as_str()), |output| output.to_value())
    };
    assert_eq!([run("one"), run("TWO"), run("uno")], [json!(1), json!(2), json!("unknown_tool")]);
}

#[test]
fn a_reset_forgets_the_states_and_keeps_the_tools() {
    let engine =
        Engine::builder().tool(Stateful::new(Counter::new("count", StateScope::Agent))).build().unwrap();
    let count = || {
        let options = ExecuteOptions::new().agent("a");
        let report = engine.execute_blocking(vec![call("count", json!({}))], options).unwrap();
        report.results[0].output.as_ref().unwrap().to_value()
    };
    block_on(engine.add_tools([echo("added")])).unwrap();
    assert_eq!([count(), count()], [1, 2]);
    assert!(block_on(engine.reset()).unwrap().is_complete());
    assert_eq!(count(), 1);
    assert_eq!(engine.list_tools().len(), 2);
}
