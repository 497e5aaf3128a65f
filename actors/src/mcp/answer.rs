//! What a server's answer to a call means.

use rmcp::model::{CallToolResult, ContentBlock, ServerResult};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolyard_contract::{Detail, ExactValue, Failure, Output, Reply, ToolReturn};

use super::{
    content::Blocks,
    exact::{self, Written},
    request_error::RequestError,
};

/// Makes a tool's return of the answer to its call.
pub(super) fn tool_return(tool: &str, answer: Result<ServerResult, RequestError>) -> ToolReturn {
    match answer {
        Ok(ServerResult::CallToolResult(result)) => of_result(tool, result),
        Ok(ServerResult::InputRequiredResult(_)) => {
            Err(Failure::failed(format!("tool {tool:?}: it asks for input, which cannot be given here")))
        }
        Ok(ServerResult::CreateTaskResult(_)) => {
            let reason = "it began a task, which is not followed here, so its end is not known";
            Err(Failure::lost(format!("tool {tool:?}: {reason}")))
        }
        // A result without any content is an empty one.
        Ok(ServerResult::EmptyResult(_)) => Ok(Output::from("").into()),
        // It may have run, whatever this is.
        Ok(_) => Err(Failure::lost(format!("tool {tool:?}: its answer is not what the protocol allows"))),
        Err(RequestError::NotSent(reason)) => Err(Failure::not_started(format!("tool {tool:?}: {reason}"))),
        Err(RequestError::NotRun { reason, retry_after }) => {
            let mut failure = Failure::not_started(format!("tool {tool:?}: {reason}"));
            let retry_after_ms =
                retry_after.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
            if retry_after_ms.is_some() {
                failure.detail.get_or_insert_default().retry_after_ms = retry_after_ms;
            }
            Err(failure)
        }
        Err(RequestError::Lost(reason)) => Err(Failure::lost(format!("tool {tool:?}: {reason}"))),
        Err(RequestError::Refused(reason)) => Err(Failure::failed(format!("tool {tool:?}: {reason}"))),
    }
}

fn of_result(tool: &str, mut result: CallToolResult) -> ToolReturn {
    if let Some(text) = lone_text(&mut result) {
        return Ok(Output::Text(text).into());
    }
    let written = exact::taken(&mut result).unwrap_or_else(|| Written {
        text: serde_json::to_string(&result).unwrap_or_default(),
        notes: Vec::new(),
    });
    drop(result);
    of_text(tool, written)
}

/// The text of a result that is a text and nothing else, as most are.
fn lone_text(result: &mut CallToolResult) -> Option<String> {
    let nothing_beside =
        result.is_error != Some(true) && result.structured_content.is_none() && result.meta.is_none();
    match result.content.as_mut_slice() {
        [ContentBlock::Text(text)] if nothing_beside && text.meta.is_none() && text.annotations.is_none() => {
            Some(std::mem::take(&mut text.text))
        }
        _ => None,
    }
}

/// A result as the server wrote it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    is_error: Option<bool>,
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
}

fn of_text(tool: &str, Written { text, notes }: Written) -> ToolReturn {
    // It ran, whatever its answer is.
    let lost = |error| Failure::lost(format!("tool {tool:?}: its answer cannot be used: {error}"));
    let parts: Parts<'_> = serde_json::from_str(&text).map_err(lost)?;
    let content = parts.content.map_or("[]", RawValue::get);
    let Blocks { texts, is_plain } = serde_json::from_str(content).map_err(lost)?;
    let text = texts.map(|texts| texts.join("\n"));
    // Nothing is lost in the output then, and nothing need stand beside it.
    let is_lone_text = parts.structured_content.is_none() && is_plain;
    let owned = |part: &str| RawValue::from_string(part.to_owned()).map(Output::Json);
    let mut detail = Detail::default();
    detail.content = if is_lone_text { None } else { Some(owned(content).map_err(lost)?) };
    detail.meta = parts.meta.map(|meta| owned(meta.get()).map_err(lost)).transpose()?;
    detail.notes = notes;
    let detail = (detail != Detail::default()).then(|| Box::new(detail));
    let error = (parts.is_error == Some(true)).then(|| match &text {
        Some(text) if !text.trim().is_empty() => text.clone(),
        _ => format!("tool {tool:?}: it says that it failed"),
    });
    let output = match (parts.structured_content, text) {
        (Some(structured), _) => unwrapped(structured).map_err(lost)?,
        (None, Some(text)) => Output::Text(text),
        (None, None) => owned(content).map_err(lost)?,
    };
    match error {
        None => Ok(Reply { output: Some(output), detail }),
        Some(error) => {
            let mut failure = Failure::failed(error).output(output);
            failure.detail = detail;
            Err(failure)
        }
    }
}

/// Servers wrap what is no object as `{"result": x}`.
fn unwrapped(structured: &RawValue) -> serde_json::Result<Output> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lone {
        result: Output,
    }
    let text = structured.get();
    match serde_json::from_str(text) {
        Ok(Lone { result }) if text.starts_with('{') => Ok(result),
        _ => serde_json::from_str(text),
    }
}

/// The schema of what [`unwrapped`] leaves.
pub(super) fn unwrapped_schema(schema: &ExactValue) -> ExactValue {
    schema.with_value(unwrapped_value(schema.value().clone()))
}

