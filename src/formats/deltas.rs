//! Calls that arrive in pieces, as providers stream them.

use serde_json::value::RawValue;
use toolyard_contract::{Arguments, BadCall, CallId, ToolCall};

use super::DocumentError;

mod events;

#[cfg(test)]
mod tests;

/// Puts calls together from the events of a stream.
///
/// Pieces find their call by index, else by id, else they continue the last call; providers differ in what they
/// send. A call that the stream did not finish is never run: it becomes a [`BadCall`].
///
/// ```
/// use toolyard::formats::Accumulator;
///
/// let mut calls = Accumulator::default();
/// for event in [
///     r#"{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": ""}}]}}]}"#,
///     r#"{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\": 1}"}}]}}]}"#,
///     r#"{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}"#,
/// ] {
///     calls.push(event.as_bytes())?;
/// }
/// let calls = calls.finish();
/// assert_eq!(calls[0].as_ref().unwrap().name, "add");
/// # Ok::<(), toolyard::formats::DocumentError>(())
/// ```
#[derive(Debug, Default)]
pub struct Accumulator {
    calls: Vec<Partial>,
    end: End,
}

/// One piece of a call, whatever provider it comes from.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// The call's place in the message. Some providers leave it out, or give every call the same.
    pub index: Option<u64>,
    /// The call's id; usually on its first piece alone.
    pub id: CallId,
    /// The tool's name; usually on the call's first piece alone.
    pub name: Option<String>,
    /// What follows of the arguments' text.
    pub arguments: String,
}

#[derive(Debug)]
struct Partial {
    index: Option<u64>,
    id: CallId,
    name: String,
    arguments: String,
}

#[derive(Debug, Default)]
enum End {
    /// No event said that the message is over.
    #[default]
    Missing,
    Complete,
    /// The provider stopped before the model was done, for this reason.
    Cut(String),
}

impl Accumulator {
    /// Takes the data of one server-sent event of any provider (of a chat stream its first choice); events that
    /// have nothing to do with calls change nothing.
    ///
    /// # Errors
    /// When the data is not JSON, or not of the form that its provider documents.
    pub fn push(&mut self, data: &[u8]) -> Result<(), DocumentError> {
        events::read(self, data)
    }

    /// Takes one piece.
    pub fn add(&mut self, mut delta: Delta) {
        delta.name = delta.name.filter(|name| !name.is_empty());
        if let Some(call) = self.call_of(&delta) {
            let call = &mut self.calls[call];
            if is_blank(&call.id) {
                call.id = delta.id;
            }
            if let (true, Some(name)) = (call.name.is_empty(), delta.name) {
                call.name = name;
            }
            call.arguments.push_str(&delta.arguments);
            return;
        }
        self.begin(delta);
    }

    /// Takes the first piece of a new call.
    fn begin(&mut self, delta: Delta) {
        let Delta { index, id, name, arguments } = delta;
        self.calls.push(Partial { index, id, name: name.unwrap_or_default(), arguments });
    }

    /// Notes that the model said all it wanted to.
    pub fn complete(&mut self) {
        self.end = End::Complete;
    }

    /// Notes that the provider stopped early, for this reason (`length`, …).
    pub fn cut_off(&mut self, reason: impl Into<String>) {
        self.end = End::Cut(reason.into());
    }

    /// Gives the calls in the model's order, those that were not finished as bad calls.
    pub fn finish(mut self) -> Vec<Result<ToolCall, BadCall>> {
        if self.calls.iter().all(|call| call.index.is_some()) {
            self.calls.sort_by_key(|call| call.index);
        }
        let end = self.end;
        self.calls.into_iter().enumerate().map(|(position, call)| call.finish(position, &end)).collect()
    }

    /// The call that a piece belongs to; `None` when it begins a new one.
    fn call_of(&self, delta: &Delta) -> Option<usize> {
        let last_with = |belongs: &dyn Fn(&Partial) -> bool| self.calls.iter().rposition(belongs);
        let found = match (delta.index, &delta.id) {
            (Some(index), _) => last_with(&|call| call.index == Some(index)),
            (None, id) if !is_blank(id) => last_with(&|call| call.id == *id),
            (None, _) => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[found];
        let other_id = !is_blank(&delta.id) && !is_blank(&call.id) && delta.id != call.id;
        let same_id = !is_blank(&delta.id) && delta.id == call.id;
        // Without an id a name begins a call, unless it only repeats that of a call under way.
        let begins = delta.name.as_ref().is_some_and(|name| *name != call.name || is_whole(&call.arguments));
        let named_already = !call.name.is_empty();
        if other_id || (begins && named_already && !same_id) { None } else { Some(found) }
    }

    /// The last call at this place, when there is one.
    fn at(&mut self, index: Option<u64>) -> Option<&mut Partial> {
        self.calls.iter_mut().rev().find(|call| call.index == index)
    }
}

impl Partial {
    fn finish(self, position: usize, end: &End) -> Result<ToolCall, BadCall> {
        let reason = match end {
            _ if self.name.trim().is_empty() => Some("field \"name\" is missing".to_owned()),
            End::Complete => None,
            _ if is_whole(&self.arguments) => None,
            End::Missing => Some("the stream ended before the call was complete".to_owned()),
            End::Cut(reason) => {
                Some(format!("the call was cut off ({reason}); its arguments are not complete"))
            }
        };
        match reason {
            Some(reason) => Err(BadCall {
                name: self.name.into(),
                id: self.id,
                error: format!("item {position}: {reason}"),
            }),
            None => Ok(ToolCall {
                name: self.name.into(),
                arguments: Arguments::from_text(self.arguments),
                id: self.id,
            }),
        }
    }
}

/// Tells whether arguments are one whole JSON object: nothing can follow it.
fn is_whole(arguments: &str) -> bool {
    arguments.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok()
}

fn is_blank(id: &CallId) -> bool {
    match id {
        CallId::Absent => true,
        CallId::Text(text) => text.trim().is_empty(),
        CallId::Other(_) => false,
    }
}
