use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Document {
    read_document(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    read_document(text.as_bytes()).expect_err(text).to_string()
}

/// The calls in their native form, and the reason of those that could not be read.
fn native(document: &Document) -> Value {
    let item = |call: &Result<ToolCall, BadCall>| match call {
        Ok(call) => serde_json::to_value(call).unwrap(),
        Err(bad) => json!({"bad": bad.error, "name": bad.name, "id": bad.id}),
    };
    document.calls.iter().map(item).collect()
}

const SHAPES: [&str; 5] = [
    r#"{"name": "add", "arguments": {"a": 1}, "id": "c1"}"#,
    r#"{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}}"#,
    r#"{"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "add", "arguments": "{\"a\": 1}", "status": "completed"}"#,
    r#"{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}"#,
    r#"{"functionCall": {"name": "add", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "x"}"#,
];

#[test]
fn a_call_is_the_same_in_every_shape_alone_and_in_a_mixed_list() {
    let call = json!({"name": "add", "arguments": {"a": 1}, "id": "c1"});
    for shape in SHAPES {
        assert_eq!(native(&read(shape)), json!([call]), "{shape}");
        assert!(matches!(read(shape).id, CallId::Absent), "the id is the call's own: {shape}");
    }
    let mixed = native(&read(&format!("[{}]", SHAPES.join(","))));
    assert_eq!(mixed, json!(vec![call; 5]));
}

#[test]
fn a_tool_field_is_read_as_the_name() {
    assert_eq!(native(&read(r#"[{"tool": "add"}]"#)), json!([{"name": "add", "arguments": {}, "id": null}]));
}

#[test]
fn an_object_carries_id_tools_and_agent_beside_its_calls() {
    let document = read(
        r#"{"id": 7, "agent": "a1", "calls": [{"name": "add"}], "tools": [
            {"type": "function", "function": {"name": "chat", "parameters": {"type": "object"}}},
            {"type": "function", "name": "responses", "parameters": {"type": "object"}, "strict": true},
            {"name": "anthropic", "input_schema": {"type": "object"}},
            {"name": "mcp", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
            {"name": "bare", "description": "d"},
            {"type": "web_search"}]}"#,
    );
    assert_eq!(serde_json::to_value(&document.id).unwrap(), 7);
    assert_eq!(document.agent.as_deref(), Some("a1"));
    let names: Vec<_> = document.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["chat", "responses", "anthropic", "mcp", "bare"]);
    assert_eq!(document.tools[3].output_schema, Some(json!({"type": "array"}).into()));
    assert_eq!(document.tools[4].description.as_deref(), Some("d"));
}

#[test]
fn whole_messages_are_documents_and_their_text_is_passed_over() {
    let call = json!([{"name": "add", "arguments": {"a": 1}, "id": "c1"}]);
    let chat = format!(r#"{{"role": "assistant", "content": "hm", "tool_calls": [{}]}}"#, SHAPES[1]);
    let responses = format!(
        r#"{{"id": "resp_1", "output": [{{"type": "reasoning"}}, {{"type": "web_search_call"}}, {}]}}"#,
        SHAPES[2]
    );
    let anthropic = format!(
        r#"{{"id": "msg_1", "type": "message", "role": "assistant", "content": [{{"type": "text", "text": "hm"}}, {}]}}"#,
        SHAPES[3]
    );
    let gemini = format!(r#"{{"role": "model", "parts": [{{"text": "hm"}}, {}]}}"#, SHAPES[4]);
    for message in [chat, responses, anthropic, gemini] {
        assert_eq!(native(&read(&message)), call, "{message}");
    }
}

#[test]
fn a_message_without_calls_and_an_empty_list_have_none() {
    for text in [
        "[]",
        r#"{"calls": []}"#,
        r#"{"role": "assistant", "content": "done", "tool_calls": null}"#,
        r#"{"role": "assistant", "content": [{"type": "text", "text": "done"}]}"#,
        r#"{"role": "model", "parts": [{"text": "done"}]}"#,
        r#"{"output": []}"#,
    ] {
        assert!(read(text).calls.is_empty(), "{text}");
    }
}

#[test]
fn every_item_gets_an_entry_and_errors_name_item_and_field() {
    let list = r#"[1, "x", null, [], {}, {"name": ""}, {"name": 5, "id": "i"}, {"function": "f"},
        {"id": "i", "function": {"arguments": "{}"}}, {"functionCall": null, "name": " "}, {"type": "text", "text": "t"},
        {"name": "a", "name": "b", "id": "i"}, {"type": "custom_tool_call", "name": "n", "call_id": "i"}, {"name": "ok"}]"#;
    let expected = [
        "item 0: a call must be an object, not a number",
        "item 1: a call must be an object, not text",
        "item 2: a call must be an object, not null",
        "item 3: a call must be an object, not a list",
        "item 4: field \"name\" is missing",
        "item 5: field \"name\" is empty",
        "item 6: field \"name\" must be text, not a number",
        "item 7: field \"function\" must be an object, not text",
        "item 8: field \"name\" is missing",
        "item 9: field \"name\" is empty",
        "item 10: field \"type\": \"text\" is no kind of call that is known here",
        "item 11: duplicate field `name`",
        "item 12: field \"type\": \"custom_tool_call\" is no kind of call that is known here",
    ];
    let calls = read(list).calls;
    let errors: Vec<_> = calls.iter().filter_map(|call| Some(call.as_ref().err()?.error.as_str())).collect();
    assert_eq!(errors, expected);
    assert_eq!(calls[13].as_ref().unwrap().name, "ok");
    let ids: Vec<_> = [6, 8, 11, 12].map(|at: usize| calls[at].clone().unwrap_err().id).to_vec();
    assert_eq!(ids, vec![CallId::from("i"); 4]);
}

#[test]
fn an_item_that_no_parser_takes_spoils_no_other() {
    let calls = read(r#"[1e999, "\ud800", {"\ud800": 1, "id": "i"}, {"name": "ok"}]"#).calls;
    let errors: Vec<_> = calls[..3].iter().map(|call| call.as_ref().unwrap_err().error.as_str()).collect();
    let expected = ["a call must be an object, not a number", "a call must be an object, not text"];
    assert_eq!(errors[..2], [format!("item 0: {}", expected[0]), format!("item 1: {}", expected[1])]);
    assert!(errors[2].starts_with("item 2: "), "{}", errors[2]);
    assert!(calls[3].is_ok());
}

#[test]
fn a_call_that_the_provider_does_not_run_itself_is_never_passed_over() {
    let message =
        r#"{"output": [{"type": "custom_tool_call", "name": "n", "call_id": "i", "input": "x"}, 5]}"#;
    assert_eq!(read(message).calls.len(), 2);
}

#[test]
fn a_call_that_its_provider_says_was_cut_off_is_never_run() {
    let use_block =
        |id: &str| format!(r#"{{"type": "tool_use", "id": "{id}", "name": "write", "input": {{}}}}"#);
    let message = |content: &str| {
        read(&format!(r#"{{"role": "assistant", "stop_reason": "max_tokens", "content": [{content}]}}"#))
            .calls
    };
    let calls = message(&format!("{},{}", use_block("1"), use_block("2")));
    assert!(calls[0].is_ok());
    let bad = calls[1].as_ref().unwrap_err();
    assert_eq!(bad.error, "item 1: the call was cut off: field \"stop_reason\" is \"max_tokens\"");
    assert_eq!((bad.name.as_str(), &bad.id), ("write", &CallId::from("2")));
    assert!(message(&format!(r#"{},{{"type": "text", "text": "and th"}}"#, use_block("1")))[0].is_ok());

    let item = r#"[{"type": "function_call", "call_id": "1", "name": "write", "arguments": "{}", "status": "incomplete"}]"#;
    let bad = read(item).calls.remove(0).unwrap_err();
    assert_eq!(bad.error, "item 0: the call was cut off: field \"status\" is \"incomplete\"");
    assert_eq!((bad.name.as_str(), &bad.id), ("write", &CallId::from("1")));
}

#[test]
fn ids_are_kept_as_they_came() {
    for id in ["null", "\"\"", "\" \"", "\"c\"", "7", "12345678901234567890123", "{\"a\":1}"] {
        let document = read(&format!(r#"{{"id": {id}, "calls": [{{"name": "t", "id": {id}}}]}}"#));
        let call = document.calls[0].as_ref().unwrap();
        assert_eq!(serde_json::to_string(&document.id).unwrap(), id);
        assert_eq!(serde_json::to_string(&call.id).unwrap(), id);
    }
}

#[test]
fn arguments_stay_the_text_they_came_as() {
    let text = r#"{"big": 123456789012345678901234567890, "odd": 9007199254740993,  "f": 1.10}"#;
    let quoted = serde_json::to_string(text).unwrap();
    let list = format!(r#"[{{"name": "t", "arguments": {text}}}, {{"name": "t", "arguments": {quoted}}}]"#);
    for call in read(&list).calls {
        assert_eq!(call.unwrap().arguments, toolyard_contract::Arguments::Json(text.to_owned()));
    }
}

#[test]
fn broken_text_is_an_error_with_line_and_column() {
    assert_eq!(error("[\n  {\"name\": }\n]"), "line 2, column 12: expected value");
    assert_eq!(error(""), "line 1, column 1: EOF while parsing a value");
    assert_eq!(error("[] x"), "line 1, column 4: trailing characters");
    assert_eq!(error("{\"calls\": [], \"calls\": []}"), "line 1, column 21: duplicate field `calls`");
    let not_utf8 = read_document(b"[\n \"\xff\"]").unwrap_err();
    assert_eq!(not_utf8.to_string(), "line 2, column 3: not UTF-8");
}

#[test]
fn what_is_no_document_is_an_error_that_names_the_field() {
    assert_eq!(error("5"), "a document must be a list or an object, not a number");
    assert_eq!(error(r#"{"calls": null}"#), "calls: must be a list, not null");
    assert_eq!(error(r#"{"calls": [], "agent": 5}"#), "agent: must be text, not a number");
    assert_eq!(error(r#"{"calls": [], "tools": {}}"#), "tools: must be a list, not an object");
    assert_eq!(
        error(r#"{"calls": [], "tools": [{"name": "a"}, 5]}"#),
        "tools, item 1: a tool must be an object"
    );
    assert_eq!(
        error(r#"{"calls": [], "tools": [{"name": "a", "parameters": []}]}"#),
        "tools, item 0: field \"parameters\" must be an object"
    );
    assert!(error(r#"{"choices": []}"#).starts_with("the object holds no calls"));
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_document() {
    assert_eq!(read("\u{feff}[]").calls.len(), 0);
}

#[test]
fn deep_nesting_breaks_nothing() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read(&format!("[{{\"name\": \"t\", \"arguments\": {deep}}}]")).calls.len(), 1);
    assert!(error(&format!("{{\"calls\": [], \"tools\": [{deep}]}}")).contains("recursion limit"));
    assert!(error(&"{\"calls\":".repeat(100_000)).contains("EOF"));
}

/// Pieces of documents, so that random texts get past the first character.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "[", "]", "{", "}", ",", ":", "null", "1", "\"", "\\u0000", "\\ud800", "\"name\"", "\"calls\":", "\"tools\":",
            "\"type\":", "\"tool_use\"", "\"function\":", "\"functionCall\":", "\"arguments\":", "\"content\":",
            "\"parts\":", "\"output\":", "\"role\":", "\"id\":", "{\"name\":\"a\"}", "1e999",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop_oneof![fragments(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let _ = read_document(&bytes);
    }

    #[test]
    fn a_list_of_any_json_has_one_entry_per_item(items in prop::collection::vec(any_json(), 0..8)) {
        let text = Value::Array(items.clone()).to_string();
        prop_assert_eq!(read(&text).calls.len(), items.len());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "name",
            "tool",
            "arguments",
            "id",
            "type",
            "function",
            "functionCall",
            "calls"
        ])
        .prop_map(str::to_owned),
        ".{0,4}",
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}
