//! Gemini's stream, which brings whole calls.

use serde::Deserialize;

use super::{Piece, end, id, is_there, text, word};
use crate::formats::deltas::{Accumulator, partial::Partial};

#[derive(Deserialize)]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(default, rename = "finishReason", alias = "finish_reason", deserialize_with = "word")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "functionCall", alias = "function_call")]
    function_call: Option<Piece<'a>>,
}

pub(super) fn read(calls: &mut Accumulator, candidates: Vec<Candidate<'_>>) {
    let Some(candidate) = candidates.into_iter().next() else { return };
    let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
    parts.into_iter().filter_map(|part| part.function_call).for_each(|call| take(calls, call));
    end(calls, candidate.finish_reason, &["STOP"]);
}

fn take(calls: &mut Accumulator, call: Piece<'_>) {
    let is_in_pieces =
        is_there(call.partial_args) || call.will_continue.is_some_and(|raw| raw.get() == "true");
    let follows = call.name.as_deref().unwrap_or_default().is_empty();
    if follows && calls.calls.last().is_some_and(|last| last.bad.is_some()) {
        return; // more of the call that is refused already
    }
    let bad = is_in_pieces.then(|| {
        "its arguments came in pieces (\"partialArgs\"), which are not put together here; ask for whole calls"
            .to_owned()
    });
    let (id, name, first) = (id(call.id), call.name.unwrap_or_default(), text(call.args));
    calls.calls.push(Partial { id, name, first, bad, ..Partial::default() });
}
