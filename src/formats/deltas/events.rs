//! The events of each provider's stream.
//!
//! Fields are read loosely: one of a kind that nobody expects is taken as missing, so that no call is run
//! with half of what belongs to it, and none is lost over a field that does not matter.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolyard_contract::CallId;

use super::Accumulator;
use crate::formats::{
    error::DocumentError,
    object::{parse, utf8},
};

mod anthropic;
mod chat;
mod gemini;
mod responses;

/// The fields that tell providers apart, and those of the providers that tag their events.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "type", deserialize_with = "word")]
    kind: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<chat::Choice<'a>>>,
    #[serde(borrow)]
    candidates: Option<Vec<gemini::Candidate<'a>>>,
    #[serde(default, deserialize_with = "place")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "place")]
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<Piece<'a>>,
    #[serde(borrow)]
    content_block: Option<Piece<'a>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "word")]
    name: Option<String>,
    #[serde(borrow)]
    response: Option<responses::Response<'a>>,
}

/// A call, or what is there of it, in the names of any provider.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(default, rename = "type", deserialize_with = "word")]
    kind: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "word")]
    name: Option<String>,
    #[serde(default, deserialize_with = "word")]
    status: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow, rename = "partialArgs", alias = "partial_args")]
    partial_args: Option<&'a RawValue>,
    #[serde(borrow, rename = "willContinue", alias = "will_continue")]
    will_continue: Option<&'a RawValue>,
}

pub(super) fn read(calls: &mut Accumulator, data: &[u8]) -> Result<(), DocumentError> {
    let text = utf8(data)?;
    if text.trim() == "[DONE]" {
        return Ok(());
    }
    let event: Event<'_> = parse(text)?;
    match event.kind.as_deref().unwrap_or_default() {
        "content_block_start" | "content_block_delta" | "message_delta" => {
            return anthropic::read(calls, event);
        }
        kind if kind.starts_with("response.") => responses::read(calls, event),
        _ => {
            chat::read(calls, event.choices.unwrap_or_default());
            gemini::read(calls, event.candidates.unwrap_or_default());
        }
    }
    Ok(())
}

fn end(calls: &mut Accumulator, reason: Option<String>, complete: &[&str]) {
    match reason {
        None => {}
        Some(reason) if complete.contains(&reason.as_str()) => calls.complete(),
        Some(reason) => calls.cut_off(reason),
    }
}

fn id(raw: Option<&RawValue>) -> CallId {
    raw.map_or(CallId::Absent, CallId::from_raw)
}

/// A piece of text; a provider that sends an object at once has sent its text.
fn text(raw: Option<&RawValue>) -> String {
    let Some(raw) = raw else { return String::new() };
    match raw.get() {
        "null" => String::new(),
        json => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
    }
}

fn is_there(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() != "null")
}

/// Reads text; anything else is nothing.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads a place in a list, also one that is text (`"0"`); anything else (`-1`) says nothing.
fn place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    let digits = raw.get().trim_matches('"').trim();
    Ok(digits.strip_suffix(".0").unwrap_or(digits).parse().ok())
}
