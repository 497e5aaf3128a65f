//! Calls as a model sends them after it was shown a provider's form, run by the engine.

use std::sync::Arc;

use serde_json::json;
use toolyard::{
    Arguments, CatalogError, Engine, ExecuteOptions, NameTable, Outcome, Report, StubTool, ToolCall,
    ToolSpec, formats::schema,
};

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name).input_schema(json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}, "near": {"type": ["string", "null"]}},
        "required": ["city"],
        "additionalProperties": false,
    }))
}

fn run(specs: &[ToolSpec], calls: Vec<ToolCall>) -> Report {
    let tools = specs.iter().map(|spec| Arc::new(StubTool::new(spec.clone())) as Arc<dyn toolyard::Tool>);
    let engine = Engine::builder().tools(tools).build().expect("the engine starts");
    engine.execute_blocking(calls, ExecuteOptions::new()).expect("the list is taken")
}

#[test]
fn a_tool_is_called_by_its_exposed_name_and_the_result_echoes_it() {
    let specs = [spec("weather.report"), spec("天气"), spec("plain")];
    let table = NameTable::new(specs.iter().map(|spec| spec.name.as_str()));
    let sent: Vec<String> =
        table.iter().flat_map(|(own, exposed)| [own.to_owned(), exposed.to_owned()]).collect();
    let call = |name: &String| ToolCall::new(name, Arguments::from_text(r#"{"city": "Rome"}"#.into()));
    let report = run(&specs, sent.iter().map(call).collect());
    for (result, sent) in report.results.iter().zip(&sent) {
        assert_eq!(
            (result.tool.as_str(), result.outcome),
            (sent.as_str(), Outcome::Ok),
            "{:?}",
            result.error
        );
    }
}

#[test]
fn no_tool_gets_the_calls_of_another_by_taking_its_exposed_name() {
    let table = NameTable::new(["files/read"]);
    let exposed = table.exposed("files/read").unwrap();
    let honest = ToolSpec::new("files/read").input_schema(json!({"required": ["honest"]}));
    let report =
        run(&[spec(exposed), honest], vec![ToolCall::new(exposed, Arguments::from_text("{}".into()))]);
    let error = report.results[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("honest"), "the call went to the tool that it named: {error}");
}

#[test]
fn null_for_a_property_that_strict_mode_forced_is_as_good_as_left_out() {
    let spec = spec("weather");
    assert_eq!(schema::openai::tool(&spec, "weather").not_strict, None);
    let call = |text: &str| ToolCall::new("weather", Arguments::from_text(text.into()));
    let report = run(
        &[spec],
        vec![
            call(r#"{"city": "Rome", "near": null, "unit": null}"#),
            call(r#"{"city": null, "near": null, "unit": null}"#),
        ],
    );
    assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), r#"{"city":"Rome","near":null}"#);
    assert_eq!(report.results[1].outcome, Outcome::BadArguments);
}

#[test]
fn names_that_differ_in_case_only_are_refused_at_registration() {
    let tools = ["Read", "read"].map(|name| Arc::new(StubTool::new(spec(name))) as Arc<dyn toolyard::Tool>);
    let refused = Engine::builder().tools(tools).build().expect_err("one of them has no name of its own");
    assert!(matches!(refused, toolyard::StartError::Tools(CatalogError::NameTaken { .. })), "{refused}");
}
