//! Values that are large, hidden or missing, and what is said about them.

use std::{borrow::Cow, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Map, json};
use toolyard::{
    EffectTags, Engine, ExecuteOptions, Failure, InjectPolicy, Judgement, NameTable, Outcome, Permission,
    PermissionCheck, PermissionContext, PermissionDecision, PermissionPolicy, ToolCall, ToolSpec, Verdict,
    formats::schema,
};

use super::tools::{call, echo, outcomes, tool};

/// A tool whose parameter `tenant` the runtime fills in, named in many places of its schema.
fn paying(name: &str) -> ToolSpec {
    ToolSpec::new(name).injected(["tenant"]).input_schema(json!({
        "type": "object",
        "properties": {"tenant": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["tenant", "n"],
        "anyOf": [{"required": ["tenant"]}, {"properties": {"tenant": true}}],
        "dependentRequired": {"n": ["tenant"]},
        "additionalProperties": false,
    }))
}

#[test]
fn a_parameter_of_the_runtime_is_in_no_listing_of_any_form() {
    let spec = paying("pay");
    let names = NameTable::new(["pay"]);
    let name = names.exposed("pay").unwrap();
    for (form, shown) in [
        ("native", spec.to_value()),
        ("schema", json!(spec.to_schema())),
        ("parameters", spec.parameters().into_value()),
        ("openai", json!(schema::openai::tool(&spec, name))),
        ("anthropic", json!(schema::anthropic::tool(&spec, name))),
        ("gemini", json!(schema::gemini::function(&spec, name))),
        ("mcp", json!(schema::mcp::tool(&spec, name))),
    ] {
        assert!(!shown.to_string().contains("tenant"), "{form}: {shown}");
        let text = shown.to_string().to_lowercase();
        assert!(text.contains("integer"), "{form}: the others stay: {shown}");
        assert!(
            !text.contains("anyof") && !text.contains("dependent"),
            "{form}: nothing empty is left: {shown}"
        );
    }
}

#[test]
fn no_error_about_arguments_names_a_parameter_of_the_runtime() {
    // The schema says it; the tool's own parser says it; the injected value is wrong.
    let by_schema = tool(paying("pay"), |_| async { Ok("".into()) });
    let by_tool = tool(paying("own").checks_arguments(true), |_| async {
        Err(Failure::bad_arguments("missing field `tenant` at line 1"))
    });
    let engine = Engine::builder().tool(by_schema).tool(by_tool).build().unwrap();
    let calls =
        || vec![call("pay", json!({"n": 1})), call("own", json!({"n": 1})), call("pay", json!({"n": "x"}))];
    let wrong = Map::from_iter([("tenant".to_owned(), json!(7))]);
    for options in [ExecuteOptions::new(), ExecuteOptions::new().inject(wrong, InjectPolicy::InjectedWins)] {
        let report = engine.execute_blocking(calls(), options).unwrap();
        for result in &report.results {
            let written = serde_json::to_string(result).unwrap();
            assert!(result.outcome == Outcome::BadArguments && !written.contains("tenant"), "{written}");
        }
    }
    let spec = paying("pay").input_schema(json!({"properties": {"n": {"type": "integer"}}}));
    let engine = Engine::builder().tool(tool(spec, |_| async { Ok("".into()) })).build().unwrap();
    let report =
        engine.execute_blocking(vec![call("pay", json!({"n": "x"}))], ExecuteOptions::new()).unwrap();
    let error = report.results[0].error.as_deref().unwrap();
    assert!(error.contains("at /n: \"x\" is not of type \"integer\""), "what is no secret is said: {error}");
}

/// A policy that notes what it is told of effects.
struct Noting(Arc<Mutex<Vec<Option<Vec<String>>>>>);

impl PermissionPolicy for Noting {
    fn version(&self) -> Cow<'_, str> {
        "1".into()
    }

    fn judge(&self, _: &PermissionCheck, context: &PermissionContext<'_>) -> Judgement {
        self.0.lock().push(context.effects.map(<[String]>::to_vec));
        PermissionDecision::new(Verdict::Allow, "noted").into()
    }
}

