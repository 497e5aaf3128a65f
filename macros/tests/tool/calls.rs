//! Tools made by `#[tool]`, called.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::{Value, json};
use toolyard_contract::macro_support::{Deserialize, JsonSchema, serde};
use toolyard_contract::{
    CallContext, Failure, Invocation, Json, Output, Reply, Tool, ToolReturn, schemars, tool,
};

fn call(tool: impl Tool, arguments: &str) -> ToolReturn {
    block_on(Arc::new(tool).call(Invocation::detached(arguments)))
}

fn output(tool: impl Tool, arguments: &str) -> Value {
    call(tool, arguments).unwrap().output.map_or(Value::Null, |output| output.to_value())
}

fn error(tool: impl Tool, arguments: &str) -> String {
    call(tool, arguments).unwrap_err().error
}

/// Names that meet those that the macro itself uses
#[tool]
fn arguments(arguments: i64, context: i64, spec: i64, r#fn: i64) -> i64 {
    arguments * 1000 + context * 100 + spec * 10 + r#fn
}

#[tool]
async fn join(words: &[String], with: &str, mut times: u8, context: CallContext) -> String {
    let mut out = String::new();
    while times > 0 {
        times -= 1;
        out += &words.join(with);
    }
    context.progress(out.as_str());
    out
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolyard_contract::macro_support::serde", rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[tool]
fn convert(degrees: f64, #[arg(default = Unit::Celsius)] to: Unit, digits: Option<u8>) -> String {
    let converted = match to {
        Unit::Celsius => (degrees - 32.0) / 1.8,
        Unit::Fahrenheit => degrees * 1.8 + 32.0,
    };
    format!("{converted:.*}", digits.unwrap_or(1).into())
}

mod inner {
    use super::tool;

    #[tool]
    pub(super) fn exported(#[arg(default)] n: i64) -> i64 {
        n
    }
}

use inner::exported;

#[test]
fn the_function_stays_callable() {
    assert_eq!(arguments(1, 2, 3, 4), 1234);
    assert_eq!(block_on(join(&["a".into()], "-", 2, CallContext::detached())), "aa");
}

#[test]
fn one_import_brings_the_function_and_its_tool() {
    assert_eq!(exported(3), 3);
    assert_eq!(output(exported::tool(), "{}"), json!(0));
}

#[test]
fn names_of_the_user_and_of_the_macro_do_not_meet() {
    assert_eq!(
        output(arguments::tool(), r#"{"arguments": 1, "context": 2, "spec": 3, "fn": 4}"#),
        json!(1234)
    );
}

#[test]
fn references_are_lent_from_what_was_read() {
    let text = r#"{"words": ["a", "b"], "with": "+", "times": 2}"#;
    assert_eq!(output(join::tool(), text), json!("a+ba+b"));
}

#[test]
fn missing_arguments_take_their_defaults() {
    assert_eq!(output(convert::tool(), r#"{"degrees": 212}"#), json!("100.0"));
    assert_eq!(output(convert::tool(), r#"{"degrees": 1, "to": "fahrenheit", "digits": 2}"#), json!("33.80"));
    assert_eq!(output(convert::tool(), r#"{"degrees": 32, "digits": null}"#), json!("0.0"));
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    assert_eq!(
        error(convert::tool(), r#"{"degrees": "warm"}"#),
        r#"argument `degrees`: invalid type: string "warm", expected f64"#
    );
    assert_eq!(error(convert::tool(), r#"{"to": "celsius"}"#), "arguments: missing field `degrees`");
    assert_eq!(
        error(convert::tool(), r#"{"degrees": 1, "to": "kelvin"}"#),
        "argument `to`: unknown variant `kelvin`, expected `celsius` or `fahrenheit`"
    );
}

#[test]
fn answers_of_every_kind_are_taken() {
    #[derive(serde::Serialize)]
    #[serde(crate = "toolyard_contract::macro_support::serde")]
    struct Point {
        x: i32,
    }
    #[tool]
    fn nothing() {}
    #[tool]
    fn maybe(n: Option<i64>) -> Option<i64> {
        n
    }
    #[tool]
    async fn structured() -> Result<Json<Point>, String> {
        Ok(Json(Point { x: 1 }))
    }
    #[tool]
    fn own_failure() -> ToolReturn {
        Err(Failure::not_started("try later"))
    }
    #[tool]
    fn same(text: &str) -> &str {
        text
    }
    #[tool]
    fn some_text() -> impl Into<Output> + toolyard_contract::IntoReturn {
        "text"
    }
    assert_eq!(call(nothing::tool(), "{}"), Ok(Reply::default()));
    assert_eq!(output(maybe::tool(), r#"{"n": 9007199254740993}"#), json!(9_007_199_254_740_993_i64));
    assert_eq!(output(maybe::tool(), "{}"), Value::Null);
    assert_eq!(output(structured::tool(), "{}"), json!({"x": 1}));
    assert_eq!(call(own_failure::tool(), "{}"), Err(Failure::not_started("try later")));
    assert_eq!(output(same::tool(), r#"{"text": "x"}"#), json!("x"));
    assert_eq!(output(some_text::tool(), "{}"), json!("text"));
}

#[test]
fn the_contract_may_have_another_name() {
    use toolyard_contract as renamed;
    #[tool(crate = renamed)]
    fn elsewhere(n: i64) -> i64 {
        n
    }
    assert_eq!(output(elsewhere::tool(), r#"{"n": 1.0}"#), json!(1));
}
