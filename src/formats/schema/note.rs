//! What a provider's schema cannot say, said in the description.

use std::{cell::RefCell, sync::Arc};

use serde_json::Value;
use toolyard_contract::{ExactValue, exact::LongNumbers};

use super::Object;

thread_local! {
    /// The long numbers of the schema that is being written; notes are made in every corner of that.
    static LONG: RefCell<Option<Arc<LongNumbers>>> = const { RefCell::new(None) };
}

/// Writes a schema with notes that have all digits of its long numbers.
pub(super) fn with_digits_of<T>(schema: &ExactValue, write: impl FnOnce() -> T) -> T {
    let Some(long) = schema.long() else { return write() };
    let before = LONG.replace(Some(long.clone()));
    let written = write();
    LONG.set(before);
    written
}

fn json(value: &Value) -> String {
    LONG.with_borrow(|long| long.as_ref().map_or_else(|| value.to_string(), |long| long.written(value)))
}

/// Keywords that only serve the schema's own bookkeeping: they say nothing about values.
const BOOKKEEPING: [&str; 8] =
    ["$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$comment", "$defs", "definitions"];

/// Appends `rest` to a description as JSON Schema.
pub(super) fn join(description: &str, mut rest: Object) -> String {
    rest.retain(|keyword, _| !BOOKKEEPING.contains(&keyword.as_str()));
    let mut lines: Vec<String> = Vec::new();
    if !description.trim().is_empty() {
        lines.push(description.to_owned());
    }
    // Most closed objects say just this; in words it is shorter.
    if rest.get("additionalProperties") == Some(&Value::Bool(false)) {
        rest.remove("additionalProperties");
        lines.push("No other keys.".to_owned());
    }
    if !rest.is_empty() {
        lines.push(format!("Further constraints (JSON Schema): {}", json(&Value::Object(rest))));
    }
    lines.join("\n")
}

/// Adds `rest` to the schema's own description.
pub(super) fn add(schema: &mut Object, rest: Object) {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let joined = join(description, rest);
    if !joined.is_empty() {
        schema.insert("description".to_owned(), joined.into());
    }
}

/// Puts a title and a description before what the schema says already.
pub(super) fn label(schema: &mut Object, labels: Object) {
    for (keyword, value) in labels {
        let text = match (schema.get(&keyword).and_then(Value::as_str), value.as_str()) {
            (Some(present), Some(text)) if keyword == "description" => format!("{text}\n{present}").into(),
            (Some(_), _) => continue,
            (None, _) => value,
        };
        schema.insert(keyword, text);
    }
}

/// Takes the keywords that are not `kept` out of a schema.
pub(super) fn take_rest(schema: &mut Object, kept: &[&str]) -> Object {
    let all = std::mem::take(schema);
    let (kept, rest) = all.into_iter().partition(|(keyword, _)| kept.contains(&keyword.as_str()));
    *schema = kept;
    rest
}
