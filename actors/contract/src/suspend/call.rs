//! A suspended call in the form that other systems exchange.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ToolCall, canonical::canonical, name};

/// A call that waits, as a dictionary of `tool`, `arguments`, `id` and `request_id`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SuspendedCall {
    /// The tool's name in its normal form: trimmed and lower-cased.
    pub tool: String,
    /// The arguments as JSON text, so that integers stay exact.
    pub arguments: Option<Box<RawValue>>,
    /// The provider's id of the call; empty where there is none.
    #[serde(rename = "id")]
    pub tool_call_id: String,
    /// The request that it waits for; empty where there is none.
    pub request_id: String,
}

/// The keys of a dictionary, each of any type.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

impl SuspendedCall {
    /// Makes one of a call.
    pub fn new(call: &ToolCall, request_id: impl Into<String>) -> Self {
        let arguments = serde_json::value::to_raw_value(&call.arguments).ok();
        Self {
            tool: name::key(&call.name).into_owned(),
            arguments,
            tool_call_id: call.id.as_text().unwrap_or_default().trim().to_owned(),
            request_id: request_id.into(),
        }
    }

    /// Reads a dictionary; `None` when it is no object or names no tool. The provider's id is under
    /// `id`, else under `tool_call_id`.
    pub fn from_dict(text: &str) -> Option<Self> {
        let loose: Loose<'_> =
            text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()?;
        let word = |raw: Option<&RawValue>| {
            raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).unwrap_or_default()
        };
        let tool = name::key(&word(loose.tool)).into_owned();
        let id = Some(word(loose.id).trim().to_owned()).filter(|id| !id.is_empty());
        (!tool.is_empty()).then(|| Self {
            tool,
            arguments: loose.arguments.filter(|raw| raw.get() != "null").map(ToOwned::to_owned),
            tool_call_id: id.unwrap_or_else(|| word(loose.tool_call_id).trim().to_owned()),
            request_id: word(loose.request_id).trim().to_owned(),
        })
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
        self.arguments.as_deref().map_or("{}", RawValue::get)
    }

    /// Tells whether another call asks for the same: the same tool with the same arguments.
    pub fn asks_the_same_as(&self, call: &ToolCall) -> bool {
        let other = Self::new(call, "");
        let form = |call: &Self| canonical(call.arguments_text()).ok();
        self.tool == other.tool && form(self).is_some() && form(self) == form(&other)
    }
}
