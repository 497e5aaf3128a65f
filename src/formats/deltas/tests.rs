use serde_json::{Value, json};

use toolyard_contract::Arguments;

use super::*;

fn finish(events: &[&str]) -> Vec<Result<ToolCall, BadCall>> {
    let mut calls = Accumulator::default();
    for event in events {
        calls.push(event.as_bytes()).unwrap();
    }
    calls.finish()
}

/// One chunk of a chat stream.
fn chat(calls: &Value) -> String {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string()
}

fn chat_stream(chunks: &[Value], reason: Option<&str>) -> Vec<Result<ToolCall, BadCall>> {
    let mut events: Vec<String> = chunks.iter().map(chat).collect();
    events.extend(
        reason.map(|reason| json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()),
    );
    events.push("[DONE]".to_owned());
    finish(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut call = json!({"function": {"arguments": arguments}});
    if let Some(index) = index {
        call["index"] = json!(index);
    }
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    if let Some(name) = name {
        call["function"]["name"] = json!(name);
    }
    json!([call])
}

/// Name, id and arguments of calls that are all good.
fn good(calls: Vec<Result<ToolCall, BadCall>>) -> Value {
    calls.into_iter().map(|call| serde_json::to_value(call.expect("a good call")).unwrap()).collect()
}

fn two() -> Value {
    json!([{"name": "a", "arguments": {"x": 1}, "id": "1"}, {"name": "b", "arguments": {"y": 2}, "id": "2"}])
}

#[test]
fn pieces_with_an_index_find_their_call_also_interleaved() {
    let chunks = [
        piece(Some(0), Some("1"), Some("a"), ""),
        piece(Some(1), Some("2"), Some("b"), "{\"y\""),
        piece(Some(0), None, None, "{\"x\": "),
        piece(Some(1), Some(""), Some(""), ": 2}"),
        piece(Some(0), None, None, "1}"),
    ];
    assert_eq!(good(chat_stream(&chunks, Some("tool_calls"))), two());
}

#[test]
fn pieces_without_an_index_continue_the_call_with_their_id_or_the_last_one() {
    let by_last = [
        piece(None, Some("1"), Some("a"), "{\"x\""),
        piece(None, None, None, ": 1}"),
        piece(None, Some("2"), Some("b"), "{\"y\": 2}"),
    ];
    assert_eq!(good(chat_stream(&by_last, Some("stop"))), two());
    let by_id = [
        piece(None, Some("1"), Some("a"), "{\"x\""),
        piece(None, Some("2"), Some("b"), "{\"y\""),
        piece(None, Some("1"), None, ": 1}"),
        piece(None, Some("2"), Some("b"), ": 2}"),
    ];
    assert_eq!(good(chat_stream(&by_id, Some("stop"))), two());
}

#[test]
fn one_index_for_every_call_does_not_join_calls_with_other_ids() {
    let chunks = [
        piece(Some(0), Some("1"), Some("a"), "{\"x\": 1"),
        piece(Some(0), None, None, "}"),
        piece(Some(0), Some("2"), Some("b"), ""),
        piece(Some(0), None, None, "{\"y\": 2}"),
    ];
    assert_eq!(good(chat_stream(&chunks, Some("tool_calls"))), two());
}

#[test]
fn without_ids_a_name_begins_a_call_unless_it_repeats_that_of_a_call_under_way() {
    let chunks = [
        piece(Some(0), None, Some("a"), "{\"x\":"),
        piece(Some(0), None, Some("a"), " 1}"),
        piece(Some(0), Some(""), Some("a"), "{}"),
        piece(Some(0), None, Some("b"), "{\"y\": 2}"),
    ];
    let expected = json!([
        {"name": "a", "arguments": {"x": 1}, "id": null}, {"name": "a", "arguments": {}, "id": ""},
        {"name": "b", "arguments": {"y": 2}, "id": null}
    ]);
    assert_eq!(good(chat_stream(&chunks, Some("tool_calls"))), expected);
}

#[test]
fn a_call_that_the_length_limit_cut_off_is_never_run() {
    for cut in
        ["", "{\"path\": \"/x\", \"content\": \"half", "{\"path\": \"/x\"", "\"{\\\"a\\\"", "plain text"]
    {
        let chunks =
            [piece(Some(0), Some("1"), Some("a"), "{\"x\": 1}"), piece(Some(1), Some("2"), Some("b"), cut)];
        let calls = chat_stream(&chunks, Some("length"));
        assert!(calls[0].is_ok(), "a whole call before the cut is fine");
        let bad = calls[1].as_ref().expect_err(cut);
        assert_eq!(bad.error, "item 1: the call was cut off (length); its arguments are not complete");
        assert_eq!((bad.name.as_str(), &bad.id), ("b", &CallId::from("2")));
    }
}

#[test]
fn a_stream_that_breaks_off_leaves_no_call_that_could_be_run_by_mistake() {
    let calls = chat_stream(&[piece(Some(0), Some("1"), Some("a"), "{\"x\": 1")], None);
    assert_eq!(calls[0].as_ref().unwrap_err().error, "item 0: the stream ended before the call was complete");
}

#[test]
fn a_call_without_arguments_or_with_plain_text_is_fine_when_the_stream_is_complete() {
    let chunks = [piece(Some(0), Some("1"), Some("a"), ""), piece(Some(1), Some("2"), Some("b"), "2+2")];
    let calls = chat_stream(&chunks, Some("tool_calls"));
    assert_eq!(calls[0].as_ref().unwrap().arguments, Arguments::empty());
    assert_eq!(calls[1].as_ref().unwrap().arguments, Arguments::Text("2+2".to_owned()));
}

#[test]
fn calls_are_in_the_order_of_their_indices() {
    let chunks = [
        piece(Some(1), Some("2"), Some("b"), "{\"y\": 2}"),
        piece(Some(0), Some("1"), Some("a"), "{\"x\": 1}"),
    ];
    assert_eq!(good(chat_stream(&chunks, Some("tool_calls"))), two());
}

#[test]
fn anthropic_blocks_are_put_together_and_foreign_ones_passed_over() {
    let events = [
        r#"{"type": "message_start", "message": {"id": "msg"}}"#,
        r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}"#,
        r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hm"}}"#,
        r#"{"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "1", "name": "a", "input": {}}}"#,
        r#"{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}}"#,
        r#"{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"x\": 1}"}}"#,
        r#"{"type": "content_block_stop", "index": 1}"#,
        r#"{"type": "content_block_start", "index": 2, "content_block": {"type": "server_tool_use", "id": "s", "name": "web"}}"#,
        r#"{"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"q\": 1}"}}"#,
        r#"{"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "2", "name": "b", "input": {"y": 2}}}"#,
    ];
    let ended = |reason: &str| {
        let end = format!(
            r#"{{"type": "message_delta", "delta": {{"stop_reason": "{reason}"}}, "usage": {{"output_tokens": 9}}}}"#
        );
        finish(&[&events[..], &[end.as_str(), r#"{"type": "message_stop"}"#]].concat())
    };
    assert_eq!(good(ended("tool_use")), two());
    let cut = finish(&[
        events[3],
        r#"{"type": "content_block_stop", "index": 1}"#,
        r#"{"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}"#,
    ]);
    assert!(cut[0].as_ref().unwrap_err().error.contains("cut off (max_tokens)"));
}

#[test]
fn responses_events_are_put_together() {
    let events = [
        r#"{"type": "response.created", "response": {"id": "r"}}"#,
        r#"{"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}}"#,
        r#"{"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "fc", "call_id": "1", "name": "a", "arguments": ""}}"#,
        r#"{"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc", "delta": "{\"x\""}"#,
        r#"{"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{\"x\": 1}"}}"#,
        r#"{"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "call_id": "2", "name": "b", "arguments": ""}}"#,
        r#"{"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"y\": 2}"}"#,
        r#"{"type": "response.completed", "response": {"status": "completed"}}"#,
    ];
    assert_eq!(good(finish(&events)), two());
    let cut = r#"{"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}"#;
    let calls = finish(&[events[2], events[3], cut]);
    assert!(calls[0].as_ref().unwrap_err().error.contains("cut off (max_output_tokens)"));
}

#[test]
fn gemini_chunks_bring_whole_calls() {
    let calls = finish(&[
        r#"{"candidates": [{"content": {"parts": [{"text": "hm"}, {"functionCall": {"name": "a", "args": {"x": 1}, "id": "1"}}]}}]}"#,
        r#"{"candidates": [{"content": {"parts": [{"functionCall": {"name": "b", "args": {"y": 2}, "id": "2"}}]}, "finishReason": "STOP"}]}"#,
    ]);
    assert_eq!(good(calls), two());
}

#[test]
fn data_that_is_not_json_is_an_error_with_its_place() {
    let error = Accumulator::default().push(b"{\"choices\": [}").unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 14: expected value");
}

proptest::proptest! {
    #[test]
    fn no_pieces_make_the_accumulator_panic(
        pieces in proptest::collection::vec((
            proptest::option::of(0..3_u64), proptest::option::of("[a-b]?"), proptest::option::of("[a-b]?"), "[{}\"a: ]{0,4}"
        ), 0..12),
        reason in proptest::option::of("stop|length"),
    ) {
        let chunks: Vec<Value> =
            pieces.iter().map(|(index, id, name, text)| piece(*index, id.as_deref(), name.as_deref(), text)).collect();
        let calls = chat_stream(&chunks, reason.as_deref());
        proptest::prop_assert!(calls.len() <= chunks.len());
    }
}
