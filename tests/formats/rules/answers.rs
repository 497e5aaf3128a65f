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
                text(&answer["output"]);
            }
            "anthropic" => {
                fields(answer, &["type", "tool_use_id", "content", "is_error"], &[]);
                assert_eq!(answer["type"], "tool_result");
                assert_eq!(text(&answer["tool_use_id"]), *id);
                let content = text(&answer["content"]);
                let failed = answer["is_error"].as_bool().expect("a boolean");
                assert!(!failed || !content.is_empty(), "an error has a text");
            }
            "gemini" => {
                fields(answer, &["functionResponse"], &[]);
                let response = &answer["functionResponse"];
                fields(response, &["name", "response"], &["id"]);
                assert!(!text(&response["name"]).is_empty());
                fields(&response["response"], &[], &["output", "error"]);
                // The API makes ids up where the model's calls had none.
                assert!(response.get("id").is_none_or(|given| given == id));
            }
            other => panic!("no rules for {other}"),
        }
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