fn unwrapped_value(mut schema: Value) -> Value {
    let only = schema.get("properties").and_then(Value::as_object).filter(|properties| properties.len() == 1);
    let Some(Value::Object(mut inner)) = only.and_then(|properties| properties.get("result")).cloned() else {
        return schema;
    };
    for definitions in ["$defs", "definitions", "$schema"] {
        if let Some(defined) = schema.get_mut(definitions).map(Value::take) {
            inner.entry(definitions).or_insert(defined);
        }
    }
    Value::Object(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn returned(result: &str) -> ToolReturn {
        let written = Written { text: result.to_owned(), notes: Vec::new() };
        let returned = of_text("t", written);
        // As in an answer of the library, where it has all of it.
        if let Ok(read) = serde_json::from_str::<CallToolResult>(result)
            && serde_json::to_value(&read).unwrap() == serde_json::from_str::<Value>(result).unwrap()
        {
            let library = tool_return("t", Ok(ServerResult::CallToolResult(read)));
            let output = |returned: &ToolReturn| match returned {
                Ok(reply) => reply.output.as_ref().map(Output::to_value),
                Err(failure) => failure.output.as_ref().map(Output::to_value),
            };
            assert_eq!(output(&library), output(&returned));
        }
        returned
    }

    fn output(result: &Value) -> (Value, Option<Value>) {
        let reply = returned(&result.to_string()).unwrap();
        let content = reply.detail.and_then(|detail| detail.content);
        (reply.output.unwrap().to_value(), content.map(|content| content.to_value()))
    }

    #[test]
    fn text_is_joined_and_other_blocks_are_kept_whole() {
        let one = json!({"type": "text", "text": "one"});
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        assert_eq!(output(&json!({"content": []})), ("".into(), None));
        assert_eq!(output(&json!({"content": [one]})), ("one".into(), None));
        assert_eq!(output(&json!({"content": [one, one]})), ("one\none".into(), Some(json!([one, one]))));
        for other in [image, json!({"type": "hologram"}), json!({"type": "text", "text": null}), json!("x")] {
            let both = json!([one, other]);
            assert_eq!(output(&json!({"content": both})), (both.clone(), Some(both)));
            assert_eq!(output(&json!({"content": [other]})), (json!([other]), Some(json!([other]))));
        }
    }

    #[test]
    fn everything_beside_a_text_is_kept_as_it_was_written() {
        let content = r#"[{"type":"text","text":"t","annotations":{"priority":0.1,"n":18446744073709551616},"more":1.10}]"#;
        let meta = r#"{"a":0.10}"#;
        let reply = returned(&format!(r#"{{"content":{content},"_meta":{meta}}}"#)).unwrap();
        let detail = reply.detail.unwrap();
        assert_eq!(reply.output, Some("t".into()));
        assert_eq!(detail.content.unwrap().to_text(), content);
        assert_eq!(detail.meta.unwrap().to_text(), meta);
    }

    #[test]
    fn structured_content_wins_and_a_lone_result_is_unwrapped() {
        let structured = |value: Value| output(&json!({"content": [], "structuredContent": value})).0;
        assert_eq!(structured(json!({"result": 5})), 5);
        assert_eq!(structured(json!({"result": "five"})), "five");
        assert_eq!(structured(json!({"result": 5, "more": 6})), json!({"result": 5, "more": 6}));
        assert_eq!(structured(json!({"x": 1})), json!({"x": 1}));
        assert_eq!(structured(json!([1])), json!([1]));
        assert_eq!(structured(json!("text")), "text");
        // Nothing is no content.
        assert_eq!(structured(json!(null)), "");
        let exact = returned(r#"{"structuredContent":{"n":1.10,"m":18446744073709551616}}"#).unwrap();
        assert_eq!(exact.output.unwrap().to_text(), r#"{"n":1.10,"m":18446744073709551616}"#);
    }

    #[test]
    fn an_answer_that_cannot_be_used_was_given_all_the_same() {
        let many = format!("[{}1]", "1,".repeat(10_000));
        for (result, reason) in [
            (format!(r#"{{"content":{many}}}"#), "more than 10000 content blocks"),
            (r#"{"content":[],"isError":"no"}"#.to_owned(), "invalid type: string"),
        ] {
            let failure = returned(&result).unwrap_err();
            assert_eq!(failure.outcome.as_str(), "lost");
            assert!(failure.error.contains(reason), "{}", failure.error);
        }
    }

    #[test]
    fn what_was_mended_is_noted() {
        let written = Written {
            text: r#"{"content":[{"type":"text","text":"t"}]}"#.to_owned(),
            notes: vec!["n".to_owned()],
        };
        let reply = of_text("t", written).unwrap();
        assert_eq!((reply.output, reply.detail.unwrap().notes), (Some("t".into()), vec!["n".to_owned()]));
    }

    #[test]
    fn an_error_keeps_its_output() {
        let failure = returned(r#"{"isError":true,"content":[{"type":"text","text":"boom"}]}"#).unwrap_err();
        assert_eq!((failure.error.as_str(), failure.outcome.as_str()), ("boom", "failed"));
        assert_eq!(failure.output, Some("boom".into()));
        let silent = returned(r#"{"isError":true,"content":[]}"#).unwrap_err();
        assert_eq!(silent.error, "tool \"t\": it says that it failed");
    }

    #[test]
    fn the_schema_follows_the_unwrapped_output() {
        let schema = json!({
            "type": "object", "properties": {"result": {"$ref": "#/$defs/P"}}, "$defs": {"P": {"type": "integer"}}
        });
        let inner = json!({"$ref": "#/$defs/P", "$defs": {"P": {"type": "integer"}}});
        assert_eq!(unwrapped_value(schema), inner);
        let other = json!({"properties": {"x": {}}});
        assert_eq!(unwrapped_value(other.clone()), other);
    }
}
