use std::collections::BTreeSet;

use serde_json::Value;

/// Checks a list of answers by the rules of its provider, and that they refer to these calls, in this order.
pub(in super::super) fn check(form: &str, answers: &Value, ids: &[&str]) {
    let answers = answers.as_array().expect("a list");
    assert_eq!(answers.len(), ids.len(), "one answer per call");
    for (answer, id) in answers.iter().zip(ids) {
        match form {
            "openai" => {
                fields(answer, &["role", "tool_call_id", "content"], &[]);
                assert_eq!(answer["role"], "tool");
                assert_eq!(text(&answer["tool_call_id"]), *id);
                text(&answer["content"]);
            }
            "responses" => {
                fields(answer, &["type", "call_id", "output"], &[]);
                assert_eq!(answer["type"], "function_call_output");
                assert_eq!(text(&answer["call_id"]), *id);
                text_or(&answer["output"], response_part);
            }
            "anthropic" => {
                fields(answer, &["type", "tool_use_id", "content", "is_error"], &[]);
                assert_eq!(answer["type"], "tool_result");
                assert_eq!(text(&answer["tool_use_id"]), *id);
                let failed = answer["is_error"].as_bool().expect("a boolean");
                assert!(
                    !failed || !text(&answer["content"]).is_empty(),
                    "an error has a text, and nothing else"
                );
                text_or(&answer["content"], anthropic_block);
            }
            "gemini" => {
                fields(answer, &["functionResponse"], &[]);
                let response = &answer["functionResponse"];
                fields(response, &["name", "response"], &["id", "parts"]);
                for part in response["parts"].as_array().into_iter().flatten() {
                    fields(part, &["inlineData"], &[]);
                    fields(&part["inlineData"], &["mimeType", "data"], &[]);
                    assert!(text(&part["inlineData"]["mimeType"]).contains('/'));
                }
                assert!(!text(&response["name"]).is_empty());
                fields(&response["response"], &[], &["output", "error"]);
                // The API makes ids up where the model's calls had none.
                assert!(response.get("id").is_none_or(|given| given == id));
            }
            other => panic!("no rules for {other}"),
        }
    }
}

/// A text, or a list of parts that pass `check`, which is not empty.
fn text_or(value: &Value, check: fn(&Value)) {
    match value.as_array() {
        None => drop(text(value)),
        Some(parts) => {
            assert!(!parts.is_empty());
            parts.iter().for_each(check);
        }
    }
}

fn response_part(part: &Value) {
    match text(&part["type"]) {
        "input_text" => {
            fields(part, &["type", "text"], &[]);
            assert!(!text(&part["text"]).is_empty());
        }
        "input_image" => {
            fields(part, &["type", "image_url"], &[]);
            assert!(text(&part["image_url"]).starts_with("data:image/"));
        }
        "input_file" => {
            fields(part, &["type", "filename", "file_data"], &[]);
            assert!(text(&part["file_data"]).starts_with("data:application/pdf;base64,"));
        }
        other => panic!("{other} is no part of an output"),
    }
}

fn anthropic_block(block: &Value) {
    let images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    let source = |kinds: &[&str]| {
        fields(block, &["type", "source"], &[]);
        fields(&block["source"], &["type", "media_type", "data"], &[]);
        assert_eq!(block["source"]["type"], "base64");
        assert!(kinds.contains(&text(&block["source"]["media_type"])), "{block}");
    };
    match text(&block["type"]) {
        "text" => {
            fields(block, &["type", "text"], &[]);
            assert!(!text(&block["text"]).is_empty(), "the API refuses empty texts");
        }
        "image" => source(&images),
        "document" => source(&["application/pdf"]),
        other => panic!("{other} is no block of a result"),
    }
}

fn fields(object: &Value, required: &[&str], optional: &[&str]) {
    let present: BTreeSet<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = required.iter().chain(optional).copied().collect();
    assert!(present.is_subset(&known) && required.iter().all(|field| present.contains(field)), "{object}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}
