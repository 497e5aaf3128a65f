//! The fields of one item of a call list, before anybody says what they mean.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;
use toolyard_contract::{CompactString, strict};

use super::json;

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
    pub(super) fn name(&self) -> Result<CompactString, String> {
        let raw = self.name.ok_or("field \"name\" is missing")?;
        let name: CompactString = match strict::plain_string(raw) {
            Some(name) => name.into(),
            None => serde_json::from_str(raw.get())
                .map_err(|_| format!("field \"name\" must be text, not {}", json::kind(raw)))?,
        };
        if name.trim_start().is_empty() { Err("field \"name\" is empty".to_owned()) } else { Ok(name) }
    }
}
