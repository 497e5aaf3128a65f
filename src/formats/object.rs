//! An object that may hold calls, and the lists in its fields.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolyard_contract::{BadCall, ToolCall};

use super::{error::DocumentError, item, json};

/// The fields of an object that may be a document or a whole message.
#[derive(Deserialize)]
pub(super) struct Object<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) agent: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
}

/// Reads the call list in a field.
pub(super) fn calls(field: &str, raw: &RawValue) -> Result<Vec<Result<ToolCall, BadCall>>, DocumentError> {
    must_be_list(field, raw)?;
    read_list(raw.get())
}

/// Reads a list of calls.
pub(super) fn read_list(text: &str) -> Result<Vec<Result<ToolCall, BadCall>>, DocumentError> {
    item::read_list(text).map_err(|error| DocumentError::syntax(&error))
}

pub(super) fn items<'a>(field: &str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, DocumentError> {
    must_be_list(field, raw)?;
    parse(raw.get())
}

fn must_be_list(field: &str, raw: &RawValue) -> Result<(), DocumentError> {
    if is_list(raw) {
        return Ok(());
    }
    Err(DocumentError::field(field, format!("must be a list, not {}", json::kind(raw))))
}

pub(super) fn is_list(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DocumentError> {
    serde_json::from_str(text).map_err(|error| DocumentError::syntax(&error))
}

/// Tells `null` from absent, which an `Option` alone does not.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, DocumentError> {
    str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n');
        let (line, last) = lines.enumerate().last().unwrap_or_default();
        DocumentError::Syntax { line: line + 1, column: last.len() + 1, reason: "not UTF-8".to_owned() }
    })
}
