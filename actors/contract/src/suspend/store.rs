//! Parked calls by their requests, for hosts that drive the loop themselves and get the model's list
//! of calls again when they go on.

use std::collections::BTreeMap;

use super::SuspendedCall;
use crate::{Arguments, CallId, ToolCall};

/// Suspended calls, each under the id of its request.
#[derive(Clone, Debug, Default)]
pub struct SuspensionStore(BTreeMap<String, SuspendedCall>);

/// What a request comes down to in a list of calls.
#[derive(Clone, Debug)]
pub enum Restored {
    /// Nothing is stored for the request: the list runs as it is.
    NothingStored,
    /// The call at this position of the list.
    At(usize),
    /// No call of the list, but this one, as it was stored.
    Stored(ToolCall),
}

/// A call has the stored id, but asks for something else: it must be asked about again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call at position {position} has the id of the suspended call, but asks for something else")]
pub struct ChangedCall {
    /// Its position.
    pub position: usize,
}

impl SuspensionStore {
    /// Starts empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a call under its request; one that was there is replaced, others stay.
    pub fn put(&mut self, call: SuspendedCall) {
        self.0.insert(call.request_id.clone(), call);
    }

    /// The call that waits for a request.
    pub fn get(&self, request: &str) -> Option<&SuspendedCall> {
        self.0.get(request)
    }

    /// Takes a call out.
    pub fn remove(&mut self, request: &str) -> Option<SuspendedCall> {
        self.0.remove(request)
    }

    /// The calls, in the order of their requests' ids.
    pub fn iter(&self) -> impl Iterator<Item = &SuspendedCall> {
        self.0.values()
    }

    /// Parks the given call, else the only one of a list; tells whether a call was parked.
    pub fn park(&mut self, request: &str, calls: &[ToolCall], explicit: Option<&ToolCall>) -> bool {
        let ((Some(call), _) | (None, [call])) = (explicit, calls) else { return false };
        self.put(SuspendedCall::new(call, request));
        true
    }

    /// Finds the call that a request is about: the one with the stored id, tool and arguments, else
    /// one with the stored tool and arguments and no id that says otherwise.
    ///
    /// # Errors
    /// When a call has the stored id but another tool or other arguments.
    pub fn restore(&self, request: &str, calls: &[ToolCall]) -> Result<Restored, ChangedCall> {
        let Some(stored) = self.get(request) else { return Ok(Restored::NothingStored) };
        let id = |call: &ToolCall| call.id.as_text().unwrap_or_default().trim().to_owned();
        let has_id = |call: &ToolCall| !stored.tool_call_id.is_empty() && id(call) == stored.tool_call_id;
        if let Some(at) = calls.iter().position(|call| has_id(call) && stored.asks_the_same_as(call)) {
            return Ok(Restored::At(at));
        }
        if let Some(position) = calls.iter().position(has_id) {
            return Err(ChangedCall { position });
        }
        let may_be = |call: &ToolCall| stored.tool_call_id.is_empty() || id(call).is_empty();
        if let Some(at) = calls.iter().position(|call| may_be(call) && stored.asks_the_same_as(call)) {
            return Ok(Restored::At(at));
        }
        let arguments = Arguments::Json(stored.arguments_text().to_owned());
        let mut call = ToolCall::new(stored.tool.clone(), arguments);
        if !stored.tool_call_id.is_empty() {
            call.id = CallId::from(stored.tool_call_id.as_str());
        }
        Ok(Restored::Stored(call))
    }
}
