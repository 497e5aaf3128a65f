//! A document: a call list with what belongs to it.

use serde_json::value::RawValue;
use toolyard_contract::{BadCall, CallId, ToolCall, ToolSpec};

use super::{
    declared,
    error::DocumentError,
    item::read_call,
    json, message,
    node::Item,
    object::{Object, calls, items, parse, read_list, utf8},
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
            read_object(&object, text)
        }
        _ => {
            let kind = json::kind(parse(text)?);
            Err(DocumentError::NotCalls(format!("a document must be a list or an object, not {kind}")))
        }
    }
}

fn read_object(object: &Object<'_>, text: &str) -> Result<Document, DocumentError> {
    let calls = if let Some(list) = object.calls {
        calls("calls", list)?
    } else if let Some(calls) = message::calls_of(object)? {
        calls
    } else {
        return single_call(text);
    };
    let tools = object.tools.map_or(Ok(Vec::new()), |tools| declared::read(&items("tools", tools)?))?;
    let id = object.id.map_or(CallId::Absent, CallId::from_raw);
    Ok(Document { id, calls, tools, agent: agent(object)? })
}

fn agent(object: &Object<'_>) -> Result<Option<String>, DocumentError> {
    let text = |raw: &RawValue| {
        serde_json::from_str(raw.get())
            .map_err(|_| DocumentError::field("agent", format!("must be text, not {}", json::kind(raw))))
    };
    object.agent.map(text).transpose()
}

fn single_call(text: &str) -> Result<Document, DocumentError> {
    let raw: &RawValue = parse(text)?;
    let is_call = Item::read(raw).map_or(true, |item| item.looks_like_a_call());
    if is_call {
        return Ok(Document { calls: vec![read_call(raw, 0)], ..Document::default() });
    }
    Err(DocumentError::NotCalls(
        "the object holds no calls: give a call, an assistant message, or {\"calls\": […]}".to_owned(),
    ))
}
