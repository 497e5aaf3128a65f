//! Streams as odd servers send them: one call each, with the right arguments, or a bad call that says what is missing.

use serde_json::{Value, json};
use toolyard_contract::{BadCall, ToolCall};

use super::Accumulator;

fn finish(events: &[Value]) -> Vec<Result<ToolCall, BadCall>> {
    let mut calls = Accumulator::default();
    for event in events {
        calls.push(event.to_string().as_bytes()).unwrap();
    }
    calls.finish()
}

/// A chat stream of these calls' pieces that ends as it should.
fn chat(pieces: &[Value]) -> Vec<Result<ToolCall, BadCall>> {
    let chunk = |piece: &Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
    let mut events: Vec<Value> = pieces.iter().map(chunk).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    finish(&events)
}

/// Name, id and arguments of calls that are all good.
fn good(calls: Vec<Result<ToolCall, BadCall>>) -> Value {
    calls.into_iter().map(|call| serde_json::to_value(call.expect("a good call")).unwrap()).collect()
}

/// The reason against the only bad call, and how many are good.
fn bad(calls: &[Result<ToolCall, BadCall>]) -> (usize, &str) {
    let bad: Vec<&str> = calls.iter().filter_map(|call| Some(call.as_ref().err()?.error.as_str())).collect();
    assert_eq!(bad.len(), 1, "{calls:?}");
    (calls.len() - 1, bad[0])
}

fn one() -> Value {
    json!([{"name": "weather", "arguments": {"x": 1}, "id": "1"}])
}

fn item(arguments: &Value) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "1", "name": "weather", "arguments": arguments})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed"}})
}

#[test]
fn a_responses_stream_may_say_a_call_in_any_one_way() {
    let whole = item(&json!("{\"x\": 1}"));
    let begun = json!({"type": "response.output_item.added", "output_index": 0, "item": item(&json!(""))});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": whole});
    let at_end =
        json!({"type": "response.completed", "response": {"output": [{"type": "reasoning"}, whole]}});
    let arguments_done = |key: &str, value: Value| {
        json!({
            "type": "response.function_call_arguments.done", key: value, "arguments": "{\"x\": 1}"
        })
    };
    let piece = |text: &str| {
        json!({
            "type": "response.function_call_arguments.delta", "item_id": "fc", "delta": text
        })
    };
    for events in [
        vec![done.clone(), completed()],
        vec![done.clone()],
        vec![at_end.clone()],
        vec![begun.clone(), at_end.clone()],
        vec![begun.clone(), arguments_done("output_index", json!(0)), completed()],
        vec![begun.clone(), arguments_done("item_id", json!("fc")), completed()],
        vec![arguments_done("item_id", json!("fc")), begun.clone(), completed()],
        vec![begun.clone(), piece("{\"x\""), piece(": 1}"), completed()],
        vec![begun.clone(), piece("{\"x\""), done.clone(), piece(": 1}"), at_end],
        vec![completed(), done, begun],
    ] {
        assert_eq!(good(finish(&events)), one(), "{events:?}");
    }
}

#[test]
fn a_responses_call_whose_arguments_never_came_does_not_run() {
    let begun = json!({"type": "response.output_item.added", "output_index": 0, "item": item(&json!(""))});
    let missing = "item 0: its arguments are missing: no event of the stream has them";
    assert_eq!(bad(&finish(&[begun.clone(), completed()])), (0, missing));
    let empty = json!({"type": "response.output_item.done", "output_index": 0, "item": item(&Value::Null)});
    assert_eq!(bad(&finish(&[begun.clone(), empty, completed()])), (0, missing));
    let none = json!({"type": "response.output_item.done", "output_index": 0, "item": item(&json!("{}"))});
    assert_eq!(good(finish(&[begun, none, completed()]))[0]["arguments"], json!({}));
    let mut cut = item(&json!("{\"x\": 1}"));
    cut["status"] = json!("incomplete");
    let cut = finish(&[json!({"type": "response.output_item.done", "output_index": 0, "item": cut})]);
    assert!(bad(&cut).1.contains("\"status\" is \"incomplete\""));
}

#[test]
fn arguments_under_an_unknown_item_keep_every_doubtful_call_from_running() {
    let begun = json!({"type": "response.output_item.added", "output_index": 0, "item": item(&json!(""))});
    let elsewhere = json!({
        "type": "response.function_call_arguments.delta", "item_id": "other", "delta": "{\"x\": 1}"
    });
    let calls = finish(&[begun, elsewhere, completed()]);
    let errors: Vec<_> = calls.iter().map(|call| call.as_ref().unwrap_err().error.as_str()).collect();
    assert!(errors[0].contains("arguments are missing"), "{errors:?}");
    assert_eq!(errors[1], "item 1: field \"name\" is missing");
}

#[test]
fn a_name_may_be_repeated_or_come_in_pieces() {
    let piece = |name: Value, arguments: &str, id: Value| json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    let (w, id, none) = (json!("weather"), json!("1"), Value::Null);
    for pieces in [
        [
            piece(w.clone(), "", id.clone()),
            piece(w.clone(), "{\"x\"", none.clone()),
            piece(w.clone(), ": 1}", none.clone()),
            piece(w.clone(), "", none.clone()),
        ],
        [
            piece(w.clone(), "{\"x\"", id.clone()),
            piece(w.clone(), ": 1", id.clone()),
            piece(w.clone(), "}", id.clone()),
            piece(w.clone(), "", id.clone()),
        ],
        [
            piece(json!("wea"), "", id.clone()),
            piece(json!("ther"), "", none.clone()),
            piece(none.clone(), "{\"x\"", none.clone()),
            piece(json!(""), ": 1}", none.clone()),
        ],
        [
            piece(json!("wea"), "{", id.clone()),
            piece(json!("th"), "\"x\"", none.clone()),
            piece(json!("er"), ": 1", none.clone()),
            piece(none.clone(), "}", none.clone()),
        ],
        [
            piece(json!("wea"), "", id.clone()),
            piece(json!("weather"), "", id.clone()),
            piece(none.clone(), "{\"x\"", id.clone()),
            piece(none.clone(), ": 1}", id.clone()),
        ],
    ] {
        assert_eq!(good(chat(&pieces)), one(), "{pieces:?}");
    }
}

