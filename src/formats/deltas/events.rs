//! The events of each provider's stream.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_contract::CallId;

use super::{Accumulator, Delta};
use crate::formats::document::{DocumentError, parse, utf8};

/// The fields that tell providers apart, and those of the providers that tag their events.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    index: Option<u64>,
    output_index: Option<u64>,
    #[serde(borrow)]
    item: Option<Piece<'a>>,
    #[serde(borrow)]
    content_block: Option<Piece<'a>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<ChatDelta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatCall<'a>>>,
}

#[derive(Deserialize)]
struct ChatCall<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Piece<'a>>,
}

/// A call, or what is there of it, in the names of any provider.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(rename = "finishReason")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "functionCall")]
    function_call: Option<Piece<'a>>,
}

/// A `delta` of Anthropic's stream.
#[derive(Deserialize)]
struct BlockDelta {
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

pub(super) fn read(calls: &mut Accumulator, data: &[u8]) -> Result<(), DocumentError> {
    let text = utf8(data)?;
    if text.trim() == "[DONE]" {
        return Ok(());
    }
    let event: Event<'_> = parse(text)?;
    match event.kind.as_str() {
        "content_block_start" | "content_block_delta" | "message_delta" => anthropic(calls, event),
        kind if kind.starts_with("response.") => {
            responses(calls, event);
            Ok(())
        }
        _ => {
            chat(calls, event.choices.unwrap_or_default());
            gemini(calls, event.candidates.unwrap_or_default());
            Ok(())
        }
    }
}

fn chat(calls: &mut Accumulator, choices: Vec<Choice<'_>>) {
    let Some(choice) = choices.into_iter().find(|choice| choice.index == 0) else { return };
    for call in choice.delta.and_then(|delta| delta.tool_calls).unwrap_or_default() {
        let (name, arguments) =
            call.function.map_or((None, None), |function| (function.name, function.arguments));
        calls.add(Delta { index: call.index, id: id(call.id), name, arguments: text(arguments) });
    }
    end(calls, choice.finish_reason, &["tool_calls", "stop", "function_call"]);
}

fn responses(calls: &mut Accumulator, event: Event<'_>) {
    let index = event.output_index;
    match event.kind.as_str() {
        "response.output_item.added" => {
            if let Some(item) = event.item.filter(|item| item.kind == "function_call") {
                let id = id(item.call_id.or(item.id));
                calls.add(Delta { index, id, name: item.name, arguments: text(item.arguments) });
            }
        }
        "response.function_call_arguments.delta" => {
            if let (Some(call), Some(delta)) = (calls.at(index), event.delta) {
                call.arguments.push_str(&text(Some(delta)));
            }
        }
        // The whole item once more: what it says counts, also where a piece was lost.
        "response.output_item.done" => {
            if let (Some(call), Some(item)) = (calls.at(index), event.item)
                && item.arguments.is_some()
            {
                call.arguments = text(item.arguments);
            }
        }
        "response.completed" => calls.complete(),
        "response.incomplete" => {
            let details = event.response.and_then(|response| response.incomplete_details);
            calls.cut_off(
                details.and_then(|details| details.reason).unwrap_or_else(|| "incomplete".to_owned()),
            );
        }
        _ => {}
    }
}

fn anthropic(calls: &mut Accumulator, event: Event<'_>) -> Result<(), DocumentError> {
    if let Some(block) = event.content_block.filter(|block| block.kind == "tool_use") {
        let input = block.input.map(RawValue::get).filter(|input| *input != "{}").unwrap_or_default();
        calls.add(Delta {
            index: event.index,
            id: id(block.id),
            name: block.name,
            arguments: input.to_owned(),
        });
    }
    let Some(delta) = event.delta else { return Ok(()) };
    let delta: BlockDelta = parse(delta.get())?;
    // Other blocks stream JSON too, of calls that the provider runs itself.
    if let (Some(piece), Some(call)) = (delta.partial_json, calls.at(event.index)) {
        call.arguments.push_str(&piece);
    }
    end(calls, delta.stop_reason, &["tool_use", "end_turn", "stop_sequence", "pause_turn"]);
    Ok(())
}

/// Gemini streams whole calls.
fn gemini(calls: &mut Accumulator, candidates: Vec<Candidate<'_>>) {
    let Some(candidate) = candidates.into_iter().next() else { return };
    for call in
        candidate.content.into_iter().flat_map(|content| content.parts).filter_map(|part| part.function_call)
    {
        let arguments = call.args.map_or("{}", RawValue::get).to_owned();
        calls.begin(Delta { index: None, id: id(call.id), name: call.name, arguments });
    }
    end(calls, candidate.finish_reason, &["STOP"]);
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
