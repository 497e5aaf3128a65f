//! What a tool's description says beside the tool's own words.

use serde_json::Value;
use toolyard_contract::ToolSpec;

use super::Object;

/// The tool's description; names the tool where its exposed name is another, since people call it by its own.
pub(super) fn description(spec: &ToolSpec, exposed: &str) -> String {
    let description = spec.to_schema().description;
    if spec.name == exposed || description == spec.name {
        return description;
    }
    format!("{description}\n(The tool's own name is {:?}.)", spec.name)
}

/// Moves the description of the arguments as a whole to the tool's own: not every provider shows it to the model.
pub(super) fn take_description(text: String, parameters: &mut Object) -> String {
    match parameters.remove("description") {
        Some(Value::String(more)) if !text.contains(more.trim()) => format!("{text}\n{more}"),
        _ => text,
    }
}

/// Splits a text at a word so that its first part has at most `max` characters.
pub(super) fn split_at_most(text: String, max: usize) -> (String, String) {
    let Some((end, _)) = text.char_indices().nth(max) else { return (text, String::new()) };
    let at = text[..end].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(end);
    let (head, tail) = text.split_at(at);
    (head.to_owned(), tail.trim_start().to_owned())
}
