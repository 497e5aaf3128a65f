//! What a server's answer to a call means.

use rmcp::model::{CallToolResult, ContentBlock, ServerResult};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolyard_contract::{Detail, Failure, Output, Reply, ToolReturn};

use super::{exact, request_error::RequestError};

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
    let exact = exact::taken(&mut result);
    let failed = result.is_error == Some(true);
    let text = joined_text(&result.content);
    // Nothing is lost in the output then, and nothing need stand beside it.
    let is_lone_text = result.structured_content.is_none()
        && match result.content.as_slice() {
            [] => true,
            [block] => is_plain(block),
            _ => false,
        };
    let blocks = serde_json::to_value(&result.content).unwrap_or_default();
    let mut detail = Detail::default();
    detail.content = (!is_lone_text).then(|| blocks.clone());
    detail.meta = result.meta.and_then(|meta| serde_json::to_value(meta).ok());
    let detail = (detail != Detail::default()).then(|| Box::new(detail));
    let error = failed.then(|| match &text {
        Some(text) if !text.trim().is_empty() => text.clone(),
        _ => format!("tool {tool:?}: it says that it failed"),
    });
    let output = match (exact, result.structured_content, text) {
        (Some(exact), ..) => unwrapped_exact(exact),
        (None, Some(structured), _) => unwrapped(structured),
        (None, None, Some(text)) => Output::Text(text),
        (None, None, None) => Output::from(blocks),
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

/// The text of all blocks, one after the other; `None` when one of them is something else.
fn joined_text(content: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<_>> = content.iter().map(|block| block.as_text().map(|text| &*text.text)).collect();
    texts.map(|texts| texts.join("\n"))
}

/// Tells whether a block has nothing but its text.
fn is_plain(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text(text) if text.meta.is_none() && text.annotations.is_none())
}

/// The text of a result that is a text and nothing else, as most are.
fn lone_text(result: &mut CallToolResult) -> Option<String> {
    let nothing_beside =
        result.is_error != Some(true) && result.structured_content.is_none() && result.meta.is_none();
    match result.content.as_mut_slice() {
        [block] if nothing_beside && is_plain(block) => match block {
            ContentBlock::Text(text) => Some(std::mem::take(&mut text.text)),
            _ => None,
        },
        _ => None,
    }
}

/// Servers wrap what is no object as `{"result": x}`.
fn unwrapped(structured: Value) -> Output {
    match structured {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key("result") => {
            Output::from(fields.remove("result").unwrap_or_default())
        }
        other => Output::from(other),
    }
}

/// As [`unwrapped`], of JSON text.
fn unwrapped_exact(structured: Box<RawValue>) -> Output {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lone {
        result: Output,
    }
    serde_json::from_str(structured.get()).map_or(Output::Json(structured), |Lone { result }| result)
}

/// The schema of what [`unwrapped`] leaves.
pub(super) fn unwrapped_schema(mut schema: Value) -> Value {
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

    fn returned(result: Value) -> ToolReturn {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        tool_return("t", Ok(ServerResult::CallToolResult(result)))
    }

    fn output(result: Value) -> (Value, Option<Value>) {
        let reply = returned(result).unwrap();
        (reply.output.unwrap().to_value(), reply.detail.and_then(|detail| detail.content))
    }

    #[test]
    fn text_is_joined_and_other_blocks_are_kept_whole() {
        let one = json!({"type": "text", "text": "one"});
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        assert_eq!(output(json!({"content": []})), ("".into(), None));
        assert_eq!(output(json!({"content": [one]})), ("one".into(), None));
        assert_eq!(output(json!({"content": [one, one]})), ("one\none".into(), Some(json!([one, one]))));
        assert_eq!(
            output(json!({"content": [one, image]})),
            (json!([one, image]), Some(json!([one, image])))
        );
        assert_eq!(output(json!({"content": [image]})), (json!([image]), Some(json!([image]))));
    }

    #[test]
    fn structured_content_wins_and_a_lone_result_is_unwrapped() {
        let structured = |value: Value| output(json!({"content": [], "structuredContent": value})).0;
        assert_eq!(structured(json!({"result": 5})), 5);
        assert_eq!(structured(json!({"result": 5, "more": 6})), json!({"result": 5, "more": 6}));
        assert_eq!(structured(json!({"x": 1})), json!({"x": 1}));
        assert_eq!(structured(json!([1])), json!([1]));
    }

    #[test]
    fn an_error_keeps_its_output() {
        let failure =
            returned(json!({"isError": true, "content": [{"type": "text", "text": "boom"}]})).unwrap_err();
        assert_eq!((failure.error.as_str(), failure.outcome.as_str()), ("boom", "failed"));
        assert_eq!(failure.output, Some("boom".into()));
        let silent = returned(json!({"isError": true, "content": []})).unwrap_err();
        assert_eq!(silent.error, "tool \"t\": it says that it failed");
    }

    #[test]
    fn the_schema_follows_the_unwrapped_output() {
        let schema = json!({
            "type": "object", "properties": {"result": {"$ref": "#/$defs/P"}}, "$defs": {"P": {"type": "integer"}}
        });
        let inner = json!({"$ref": "#/$defs/P", "$defs": {"P": {"type": "integer"}}});
        assert_eq!(unwrapped_schema(schema), inner);
        let other = json!({"properties": {"x": {}}});
        assert_eq!(unwrapped_schema(other.clone()), other);
    }
}
