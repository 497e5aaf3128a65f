//! One item of a call list, in whichever shape it comes.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_contract::{Arguments, BadCall, CallId, CompactString, ToolCall, strict::Scan};

use super::{
    anthropic, gemini, glance, json, native,
    node::{Item, Node, Parts},
    openai, responses,
};

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
    let parts = match parts(item) {
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

/// Finds the parts of a call, whichever shape it has.
fn parts<'a>(item: &Item<'a>) -> Result<Parts<'a>, String> {
    if item.status.is_some_and(|status| status.get() == "\"incomplete\"") {
        return Err("the call was cut off: field \"status\" is \"incomplete\"".to_owned());
    }
    if let Some(call) = &item.function_call {
        return gemini::parts(call);
    }
    if let Some(function) = &item.function {
        return openai::parts(function, item);
    }
    match item.kind.map(RawValue::get) {
        Some("\"tool_use\"") => Ok(anthropic::parts(item)),
        Some("\"function_call\"") => Ok(responses::parts(item)),
        None | Some("\"function\"") => Ok(native::parts(item)),
        Some(other) => Err(format!("field \"type\": {other:.40} is no kind of call that is known here")),
    }
}
