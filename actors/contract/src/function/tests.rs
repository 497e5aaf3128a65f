use std::{
    collections::BTreeMap,
    fmt,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    task::{Context, Waker},
};

use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::{CallContext, Failure, Outcome, Output, Reply, ToolReturn};

fn tool<Shape, F>(function: F) -> Arc<FunctionTool>
where
    F: ToolFunction<Shape>,
    F::Args: DeserializeOwned,
{
    Arc::new(FunctionTool::with_schema(ToolSpec::new("t"), function))
}

fn call<Shape, F>(function: F, arguments: &str) -> ToolReturn
where
    F: ToolFunction<Shape>,
    F::Args: DeserializeOwned,
{
    block_on(tool(function).call(Invocation::detached(arguments)))
}

fn output<Shape, F>(function: F) -> Option<Value>
where
    F: ToolFunction<Shape>,
    F::Args: DeserializeOwned,
{
    call(function, "{}").unwrap().output.map(|output| output.to_value())
}

fn error<Shape, F>(function: F) -> String
where
    F: ToolFunction<Shape>,
    F::Args: DeserializeOwned,
{
    let failure = call(function, "{}").unwrap_err();
    assert_eq!(failure.outcome, Outcome::Failed);
    failure.error
}

async fn named(args: BTreeMap<String, i64>) -> Result<i64, fmt::Error> {
    Ok(args.values().sum())
}

#[test]
fn functions_of_every_shape_are_tools() {
    type Args = BTreeMap<String, i64>;
    let expected = Ok(Reply { output: Some(Output::json(&3).unwrap()), detail: None });
    let arguments = r#"{"a": 1, "b": 2}"#;
    assert_eq!(call(|| 3, arguments), expected);
    assert_eq!(call(|args: Args| args["a"] + args["b"], arguments), expected);
    assert_eq!(call(|args: Args, _: CallContext| args["a"] + args["b"], arguments), expected);
    assert_eq!(call(async || 3, arguments), expected);
    assert_eq!(call(async |args: Args| args["a"] + args["b"], arguments), expected);
    assert_eq!(call(|args: Args| async move { args["a"] + args["b"] }, arguments), expected);
    assert_eq!(call(async |args: Args, _: CallContext| args["a"] + args["b"], arguments), expected);
    assert_eq!(call(named, arguments), expected);
}

#[test]
fn a_plain_function_is_blocking_unless_it_is_said_to_be_quick() {
    let make = || FunctionTool::with_schema(ToolSpec::new("t"), || 1);
    assert_eq!(make().spec().execution, Execution::Blocking);
    assert_eq!(make().quick().spec().execution, Execution::Async);
    assert_eq!(tool(async || 1).spec().execution, Execution::Async);
}

#[test]
fn a_plain_function_answers_at_once_and_an_async_one_when_it_is_polled() {
    let ran = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ran);
    let plain = tool(move || ran.store(true, Relaxed)).call(Invocation::detached("{}"));
    assert!(seen.swap(false, Relaxed));
    assert!(plain.into_answer().is_ok());

    let ran = Arc::clone(&seen);
    let later = tool(move || {
        let ran = Arc::clone(&ran);
        async move { ran.store(true, Relaxed) }
    });
    let mut future = later.call(Invocation::detached("{}")).into_answer().unwrap_err();
    assert!(!seen.load(Relaxed));
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert!(seen.load(Relaxed));
}

#[test]
fn answers_become_text_structured_output_or_nothing() {
    assert_eq!(call(|| "hi", "{}").unwrap(), "hi".into());
    assert_eq!(call(|| Json("hi"), "{}").unwrap().output.unwrap().to_text(), "\"hi\"");
    assert_eq!(output(|| json!({"a": [1]})), Some(json!({"a": [1]})));
    assert_eq!(output(|| vec![("a", 1)]), Some(json!([["a", 1]])));
    assert_eq!(output(|| [1.5]), Some(json!([1.5])));
    assert_eq!(output(|| BTreeMap::from([("a", 1)])), Some(json!({"a": 1})));
    assert_eq!(output(|| u128::MAX.to_string()), Some(json!("340282366920938463463374607431768211455")));
    assert_eq!(call(|| u128::MAX, "{}").unwrap().output.unwrap().to_text(), u128::MAX.to_string());
    assert_eq!(output(|| Some(1)), Some(json!(1)));
    assert_eq!(output(|| None::<i32>), None);
    assert_eq!(output(|| ()), None);
    assert_eq!(output(|| Ok::<_, Failure>(Reply::from("x"))), Some(json!("x")));
    assert_eq!(output(|| Output::from("x")), Some(json!("x")));
}

#[test]
fn errors_become_failures_and_failures_stay_as_they_are() {
    assert_eq!(error(|| Err::<(), _>("no")), "no");
    assert_eq!(error(async || Err::<(), _>(fmt::Error)), fmt::Error.to_string());
    let failure = Failure::timed_out("too slow").output("half");
    let same = failure.clone();
    assert_eq!(call(move || Err::<i32, _>(failure.clone()), "{}"), Err(same));
    let unwritable = error(|| Json(BTreeMap::from([((1, 2), 3)])));
    assert!(unwritable.starts_with("the output cannot be written as JSON: "), "{unwritable}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_the_function_runs() {
    let refused = call(|_: BTreeMap<String, i64>| -> i32 { panic!("ran") }, r#"{"a": "x"}"#).unwrap_err();
    assert_eq!(refused.outcome, Outcome::BadArguments);
    assert_eq!(refused.error, r#"argument `a`: invalid type: string "x", expected i64"#);
}

#[test]
#[should_panic(expected = "broken")]
fn a_panic_is_left_to_whoever_polls() {
    let _ = call(|| -> i32 { panic!("broken") }, "{}");
}

#[cfg(feature = "macros")]
mod with_schemas {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    /// Written for readers of the code
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema matters")]
    struct Search {
        /// What to look for
        query: String,
        /// In which order
        order: Option<Order>,
        #[serde(default = "ten")]
        limit: u8,
        area: Option<Area>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        Newest,
        Best,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema matters")]
    struct Area {
        corners: Vec<(f32, f32)>,
    }

    fn ten() -> u8 {
        10
    }

    #[test]
    fn the_schema_is_the_one_of_the_arguments_type() {
        let search = FunctionTool::new(ToolSpec::new("search"), |_: Search| ());
        let corner = json!({
            "type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [{"type": "number"}, {"type": "number"}]
        });
        let area = json!({
            "type": ["object", "null"], "properties": {"corners": {"type": "array", "items": corner}},
            "required": ["corners"], "additionalProperties": false
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for"},
                "order": {
                    "type": ["string", "null"], "enum": ["newest", "best", null],
                    "description": "In which order"
                },
                "limit": {"type": "integer", "minimum": 0, "maximum": 255, "default": 10},
                "area": area
            },
            "required": ["query"]
        });
        assert_eq!(search.spec().input_schema, expected);
        assert!(!search.spec().checks_arguments);
    }

    #[test]
    fn a_schema_in_the_spec_wins() {
        let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        let spec = ToolSpec::new("search").input_schema(schema.clone());
        assert_eq!(FunctionTool::new(spec, |_: Search| ()).spec().input_schema, schema);
    }

    #[test]
    fn a_function_without_arguments_has_an_empty_object() {
        let now = FunctionTool::new(ToolSpec::new("now"), || "noon");
        assert_eq!(now.spec().parameters(), json!({"type": "object", "properties": {}}));
    }
}
