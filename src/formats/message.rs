//! The calls of a whole assistant message, of any provider.

use serde_json::value::RawValue;
use toolyard_contract::{BadCall, ToolCall};

use super::{
    error::DocumentError,
    item::read_call,
    node::Item,
    object::{Object, calls, is_list, items},
};

type Calls = Vec<Result<ToolCall, BadCall>>;

/// Reads the calls of a message and passes over its text; `None` when the object is no message.
pub(super) fn calls_of(object: &Object<'_>) -> Result<Option<Calls>, DocumentError> {
    if let Some(list) = object.tool_calls {
        return calls("tool_calls", list).map(Some);
    }
    if let Some(list) = object.parts {
        return items("parts", list).map(|parts| Some(calls_among(parts)));
    }
    for (field, list) in [("output", object.output), ("content", object.content)] {
        let is_message = object.role.is_some() || object.name.is_none();
        if let Some(list) = list.filter(|list| is_message && is_list(list)) {
            return items(field, list).map(|blocks| Some(whole_calls_among(object, blocks)));
        }
    }
    Ok(object.role.map(|_| Calls::new()))
}

/// The calls among the parts of a message. What is not even an object is kept, to be answered.
fn calls_among(mut parts: Vec<&RawValue>) -> Calls {
    parts.retain(|raw| Item::read(raw).map_or(true, |item| item.is_call_part()));
    parts.into_iter().enumerate().map(|(index, raw)| read_call(raw, index)).collect()
}

/// As [`calls_among`]; where the provider stopped the model inside of its last block, that call is refused.
fn whole_calls_among(object: &Object<'_>, blocks: Vec<&RawValue>) -> Calls {
    let ends_in_call = blocks.last().is_some_and(|raw| Item::read(raw).is_ok_and(|item| item.is_call_part()));
    let mut calls = calls_among(blocks);
    let index = calls.len().saturating_sub(1);
    if let (true, Some(reason), Some(last)) = (ends_in_call, cut_off(object), calls.last_mut())
        && let Ok(ToolCall { name, id, .. }) = last
    {
        let (name, id) = (std::mem::take(name), std::mem::take(id));
        let error = format!("item {index}: the call was cut off: field \"stop_reason\" is {reason}");
        *last = Err(BadCall { name, id, error });
    }
    calls
}

/// Why the provider stopped before the model was done. Its last block is not complete then, although it parses.
fn cut_off<'a>(object: &Object<'a>) -> Option<&'a str> {
    let reason = object.stop_reason?.get();
    ["\"max_tokens\"", "\"model_context_window_exceeded\""].contains(&reason).then_some(reason)
}
