//! One item of a call list, in whichever shape it comes.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_contract::{Arguments, BadCall, CallId, ToolCall};

use super::{anthropic, gemini, json, native, openai, responses};

/// The fields that calls have in any shape, unread.
#[derive(Default, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function: Option<&'a RawValue>,
    #[serde(borrow, rename = "functionCall")]
    pub(super) function_call: Option<&'a RawValue>,
}

/// What a vendor's file finds in an item.
pub(super) struct Parts<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
}

/// Reads one item as a call; the error names the item by its position.
pub(super) fn read_call(raw: &RawValue, index: usize) -> Result<ToolCall, BadCall> {
    let bad = |name, id, reason| BadCall { name, id, error: format!("item {index}: {reason}") };
    let item = match Item::read(raw) {
        Ok(item) => item,
        Err(reason) => return Err(bad(String::new(), CallId::Absent, reason)),
    };
    let parts = match item.parts() {
        Ok(parts) => parts,
        Err(reason) => {
            let readable = Parts { id: item.call_id.or(item.id), ..native::parts(&item) };
            return Err(bad(readable.name().unwrap_or_default(), readable.id(), reason));
        }
    };
    match parts.name() {
        Ok(name) => {
            let arguments = parts.arguments.map_or_else(Arguments::empty, Arguments::from_raw);
            Ok(ToolCall { name, arguments, id: parts.id() })
        }
        Err(reason) => Err(bad(String::new(), parts.id(), reason)),
    }
}

impl<'a> Item<'a> {
    /// Reads the fields of an object.
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, String> {
        match json::kind(raw) {
            "an object" => serde_json::from_str(raw.get()).map_err(|error| json::reason(&error)),
            other => Err(format!("a call must be an object, not {other}")),
        }
    }

    /// Tells whether a part of an assistant message is a call that waits for an answer; text, reasoning and
    /// calls that the provider runs itself are not.
    pub(super) fn is_call_part(&self) -> bool {
        let awaited = ["\"tool_use\"", "\"function_call\"", "\"custom_tool_call\""];
        self.function_call.is_some() || self.kind.is_some_and(|kind| awaited.contains(&kind.get()))
    }

    /// Tells whether an object looks like a call at all.
    pub(super) fn looks_like_a_call(&self) -> bool {
        [self.kind, self.name, self.tool, self.function, self.function_call].iter().any(Option::is_some)
    }

    fn parts(&self) -> Result<Parts<'a>, String> {
        if let Some(call) = self.function_call {
            return gemini::parts(call);
        }
        if let Some(function) = self.function {
            return openai::parts(function, self);
        }
        match self.kind.map(RawValue::get) {
            Some("\"tool_use\"") => Ok(anthropic::parts(self)),
            Some("\"function_call\"") => Ok(responses::parts(self)),
            None | Some("\"function\"") => Ok(native::parts(self)),
            Some(other) => Err(format!("field \"type\": {other:.40} is no kind of call that is known here")),
        }
    }
}

impl Parts<'_> {
    fn name(&self) -> Result<String, String> {
        let raw = self.name.ok_or("field \"name\" is missing")?;
        let name: String = serde_json::from_str(raw.get())
            .map_err(|_| format!("field \"name\" must be text, not {}", json::kind(raw)))?;
        if name.trim().is_empty() { Err("field \"name\" is empty".to_owned()) } else { Ok(name) }
    }

    fn id(&self) -> CallId {
        self.id.map_or(CallId::Absent, CallId::from_raw)
    }
}
