//! Images, sounds and files of tools, in the form of each provider.
//!
//! The golden files were read with the types of the official SDKs (openai 3.57.0, anthropic 2.14.0,
//! google-genai 3.6.1); `rules::answers` holds what those say about the blocks.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{
    Detail, Outcome, Output, ToolResult,
    formats::{anthropic, gemini, openai, responses},
};

use super::{golden::golden, rules};

/// A result as an MCP server's answer with these blocks becomes.
fn result(index: usize, output: Output, error: Option<&str>, content: Option<Value>) -> ToolResult {
    let outcome = if error.is_some() { Outcome::Failed } else { Outcome::Ok };
    let mut detail = Box::<Detail>::default();
    let has_content = content.is_some();
    detail.content = content.map(Output::from);
    ToolResult {
        index,
        id: format!("c{index}").into(),
        tool: "camera".into(),
        outcome,
        output: Some(output),
        error: error.map(str::to_owned),
        detail: has_content.then_some(detail),
        request: None,
        elapsed: Duration::ZERO,
    }
}

fn results() -> Vec<ToolResult> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = |mime: &str| json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": mime});
    let audio = json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"});
    let pdf = json!({
        "type": "resource",
        "resource": {"uri": "file:///docs/report.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}
    });
    let note = json!({"type": "resource", "resource": {"uri": "file:///note.txt", "text": "a note"}});
    let link = json!({"type": "resource_link", "uri": "file:///a.png", "name": "a"});
    let broken = json!({"type": "image", "data": "no base64!", "mimeType": "image/png"});
    let all = |blocks: Value, error: Option<&str>, index| {
        result(index, Output::from(blocks.clone()), error, Some(blocks))
    };
    vec![
        all(json!([text("what I saw:"), image("image/png"), audio.clone()]), None, 0),
        all(json!([image("image/PNG; q=1"), image("image/svg+xml"), image("image/jpg")]), None, 1),
        all(json!([pdf, note, link, text("")]), None, 2),
        result(
            3,
            Output::from(json!({"n": 1})),
            None,
            Some(json!([text("{\"n\": 1}"), image("image/webp")])),
        ),
        all(
            json!([text("it broke"), image("image/png")]),
            Some("tool \"camera\": it says that it failed"),
            4,
        ),
        result(5, Output::from("boom"), Some("boom"), None),
        result(6, Output::from("boom"), Some("boom"), Some(json!([text("boom"), image("image/gif")]))),
        all(json!([broken, image("image/png")]), None, 7),
        result(8, Output::from("one\ntwo"), None, Some(json!([text("one"), text("two")]))),
    ]
}

#[test]
fn media_reach_each_provider_in_its_own_blocks_or_are_named() {
    let results = results();
    let ids: Vec<String> = results.iter().map(|result| format!("c{}", result.index)).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (form, answer) in [
        ("openai", json!(openai::messages(&results))),
        ("responses", json!(responses::items(&results))),
        ("anthropic", json!(anthropic::blocks(&results))),
        ("gemini", json!(gemini::response_parts(&results))),
    ] {
        rules::answers(form, &answer, &ids);
        golden(&format!("media_{form}.json"), &answer);
    }
}

#[test]
fn the_text_of_a_failed_call_is_said_once_in_every_form() {
    let results = results();
    let failed = &results[5..6];
    let anthropic = json!(anthropic::blocks(failed)).to_string();
    for answer in [
        json!(openai::messages(failed)).to_string(),
        json!(responses::items(failed)).to_string(),
        json!(gemini::response_parts(failed)).to_string(),
        json!(anthropic::blocks(&results[6..7])).to_string(),
        json!(gemini::response_parts(&results[6..7])).to_string(),
        anthropic,
    ] {
        assert_eq!(answer.matches("boom").count(), 1, "{answer}");
    }
}
