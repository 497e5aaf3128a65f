//! What a function, its comments and its options say about the tool.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde_json::{Value, json};
use toolyard_contract::{
    CallContext, Execution, Tool, ToolSpec, macro_support::serde as serde_of_contract, tool,
};

#[tool]
fn plain() {}

/// Every kind of argument
/// that needs no type of one's own.
///
/// And more to say.
///
/// # Panics
/// Never.
#[tool]
#[expect(clippy::too_many_arguments, unused_variables, reason = "only the schema matters")]
fn every_kind(
    /// Free text
    text: &str,
    /// How many
    ///
    /// # Not for the model
    count: u8,
    ratio: Option<f64>,
    #[arg(default)] flag: bool,
    /// From the start
    #[arg(default = 2 * 5)]
    limit: i32,
    #[arg(default = "en")] language: String,
    list: &[i64],
    table: BTreeMap<String, Vec<u16>>,
    r#type: Value,
    context: &CallContext,
) {
}

#[tool]
#[cfg(any())]
fn left_out() -> NoSuchType {}

#[tool(
    name = "Fetch",
    description = concat!("Gets ", "a page"),
    parallel_safe,
    idempotent = true,
    effects = ["Network", "disk"],
    permission_action = "http.request",
    timeout = Duration::from_secs(5),
    max_in_flight = 3,
    plain_text_input = "url",
    output_schema = json!({"type": "string"}),
)]
/// Not this text.
async fn with_options(url: String) -> String {
    url
}

fn properties(tool: &impl Tool) -> Value {
    tool.spec().parameters()["properties"].clone()
}

#[test]
fn a_bare_tool_is_named_like_its_function_and_takes_an_empty_object() {
    let expected = ToolSpec::new("plain").execution(Execution::Blocking).checks_arguments(true);
    assert_eq!(plain::tool().spec(), &expected);
}

#[test]
fn comments_types_and_defaults_make_the_schema() {
    let tool = every_kind::tool();
    let text = "Every kind of argument\nthat needs no type of one's own.\n\nAnd more to say.";
    assert_eq!(tool.spec().description_text(), text);
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let numbers = json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 65535}});
    let expected = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "Free text"},
            "count": {"type": "integer", "minimum": 0, "maximum": 255, "description": "How many"},
            "ratio": {"type": ["number", "null"]},
            "flag": {"type": "boolean", "default": false},
            "limit": {"type": "integer", "default": 10, "description": "From the start"},
            "language": {"type": "string", "default": "en"},
            "list": list,
            "table": {"type": "object", "additionalProperties": numbers},
            "type": true
        },
        "required": ["text", "count", "list", "table", "type"]
    });
    assert_eq!(tool.spec().input_schema, expected);
}

#[test]
fn every_option_reaches_the_spec() {
    let expected = ToolSpec::new("Fetch")
        .description("Gets a page")
        .parallel_safe(true)
        .idempotent(true)
        .effects(["network", "disk"])
        .permission_action("http.request")
        .timeout(Duration::from_secs(5))
        .max_in_flight(3)
        .plain_text_input("url")
        .output_schema(json!({"type": "string"}))
        .input_schema(json!({
            "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]
        }))
        .checks_arguments(true);
    assert_eq!(with_options::tool().spec(), &expected);
}

#[test]
fn where_a_tool_runs_follows_from_async_and_blocking() {
    #[tool(blocking)]
    fn slow() {}
    #[tool(blocking = false)]
    fn quick() {}
    #[tool(blocking = false)]
    async fn waiting() {}
    assert_eq!(slow::tool().spec().execution, Execution::Blocking);
    assert_eq!(quick::tool().spec().execution, Execution::Async);
    assert_eq!(waiting::tool().spec().execution, Execution::Async);
}

#[test]
fn a_given_schema_replaces_the_one_of_the_types() {
    struct Hidden;
    impl<'de> serde_of_contract::Deserialize<'de> for Hidden {
        fn deserialize<D: serde_of_contract::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            <() as serde_of_contract::Deserialize>::deserialize(from).map(|()| Self)
        }
    }
    /// Has no schema of its own
    #[tool(input_schema = json!({"type": "object", "properties": {"it": {"type": "null"}}}))]
    fn given(
        /// Not used: the schema says it all
        it: Hidden,
    ) {
        let Hidden = it;
    }
    assert_eq!(properties(&given::tool()), json!({"it": {"type": "null"}}));
    assert!(!given::tool().spec().checks_arguments);
}

#[test]
fn injected_arguments_are_in_the_schema_but_not_shown() {
    #[tool]
    fn whoami(#[arg(injected)] user: String, greeting: String) -> String {
        greeting + &user
    }
    assert_eq!(whoami::tool().spec().injected, ["user"]);
    assert_eq!(whoami::tool().spec().input_schema["required"], json!(["user", "greeting"]));
    assert_eq!(properties(&whoami::tool()), json!({"greeting": {"type": "string"}}));
}

#[test]
fn only_types_that_read_exactly_what_their_schema_allows_check_themselves() {
    #[tool]
    fn exact(_a: HashMap<String, Option<i64>>, _b: &[String]) {}
    #[tool]
    fn own(_a: i64, _b: std::num::NonZeroU8) {}
    assert!(exact::tool().spec().checks_arguments);
    assert!(!own::tool().spec().checks_arguments);
}
