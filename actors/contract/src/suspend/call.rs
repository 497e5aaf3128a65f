//! A suspended call in the form that other systems exchange.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, ser::SerializeStruct};
use serde_json::value::RawValue;

use super::stored;
use crate::{Arguments, CallId, ToolCall, canonical::canonical, name};

/// A call that waits, as a dictionary of `tool`, `arguments`, `id` and `request_id`.
///
/// Two more keys are written where these four do not say all: `spelling`, and `arguments_as` for
/// arguments that would be read as something else (`"text"`: plain text, `"json"`: JSON in a text).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuspendedCall {
    /// The tool's name in its normal form: trimmed and lower-cased.
    pub tool: String,
    /// The tool's name as the model spelled it.
    pub spelling: String,
    /// The arguments as they came, so that integers stay exact and plain text stays text.
    pub arguments: Option<Arguments>,
    /// The provider's id of the call as trimmed text, whatever JSON it is; empty where there is none.
    pub tool_call_id: String,
    /// The request that it waits for, trimmed; empty where there is none.
    pub request_id: String,
}

/// The keys of a dictionary, each of any type.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
    #[serde(borrow)]
    spelling: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments_as: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

impl SuspendedCall {
    /// Makes one of a call.
    pub fn new(call: &ToolCall, request_id: impl AsRef<str>) -> Self {
        Self {
            tool: name::key(&call.name).into_owned(),
            spelling: call.name.to_string(),
            arguments: Some(call.arguments.clone()),
            tool_call_id: id_text(&call.id),
            request_id: request_id.as_ref().trim().to_owned(),
        }
    }

    /// Reads a dictionary; `None` when it is no object or names no tool. The provider's id is under
    /// `id`, else under `tool_call_id`, and may be any JSON.
    pub fn from_dict(text: &str) -> Option<Self> {
        Self::read(text.trim()).ok()
    }

    /// Writes the dictionary.
    ///
    /// # Panics
    /// Never: texts and JSON can be written as JSON.
    pub fn to_dict(&self) -> String {
        serde_json::to_string(self).expect("texts and JSON can be written as JSON")
    }

    /// The text of the arguments.
    pub fn arguments_text(&self) -> &str {
        self.arguments.as_ref().map_or("{}", Arguments::as_str)
    }

    /// The call as the model made it. Its id is text, whatever it was before.
    pub fn to_call(&self) -> ToolCall {
        let name = if self.spelling.is_empty() { &self.tool } else { &self.spelling };
        let mut call = ToolCall::new(name.as_str(), self.arguments.clone().unwrap_or_default());
        if !self.tool_call_id.is_empty() {
            call.id = CallId::from(self.tool_call_id.as_str());
        }
        call
    }

    /// Tells whether another call asks for the same: the same tool with the same arguments.
    pub fn asks_the_same_as(&self, call: &ToolCall) -> bool {
        let key = name::key(&call.name);
        let names_it = !key.is_empty() && (key == self.tool || key == name::key(&self.spelling));
        let own = self.arguments.as_ref();
        names_it && own.map_or_else(|| is_same(&Arguments::empty(), call), |own| is_same(own, call))
    }

    /// Tells whether a call has the id of this one, which is not blank.
    pub(super) fn has_id_of(&self, call: &ToolCall) -> bool {
        !self.tool_call_id.is_empty() && id_text(&call.id) == self.tool_call_id
    }

    fn read(text: &str) -> Result<Self, String> {
        if !text.starts_with('{') {
            return Err("a suspended call must be an object".to_owned());
        }
        let loose: Loose<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let word = |raw: Option<&RawValue>| {
            raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).unwrap_or_default()
        };
        let id =
            |raw: Option<&RawValue>| raw.map(CallId::from_raw).map_or_else(String::new, |id| id_text(&id));
        let named = word(loose.tool);
        let tool = name::key(&named).into_owned();
        if tool.is_empty() {
            return Err("a suspended call must name its tool: field \"tool\" must be text".to_owned());
        }
        let spelling = Some(word(loose.spelling)).filter(|spelling| !spelling.trim().is_empty());
        let tool_call_id = Some(id(loose.id)).filter(|id| !id.is_empty());
        Ok(Self {
            tool,
            spelling: spelling.unwrap_or(named),
            arguments: stored::read(loose.arguments, loose.arguments_as)?,
            tool_call_id: tool_call_id.unwrap_or_else(|| id(loose.tool_call_id)),
            request_id: id(loose.request_id),
        })
    }
}

impl Serialize for SuspendedCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written =
            self.arguments.as_ref().map(stored::write).transpose().map_err(serde::ser::Error::custom)?;
        let (arguments, read_as) = written.map_or((None, None), |(raw, read_as)| (Some(raw), read_as));
        let spelling =
            Some(&self.spelling).filter(|spelling| !spelling.is_empty() && **spelling != self.tool);
        let fields = 4 + usize::from(spelling.is_some()) + usize::from(read_as.is_some());
        let mut out = serializer.serialize_struct("SuspendedCall", fields)?;
        out.serialize_field("tool", &self.tool)?;
        if let Some(spelling) = spelling {
            out.serialize_field("spelling", spelling)?;
        }
        out.serialize_field("arguments", &arguments)?;
        if let Some(read_as) = read_as {
            out.serialize_field("arguments_as", read_as)?;
        }
        out.serialize_field("id", &self.tool_call_id)?;
        out.serialize_field("request_id", &self.request_id)?;
        out.end()
    }
}

/// Reads what [`SuspendedCall::from_dict`] reads; needs `serde_json`'s reader.
impl<'de> Deserialize<'de> for SuspendedCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(raw.get()).map_err(D::Error::custom)
    }
}

/// An id as trimmed text; empty where there is none.
fn id_text(id: &CallId) -> String {
    id.to_text().unwrap_or_default().trim().to_owned()
}

/// Whether arguments are those of a call. What is no JSON is the same when its text is.
fn is_same(own: &Arguments, call: &ToolCall) -> bool {
    match (own, &call.arguments) {
        (Arguments::Text(own), Arguments::Text(other)) => own == other,
        (Arguments::Text(_), _) | (_, Arguments::Text(_)) => false,
        (own, other) => match (canonical(own.as_str()), canonical(other.as_str())) {
            (Ok(own), Ok(other)) => own == other,
            _ => own.as_str() == other.as_str(),
        },
    }
}
