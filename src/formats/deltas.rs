//! Calls that arrive in pieces, as providers stream them.

use toolyard_contract::{BadCall, CallId, ToolCall};

use self::partial::Partial;
use super::DocumentError;

mod chat;
mod events;
mod partial;

#[cfg(test)]
mod odd_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

/// Puts calls together from the events of a stream.
///
/// Pieces find their call by index, else by id, else they continue the last call; providers differ in what they
/// send. A call that the stream did not finish, or whose arguments got lost, is never run: it becomes a [`BadCall`].
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
    /// The call's id; usually on its first piece alone. Some servers make a new one for each piece.
    pub id: CallId,
    /// The tool's name; usually on the call's first piece alone. Some servers repeat it, or send it in pieces.
    pub name: Option<String>,
    /// What follows of the arguments' text.
    pub arguments: String,
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
    pub fn add(&mut self, delta: Delta) {
        chat::add(&mut self.calls, delta);
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
        self.calls.retain(|call| !call.is_nothing());
        if self.calls.iter().all(|call| call.index.is_some()) {
            self.calls.sort_by_key(|call| call.index);
        }
        // Arguments that name no call are missing somewhere else.
        let is_torn = self.calls.iter().any(Partial::is_stray);
        if !self.calls.iter().any(Partial::has_arguments) {
            self.calls.iter_mut().for_each(|call| call.doubt = None); // none can be missing
        }
        let end = self.end;
        let finish = |(position, call): (usize, Partial)| call.finish(position, &end, is_torn);
        self.calls.into_iter().enumerate().map(finish).collect()
    }
}
