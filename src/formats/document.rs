//! A document: a call list with what belongs to it.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolyard_contract::{BadCall, CallId, ToolCall, ToolSpec};

use super::{
    declared,
    item::{self, Item},
    json, message,
};

#[cfg(test)]
mod tests;

/// What a caller sends: calls, and perhaps the tools they may name.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The document's own id, as it came; the answer carries it.
    pub id: CallId,
    /// One entry per item of the list, whatever the item is.
    pub calls: Vec<Result<ToolCall, BadCall>>,
    /// Tools declared for this document alone.
    pub tools: Vec<ToolSpec>,
    /// The agent on whose behalf the calls run.
    pub agent: Option<String>,
}

/// Why a document cannot be taken at all. A single bad call is no such reason: see [`Document::calls`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not JSON.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// JSON, but a field is not what it must be.
    #[error("{place}: {reason}")]
    Field {
        /// The field, and the item where it is in a list.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// JSON, but neither a list nor any object that holds calls.
    #[error("{0}")]
    NotCalls(String),
}

impl DocumentError {
    pub(super) fn field(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Field { place: place.into(), reason: reason.into() }
    }

    fn syntax(error: &serde_json::Error) -> Self {
        Self::Syntax { line: error.line(), column: error.column().max(1), reason: json::reason(error) }
    }
}

/// Reads one document: a list of calls, an object with `calls`, a single call, or a whole assistant message.
///
/// Every item is read in the shape it has, so lists may be mixed. Arguments stay the text they came as.
///
/// # Errors
/// When the text is not JSON (with line and column), or is no document (naming the field).
pub fn read_document(bytes: &[u8]) -> Result<Document, DocumentError> {
    let text = utf8(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().as_bytes().first() {
        Some(b'[') => Ok(Document { calls: read_list(text)?, ..Document::default() }),
        Some(b'{') => {
            let object: Object<'_> = parse(text)?;
            object.read(text)
        }
        _ => {
            let kind = json::kind(parse(text)?);
            Err(DocumentError::NotCalls(format!("a document must be a list or an object, not {kind}")))
        }
    }
}

/// The fields of an object that may be a document or a whole message.
#[derive(Deserialize)]
pub(super) struct Object<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    agent: Option<&'a RawValue>,
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

impl<'a> Object<'a> {
    fn read(&self, text: &'a str) -> Result<Document, DocumentError> {
        let calls = if let Some(list) = self.calls {
            calls("calls", list)?
        } else if let Some(calls) = message::calls_of(self)? {
            calls
        } else {
            return single_call(text);
        };
        let tools = self.tools.map_or(Ok(Vec::new()), |tools| declared::read(&items("tools", tools)?))?;
        Ok(Document {
            id: self.id.map_or(CallId::Absent, CallId::from_raw),
            calls,
            tools,
            agent: self.agent()?,
        })
    }

    fn agent(&self) -> Result<Option<String>, DocumentError> {
        let text = |raw: &RawValue| {
            serde_json::from_str(raw.get())
                .map_err(|_| DocumentError::field("agent", format!("must be text, not {}", json::kind(raw))))
        };
        self.agent.map(text).transpose()
    }
}

fn single_call(text: &str) -> Result<Document, DocumentError> {
    let raw: &RawValue = parse(text)?;
    let is_call = Item::read(raw).map_or(true, |item| item.looks_like_a_call());
    if is_call {
        return Ok(Document { calls: vec![item::read_call(raw, 0)], ..Document::default() });
    }
    Err(DocumentError::NotCalls(
        "the object holds no calls: give a call, an assistant message, or {\"calls\": […]}".to_owned(),
    ))
}

/// Reads the call list in a field.
pub(super) fn calls(field: &str, raw: &RawValue) -> Result<Vec<Result<ToolCall, BadCall>>, DocumentError> {
    must_be_list(field, raw)?;
    read_list(raw.get())
}

fn read_list(text: &str) -> Result<Vec<Result<ToolCall, BadCall>>, DocumentError> {
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
