//! OpenAI's chat stream, and those of the servers that speak its form.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Piece, end, id, place, text, word};
use crate::formats::deltas::{Accumulator, Delta};

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default, deserialize_with = "place")]
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<ChatDelta<'a>>,
    #[serde(default, deserialize_with = "word")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatCall<'a>>>,
    /// The one call of the form before `tool_calls`.
    #[serde(borrow)]
    function_call: Option<Piece<'a>>,
}

#[derive(Deserialize)]
struct ChatCall<'a> {
    #[serde(default, deserialize_with = "place")]
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Piece<'a>>,
}

pub(super) fn read(calls: &mut Accumulator, choices: Vec<Choice<'_>>) {
    let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) else { return };
    if let Some(delta) = choice.delta {
        for call in delta.tool_calls.unwrap_or_default() {
            let (name, arguments) =
                call.function.map_or((None, None), |function| (function.name, function.arguments));
            calls.add(Delta { index: call.index, id: id(call.id), name, arguments: text(arguments) });
        }
        if let Some(Piece { name, arguments, .. }) = delta.function_call {
            calls.add(Delta { index: Some(0), name, arguments: text(arguments), ..Delta::default() });
        }
    }
    end(calls, choice.finish_reason, &["tool_calls", "stop", "function_call"]);
}