#[test]
fn an_id_made_for_each_piece_does_not_make_each_a_call() {
    for with_index in [true, false] {
        let piece = |id: &str, name: Option<&str>, arguments: &str| {
            let index = if with_index { json!(0) } else { json!(-1) };
            json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
        };
        let pieces = [
            piece("1", Some("weather"), ""),
            piece("2", None, "{\"x\""),
            piece("3", None, ": 1}"),
            piece("4", None, ""),
        ];
        assert_eq!(good(chat(&pieces)), one(), "{with_index}");
    }
    let repeated = |index: Value| {
        ["", "{\"x\"", ": 1}"].into_iter().zip(1..).map(move |(arguments, id)| {
        json!({"index": index, "id": id.to_string(), "function": {"name": "weather", "arguments": arguments}})
    })
    };
    assert_eq!(good(chat(&repeated(json!(0)).collect::<Vec<_>>())), one());
    // Without an index nobody can tell; then the call without arguments does not run.
    let calls = chat(&repeated(Value::Null).take(2).collect::<Vec<_>>());
    assert_eq!(
        calls[0].as_ref().unwrap_err().error,
        "item 0: its arguments are missing: its name came again under another id"
    );
    let two =
        [json!({"id": "1", "function": {"name": "now"}}), json!({"id": "2", "function": {"name": "now"}})];
    assert_eq!(good(chat(&two)).as_array().map(Vec::len), Some(2), "no arguments came at all");
}

#[test]
fn a_name_in_pieces_under_an_id_for_each_piece_leaves_no_call_that_would_run_empty() {
    let piece = |id: &str, name: Value, arguments: &str| json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    let calls = chat(&[piece("1", json!("wea"), ""), piece("2", json!("ther"), "{\"x\": 1}")]);
    assert_eq!(
        calls[0].as_ref().unwrap_err().error,
        "item 0: its arguments are missing: another call began at its index before it had any"
    );
    assert_eq!(calls[1].as_ref().unwrap().name, "ther", "which is no tool");
}

#[test]
fn an_index_that_is_text_counts_and_one_below_zero_says_nothing() {
    for index in [json!("0"), json!(0.0), json!(-1), json!("x"), Value::Null, json!([0])] {
        let pieces = [
            json!({"index": index, "id": "1", "function": {"name": "weather", "arguments": "{\"x\""}}),
            json!({"index": index, "function": {"arguments": ": 1}"}}),
        ];
        assert_eq!(good(chat(&pieces)), one(), "{index}");
    }
    let events = [
        json!({"type": "content_block_start", "index": "0", "content_block": {"type": "tool_use", "id": "1", "name": "weather", "input": null}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{\"x\": 1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
    ];
    assert_eq!(good(finish(&events)), one());
}

#[test]
fn fields_that_are_null_or_of_another_kind_are_no_reason_to_stop() {
    let whole = json!({"functionCall": {"name": "weather", "args": {"x": 1}, "id": "1"}});
    let events = [
        json!({"candidates": [{"content": {"parts": null}}]}),
        json!({"candidates": [{"content": null, "finishReason": null}]}),
        json!({"candidates": [{"content": {"parts": [whole]}}], "choices": null, "type": null}),
        json!({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}),
    ];
    assert_eq!(good(finish(&events)), one());
    let pieces = [
        json!({"index": 0, "id": "1", "type": null, "function": {"name": "weather", "arguments": null}}),
        json!({"index": 0, "function": null}),
        json!({"index": 0, "id": null, "function": {"name": null, "arguments": {"x": 1}}}),
    ];
    assert_eq!(good(chat(&pieces)), one());
    let old_form = [
        json!({"choices": [{"delta": {"function_call": {"name": "weather", "arguments": ""}, "tool_calls": null}}]}),
        json!({"choices": [{"delta": {"function_call": {"arguments": "{\"x\": 1}"}}}]}),
        json!({"choices": [{"delta": null, "finish_reason": "function_call"}]}),
    ];
    assert_eq!(good(finish(&old_form)), json!([{"name": "weather", "arguments": {"x": 1}, "id": null}]));
}

#[test]
fn gemini_arguments_in_pieces_are_one_bad_call() {
    let part = |call: Value| json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]});
    let events = [
        part(json!({"name": "weather", "willContinue": true})),
        part(json!({"partialArgs": [{"jsonPath": "$.x", "numberValue": 1}], "willContinue": true})),
        part(json!({})),
        json!({"candidates": [{"content": {"parts": null}, "finishReason": "STOP"}]}),
    ];
    let calls = finish(&events);
    assert!(bad(&calls).0 == 0 && bad(&calls).1.contains("partialArgs"), "{calls:?}");
}

#[test]
fn arguments_under_an_index_that_names_no_call_keep_an_empty_call_from_running() {
    let pieces = [
        json!({"index": 0, "id": "1", "function": {"name": "weather", "arguments": ""}}),
        json!({"index": 1, "function": {"arguments": "{\"x\": 1}"}}),
    ];
    let calls = chat(&pieces);
    assert_eq!(
        calls[0].as_ref().unwrap_err().error,
        "item 0: its arguments are missing: the stream has some that belong to no call"
    );
    assert!(calls[1].is_err());
}