#[test]
fn policies_and_plans_see_whether_a_tool_says_what_effects_it_has() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let spec = |name: &str| ToolSpec::new(name);
    let quiet = |spec: ToolSpec| tool(spec, |_| async { Ok("".into()) });
    let engine = Engine::builder()
        .tool(quiet(spec("unsaid")))
        .tool(quiet(spec("none").effects(EffectTags::none())))
        .tool(quiet(spec("disk").effects([" Disk "])))
        .permissions(Noting(seen.clone()))
        .build()
        .unwrap();
    let calls = || ["unsaid", "none", "disk"].map(|name| call(name, json!({}))).to_vec();
    let expected = [None, Some(vec![]), Some(vec!["disk".to_owned()])];
    let preview = futures::executor::block_on(engine.plan(calls(), ExecuteOptions::new())).unwrap();
    let planned: Vec<_> =
        preview.effects.iter().map(|effects| effects.said().map(<[String]>::to_vec)).collect();
    assert_eq!(planned, expected);
    let _: &[Permission] = &preview.permissions;
    assert_eq!(*seen.lock(), expected);
}

#[test]
fn a_name_of_three_megabytes_is_echoed_once_and_cut_in_every_error() {
    let long = "x".repeat(3_000_000);
    let engine = Engine::builder().tool(echo("echo")).build().unwrap();
    let named = format!(r#"{{"{long}": 1, "{long}": 2}}"#);
    let calls = vec![
        call(&long, json!({})),
        call("echo", json!("plain text")),
        ToolCall::new("echo", toolyard::Arguments::from_text(named)),
        ToolCall::new(long.as_str(), toolyard::Arguments::from_text("[".into())),
    ];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["unknown_tool", "bad_arguments", "bad_arguments", "unknown_tool"]);
    for result in &report.results {
        let error = result.error.as_ref().unwrap();
        assert!(error.len() < 10_000, "{} bytes", error.len());
    }
    assert_eq!(report.results[0].tool, long, "the answer echoes it");
    let error = report.results[0].error.as_ref().unwrap();
    assert!(error.contains("xxx… (3000000 bytes)"), "{error}");
}

#[test]
fn integers_of_any_size_go_through_a_schema_and_come_back_exactly() {
    let spec = ToolSpec::new("same").input_schema(json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 0}},
        "required": ["n"],
    }));
    let same = tool(spec, |invocation| async move {
        Ok(toolyard::Output::from_json_text(invocation.arguments).unwrap().into())
    });
    let engine = Engine::builder().tool(same).build().unwrap();
    for digits in [20, 309, 400, 5_000, 200_000] {
        let text = format!(r#"{{"n":{}}}"#, "7".repeat(digits));
        let calls = vec![
            ToolCall::new("same", toolyard::Arguments::from_text(text.clone())),
            ToolCall::new(
                "same",
                toolyard::Arguments::from_text(format!(r#"{{"n":-{}}}"#, "7".repeat(digits))),
            ),
        ];
        let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
        assert_eq!(outcomes(&report), ["ok", "bad_arguments"], "{digits}: {:?}", report.results[0].error);
        assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), text, "{digits}");
        assert!(report.results[1].error.as_ref().unwrap().len() < 5_000);
    }
}

#[test]
fn a_detail_with_nothing_in_it_is_never_written() {
    let spec = |name: &str| ToolSpec::new(name);
    let empty = tool(spec("empty"), |_| async {
        let mut reply = toolyard::Reply::from("");
        reply.detail.get_or_insert_default().truncated = false;
        Ok(reply)
    });
    let fails = tool(spec("fails"), |_| async { Err(Failure::failed("x").detail(|_| {})) });
    let keeps = tool(spec("keeps"), |invocation| async move {
        Err(Failure::needs_input(invocation.arguments, "what?").keep(json!({"secret": 1})))
    });
    let engine = Engine::builder().tool(empty).tool(fails).tool(keeps).build().unwrap();
    let calls = ["empty", "fails", "keeps"].map(|name| call(name, json!({}))).to_vec();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "failed", "suspended"]);
    let written = serde_json::to_value(&report.results).unwrap();
    for result in written.as_array().unwrap() {
        assert!(result.get("detail").is_none(), "{result}");
    }
    let read: Vec<toolyard::ToolResult> = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
    let mut with_empty = written[0].clone();
    with_empty["detail"] = json!({});
    assert!(serde_json::from_value::<toolyard::ToolResult>(with_empty).unwrap().detail.is_none());
}
