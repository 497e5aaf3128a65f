//! An adapter for tools that say success or failure inside an untyped value.
//!
//! Nothing in the engine uses it: a tool's own [`ToolReturn`] is typed, so that a file that begins
//! with `error:` is just a file. A host that wraps such old tools asks for it by name.

use serde_json::{Map, Value, json};

use crate::{Failure, Output, Reply, ToolResult, ToolReturn};

/// The error code of a failure that gives no reason.
const GENERIC_ERROR: &str = "tool_failed";

/// What an old tool gave back.
#[derive(Clone, Debug)]
pub enum Raw {
    /// A finished result; it is re-labelled when it names another tool.
    Result(Box<ToolResult>),
    /// Any value.
    Value(Value),
}

/// Reads what an old tool gave back as a typed return.
///
/// In this order: a finished result passes through, also when `error` is given; a given error, also
/// an empty one, is a failure; an object with a boolean `ok` is unwrapped; text that begins with
/// `error:` in any case is a failure; everything else is success. Output beside an error is kept.
///
/// # Errors
/// Returns the failure that the value stands for.
pub fn from_raw(raw: Raw, error: Option<&str>) -> ToolReturn {
    match (raw, error) {
        (Raw::Result(result), _) => match result.error {
            None => Ok(Reply { output: result.output, detail: result.detail }),
            Some(error) => {
                Err(Failure { outcome: result.outcome, error, output: result.output, detail: result.detail })
            }
        },
        (Raw::Value(_), Some(error)) => Err(Failure::failed(error)),
        (Raw::Value(value), None) => from_value(value),
    }
}

/// Re-labels a finished result for the tool that gave it back.
#[must_use]
pub fn relabel(mut result: ToolResult, tool: &str) -> ToolResult {
    if result.tool != tool {
        result.tool = tool.into();
    }
    result
}

/// The four-key form: tool, ok, output, error.
pub fn to_dict(result: &ToolResult) -> Value {
    json!({"tool": result.tool, "ok": result.is_ok(), "output": result.output, "error": result.error})
}

fn from_value(value: Value) -> ToolReturn {
    match value {
        Value::Object(mut object) => match object.get("ok") {
            Some(Value::Bool(true)) => {
                Ok(Reply { output: unwrapped(object).map(Output::from), detail: None })
            }
            Some(Value::Bool(false)) => {
                let output = object.remove("output").filter(|output| !output.is_null());
                let error = object.remove("error").filter(|error| !error.is_null());
                let reason = error.as_ref().or(output.as_ref()).map(text_of).filter(|text| !text.is_empty());
                let failure = Failure::failed(reason.unwrap_or_else(|| GENERIC_ERROR.to_owned()));
                Err(Failure { output: output.map(Output::from), ..failure })
            }
            _ => Ok(Value::Object(object).into()),
        },
        Value::String(text) if text.trim().to_lowercase().starts_with("error:") => {
            Err(Failure::failed(text.trim()))
        }
        Value::Null => Ok(Reply::default()),
        other => Ok(other.into()),
    }
}

/// The `output` of an unwrapped object; where that is absent or null, what is left beside the keys with a meaning.
fn unwrapped(mut object: Map<String, Value>) -> Option<Value> {
    if let Some(output) = object.remove("output").filter(|output| !output.is_null()) {
        return Some(output);
    }
    object.retain(|key, _| !["tool", "ok", "error"].contains(&key.as_str()));
    (!object.is_empty()).then_some(Value::Object(object))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{CallId, Outcome};

    fn read(value: Value) -> Result<Value, (String, Value)> {
        let written = |output: Option<Output>| output.map_or(Value::Null, |o| o.to_value());
        match from_raw(Raw::Value(value), None) {
            Ok(reply) => Ok(written(reply.output)),
            Err(failure) => Err((failure.error, written(failure.output))),
        }
    }

    #[test]
    fn objects_with_a_boolean_ok_are_unwrapped() {
        assert_eq!(read(json!({"ok": true, "output": 5})), Ok(json!(5)));
        assert_eq!(read(json!({"ok": true, "a": 1, "tool": "t"})), Ok(json!({"a": 1})));
        assert_eq!(read(json!({"ok": true})), Ok(Value::Null));
        assert_eq!(read(json!({"ok": true, "output": null, "n": 3})), Ok(json!({"n": 3})));
        assert_eq!(read(json!({"ok": true, "output": null, "error": null})), Ok(Value::Null));
        assert_eq!(read(json!({"ok": true, "output": false, "n": 3})), Ok(json!(false)));
        assert_eq!(read(json!({"ok": false, "error": "no", "output": 5})), Err(("no".into(), json!(5))));
        assert_eq!(read(json!({"ok": false, "output": 5})), Err(("5".into(), json!(5))));
        assert_eq!(read(json!({"ok": false})), Err((GENERIC_ERROR.into(), Value::Null)));
        assert_eq!(read(json!({"ok": 1, "output": 5})), Ok(json!({"ok": 1, "output": 5})));
    }

    #[test]
    fn text_that_begins_with_error_is_a_failure_only_here() {
        assert_eq!(read(json!("  Error: gone ")), Err(("Error: gone".into(), Value::Null)));
        assert_eq!(read(json!("no error: fine")), Ok(json!("no error: fine")));
    }

    #[test]
    fn a_given_error_beats_a_value_but_not_a_finished_result() {
        assert_eq!(from_raw(Raw::Value(json!(1)), Some("")).unwrap_err().error, "");
        let done = ToolResult {
            index: 0,
            id: CallId::Absent,
            tool: "old".into(),
            outcome: Outcome::Ok,
            output: Some("fine".into()),
            error: None,
            detail: None,
            request: None,
            elapsed: Duration::ZERO,
        };
        assert_eq!(relabel(done.clone(), "new").tool, "new");
        assert_eq!(to_dict(&done), json!({"tool": "old", "ok": true, "output": "fine", "error": null}));
        assert_eq!(from_raw(Raw::Result(Box::new(done)), Some("no")).unwrap().output, Some("fine".into()));
    }
}
