use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use toolyard_contract::{Batch, BatchKind, CallId, Outcome, Output, ToolResult};

use super::{anthropic, gemini, native, openai, responses};

/// A text, a structure with an integer beyond 64 bits, and a failure that kept its output; ids of every kind.
fn results() -> Vec<ToolResult> {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let ok = |index, id, output| ToolResult {
        index,
        id,
        tool: "Add".into(),
        outcome: Outcome::Ok,
        output: Some(output),
        error: None,
        detail: None,
        request: None,
        elapsed: Duration::from_micros(41),
    };
    let failed = ToolResult {
        outcome: Outcome::Failed,
        error: Some("tool \"Add\": no".to_owned()),
        ..ok(2, CallId::Absent, "so far".into())
    };
    vec![
        ok(0, "c1".into(), "4".into()),
        ok(1, CallId::Other(raw("7")), Output::Json(raw(r#"{"n": 123456789012345678901}"#))),
        failed,
        ToolResult {
            output: None,
            outcome: Outcome::UnknownTool,
            error: Some("none".into()),
            ..ok(3, "".into(), "".into())
        },
    ]
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn the_native_answer_has_its_keys_in_the_documented_order() {
    let batches = [Batch { kind: BatchKind::Concurrent, calls: vec![0, 1, 2] }];
    let id = CallId::from("doc-1");
    let answer = text(&native::Answer::new(&id, &results()[..1], &batches, Duration::from_micros(97)));
    assert_eq!(
        answer,
        r#"{"id":"doc-1","results":[{"index":0,"id":"c1","tool":"Add","ok":true,"outcome":"ok","output":"4","error":null,"elapsed_us":41}],"batches":[{"kind":"concurrent","calls":[0,1,2]}],"elapsed_us":97}"#
    );
}

#[test]
fn a_chat_answer_is_a_tool_message_per_call() {
    assert_eq!(
        text(&openai::messages(&results())),
        concat!(
            r#"[{"role":"tool","tool_call_id":"c1","content":"4"},"#,
            r#"{"role":"tool","tool_call_id":"7","content":"{\"n\": 123456789012345678901}"},"#,
            r#"{"role":"tool","tool_call_id":"call_2","content":"failed: tool \"Add\": no\n\nso far"},"#,
            r#"{"role":"tool","tool_call_id":"call_3","content":"unknown_tool: none"}]"#,
        )
    );
}

#[test]
fn a_responses_answer_is_an_output_item_per_call() {
    assert_eq!(
        text(&responses::items(&results()[..1])),
        r#"[{"type":"function_call_output","call_id":"c1","output":"4"}]"#
    );
}

#[test]
fn an_anthropic_answer_marks_what_did_not_work() {
    assert_eq!(
        text(&anthropic::blocks(&results()[1..3])),
        concat!(
            r#"[{"type":"tool_result","tool_use_id":"7","content":"{\"n\": 123456789012345678901}","is_error":false},"#,
            r#"{"type":"tool_result","tool_use_id":"call_2","content":"failed: tool \"Add\": no\n\nso far","is_error":true}]"#,
        )
    );
}

#[test]
fn a_gemini_answer_keeps_structure_and_needs_no_id() {
    assert_eq!(
        text(&gemini::response_parts(&results()[1..3])),
        concat!(
            r#"[{"functionResponse":{"id":"7","name":"Add","response":{"output":{"n": 123456789012345678901}}}},"#,
            r#"{"functionResponse":{"name":"Add","response":{"output":"so far","error":"tool \"Add\": no"}}}]"#,
        )
    );
}

#[test]
fn an_id_that_is_made_up_is_never_one_that_was_given() {
    let like = &results()[0];
    let given = ["", "call_0", " ", "call_2", "call_2_1", "call_2_2", ""];
    let results: Vec<_> = given
        .iter()
        .enumerate()
        .map(|(index, id)| ToolResult { index, id: (*id).into(), ..like.clone() })
        .collect();
    let expected = ["call_0_1", "call_0", "call_2_3", "call_2", "call_2_1", "call_2_2", "call_6"];
    for (answers, key) in [
        (serde_json::to_value(openai::messages(&results)).unwrap(), "tool_call_id"),
        (serde_json::to_value(anthropic::blocks(&results)).unwrap(), "tool_use_id"),
        (serde_json::to_value(responses::items(&results)).unwrap(), "call_id"),
    ] {
        let ids: Vec<_> =
            answers.as_array().unwrap().iter().map(|answer| answer[key].as_str().unwrap()).collect();
        assert_eq!(ids, expected);
    }
}
