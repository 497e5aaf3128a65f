//! Anthropic's stream: blocks that begin, and pieces of their input.

use serde::Deserialize;

use super::{Event, Piece, end, id, is_there, text, word};
use crate::formats::{
    deltas::{
        Accumulator,
        partial::{Partial, is_blank},
    },
    error::DocumentError,
    object::parse,
};

/// A `delta` of a block or a message.
#[derive(Deserialize)]
struct BlockDelta {
    #[serde(default, deserialize_with = "word")]
    partial_json: Option<String>,
    #[serde(default, deserialize_with = "word")]
    stop_reason: Option<String>,
}

pub(super) fn read(calls: &mut Accumulator, event: Event<'_>) -> Result<(), DocumentError> {
    if let Some(block) = event.content_block {
        begin(calls, event.index, block);
    }
    let Some(delta) = event.delta.filter(|delta| delta.get() != "null") else { return Ok(()) };
    let delta: BlockDelta = parse(delta.get())?;
    if let Some(piece) = delta.partial_json {
        let known = calls.calls.iter().rposition(|call| call.index == event.index);
        let known = known.unwrap_or_else(|| {
            // Its block may begin later, or be one that the provider runs itself.
            calls.calls.push(Partial { index: event.index, ..Partial::default() });
            calls.calls.len() - 1
        });
        calls.calls[known].pieces.push_str(&piece);
    }
    end(calls, delta.stop_reason, &["tool_use", "end_turn", "stop_sequence", "pause_turn"]);
    Ok(())
}

fn begin(calls: &mut Accumulator, index: Option<u64>, block: Piece<'_>) {
    let is_foreign = block.kind.as_deref() != Some("tool_use");
    let id = id(block.id);
    let is_it = |call: &Partial| {
        let is_same_block = !is_blank(&id) && call.id == id;
        call.index == index && !call.is_foreign && (call.name.is_empty() || is_same_block)
    };
    let known = calls.calls.iter().rposition(is_it).unwrap_or_else(|| {
        calls.calls.push(Partial { index, ..Partial::default() });
        calls.calls.len() - 1
    });
    let call = &mut calls.calls[known];
    call.is_foreign = is_foreign;
    call.id = id;
    call.name = block.name.unwrap_or_default();
    // An empty input only stands for what follows.
    if is_there(block.input) && block.input.is_some_and(|input| input.get() != "{}") {
        call.first = text(block.input);
    }
}
