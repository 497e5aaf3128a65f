//! A call as a model makes it, and an item that could not be read as one.

use std::borrow::Cow;

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use serde_json::value::RawValue;

use crate::{Arguments, strict};

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool's name as the model spelled it; looked up by [`name::key`](crate::name::key).
    pub name: CompactString,
    /// What the model wants the tool to work on.
    pub arguments: Arguments,
    /// The provider's id. Echoed, never used as a key: ids may be blank or repeated.
    pub id: CallId,
}

impl ToolCall {
    /// Makes a call without an id.
    pub fn new(name: impl Into<CompactString>, arguments: Arguments) -> Self {
        Self { name: name.into(), arguments, id: CallId::Absent }
    }

    /// Sets the provider's id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<CallId>) -> Self {
        self.id = id.into();
        self
    }
}

/// Writes the native form, which reads back as the same call.
impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolCall", 3)?;
        out.serialize_field("name", &self.name)?;
        out.serialize_field("arguments", &self.arguments)?;
        out.serialize_field("id", &self.id)?;
        out.end()
    }
}

/// A provider's id for a call, kept exactly as it came.
#[derive(Clone, Debug, Default)]
pub enum CallId {
    /// Missing or `null`.
    #[default]
    Absent,
    /// Text, also blank text.
    Text(CompactString),
    /// Any other JSON value.
    Other(Box<RawValue>),
}

impl CallId {
    /// Takes an id from its JSON text.
    pub fn from_raw(raw: &RawValue) -> Self {
        if let Some(text) = strict::plain_string(raw) {
            return Self::Text(text.into());
        }
        match raw.get() {
            "null" => Self::Absent,
            text if text.starts_with('"') => {
                serde_json::from_str(text).map_or_else(|_| Self::Other(raw.to_owned()), Self::Text)
            }
            _ => Self::Other(raw.to_owned()),
        }
    }

    /// The id as text, when it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Other(_) => None,
        }
    }

    /// The id as text, whatever JSON it is (`7` is `"7"`); `None` where there is none or a blank one.
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(id) if !id.trim().is_empty() => Some(id.as_str().into()),
            Self::Other(raw) => Some(raw.get().into()),
            Self::Text(_) | Self::Absent => None,
        }
    }
}

impl PartialEq for CallId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Other(a), Self::Other(b)) => a.get() == b.get(),
            _ => false,
        }
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self::Text(id.into())
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self::Text(id.into())
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Other(raw) => raw.serialize(serializer),
        }
    }
}

/// Reads any JSON value; needs `serde_json`'s reader.
impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self::from_raw(&raw))
    }
}

/// An item of a call list that is not a call. It still gets a result: `bad_arguments`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct BadCall {
    /// The tool's name, where one was readable; else empty.
    pub name: CompactString,
    /// The id, where one was readable.
    pub id: CallId,
    /// What is wrong, naming the item and the field.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_echoed_as_they_came() {
        for id in ["null", "\"\"", "\"call_1\"", "7", "123456789012345678901234567890", "[1]"] {
            let raw: Box<RawValue> = serde_json::from_str(id).unwrap();
            assert_eq!(serde_json::to_string(&CallId::from_raw(&raw)).unwrap(), id);
        }
    }

    #[test]
    fn a_call_is_written_in_the_native_form() {
        let call = ToolCall::new("Add", Arguments::from_text("{\"a\":1}".into())).with_id("c1");
        assert_eq!(serde_json::to_string(&call).unwrap(), r#"{"name":"Add","arguments":{"a":1},"id":"c1"}"#);
    }
}
