//! One item of a call list, in whichever shape it comes.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;
use toolyard_contract::{
    Arguments, BadCall, CallId, CompactString, ToolCall,
    strict::{self, Scan},
};

use super::{anthropic, gemini, glance, json, native, openai, responses};

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
    pub(super) status: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function: Option<Box<Node<'a>>>,
    #[serde(borrow, rename = "functionCall")]
    pub(super) function_call: Option<Box<Node<'a>>>,
}

/// What a vendor's file finds in an item.
pub(super) struct Parts<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
}

/// Reads a list of calls: one entry per item, whatever it is.
pub(super) fn read_list(text: &str) -> serde_json::Result<Vec<Result<ToolCall, BadCall>>> {
    // In one pass when nothing is wrong; else item by item, so that a bad one spoils no other.
    if let Some(calls) = read_good_list(text) {
        return Ok(calls);
    }
    let items: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(items.into_iter().enumerate().map(|(index, raw)| read_call(raw, index)).collect())
}

/// Reads a list whose items have the fields that they should have.
fn read_good_list(text: &str) -> Option<Vec<Result<ToolCall, BadCall>>> {
    let mut scan = Scan::new(text);
    // Most calls are longer than that; a list that only looks long must not take much memory.
    let mut calls = Vec::with_capacity((text.len() / 48).min(4_096));
    scan.takes(b'[').then_some(())?;
    if !scan.takes(b']') {
        loop {
            let start = scan;
            calls.push(match glance::call(&mut scan) {
                Some(call) => Ok(call),
                None => {
                    scan = start;
                    let mut parser = serde_json::Deserializer::from_str(scan.rest()).into_iter();
                    let call = read_node(&parser.next()?.ok()?, calls.len());
                    scan.skip(parser.byte_offset())?;
                    call
                }
            });
            if !scan.takes(b',') {
                break;
            }
        }
        scan.takes(b']').then_some(())?;
    }
    scan.is_at_end().then_some(calls)
}

/// Reads one item as a call; the error names the item by its position.
pub(super) fn read_call(raw: &RawValue, index: usize) -> Result<ToolCall, BadCall> {
    let node = match json::kind(raw) {
        "an object" => Item::read(raw).map(Node::Object),
        other => Ok(Node::Other(other)),
    };
    match node {
        Ok(node) => read_node(&node, index),
        Err(reason) => {
            let ids: Ids<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            Err(bad(index, CompactString::default(), ids.call_id.or(ids.id), &reason))
        }
    }
}

fn read_node(node: &Node<'_>, index: usize) -> Result<ToolCall, BadCall> {
    let item = match node {
        Node::Object(item) => item,
        Node::Other(kind) => {
            return Err(bad(
                index,
                CompactString::default(),
                None,
                &format!("a call must be an object, not {kind}"),
            ));
        }
    };
    let parts = match item.parts() {
        Ok(parts) => parts,
        Err(reason) => {
            let name = native::parts(item).name().unwrap_or_default();
            return Err(bad(index, name, item.call_id.or(item.id), &reason));
        }
    };
    match parts.name() {
        Ok(name) => {
            let arguments = parts.arguments.map_or_else(Arguments::empty, Arguments::from_raw);
            Ok(ToolCall { name, arguments, id: call_id(parts.id) })
        }
        Err(reason) => Err(bad(index, CompactString::default(), parts.id, &reason)),
    }
}

fn bad(index: usize, name: CompactString, id: Option<&RawValue>, reason: &str) -> BadCall {
    BadCall { name, id: call_id(id), error: format!("item {index}: {reason}") }
}

fn call_id(raw: Option<&RawValue>) -> CallId {
    raw.map_or(CallId::Absent, CallId::from_raw)
}

/// The ids of an object that cannot be read as a whole.
#[derive(Default, Deserialize)]
struct Ids<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
}

impl<'a> Item<'a> {
    /// Reads the fields of an object.
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, String> {
        serde_json::from_str(raw.get()).map_err(|error| json::reason(&error))
    }

    /// Tells whether a part of an assistant message is a call that waits for an answer; text, reasoning and
    /// calls that the provider runs itself are not.
    pub(super) fn is_call_part(&self) -> bool {
        let awaited = ["\"tool_use\"", "\"function_call\"", "\"custom_tool_call\""];
        self.function_call.is_some() || self.kind.is_some_and(|kind| awaited.contains(&kind.get()))
    }

    /// Tells whether an object looks like a call at all.
    pub(super) fn looks_like_a_call(&self) -> bool {
        [self.kind, self.name, self.tool].iter().any(Option::is_some)
            || self.function.is_some()
            || self.function_call.is_some()
    }

    fn parts(&self) -> Result<Parts<'a>, String> {
        if self.status.is_some_and(|status| status.get() == "\"incomplete\"") {
            return Err("the call was cut off: field \"status\" is \"incomplete\"".to_owned());
        }
        if let Some(call) = &self.function_call {
            return gemini::parts(call);
        }
        if let Some(function) = &self.function {
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

/// A place where an object should be: an item of a list, or what in an item names the tool.
pub(super) enum Node<'a> {
    Object(Item<'a>),
    /// What stands there instead.
    Other(&'static str),
}

impl<'a> Node<'a> {
    pub(super) fn object(&self, field: &str) -> Result<&Item<'a>, String> {
        match self {
            Self::Object(item) => Ok(item),
            Self::Other(kind) => Err(format!("field {field:?} must be an object, not {kind}")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor(PhantomData))
    }
}

struct NodeVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for NodeVisitor<'a> {
    type Value = Node<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        Item::deserialize(MapAccessDeserializer::new(fields)).map(Node::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::Other("a list"))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Node::Other("null"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Node::Other("text"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Node::Other("a boolean"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Node::Other("a number"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Node::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Node::Other("a number"))
    }
}

impl Parts<'_> {
    fn name(&self) -> Result<CompactString, String> {
        let raw = self.name.ok_or("field \"name\" is missing")?;
        let name: CompactString = match strict::plain_string(raw) {
            Some(name) => name.into(),
            None => serde_json::from_str(raw.get())
                .map_err(|_| format!("field \"name\" must be text, not {}", json::kind(raw)))?,
        };
        if name.trim_start().is_empty() { Err("field \"name\" is empty".to_owned()) } else { Ok(name) }
    }
}
