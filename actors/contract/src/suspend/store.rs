//! Parked calls by their requests, for hosts that drive the loop themselves and get the model's list
//! of calls again when they go on.

use std::collections::BTreeMap;

use super::SuspendedCall;
use crate::{ToolCall, name};

/// Suspended calls, each under the id of its request. Space around such an id does not count.
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
    pub fn put(&mut self, mut call: SuspendedCall) {
        if call.spelling.is_empty() {
            call.spelling.clone_from(&call.tool);
        }
        call.tool = name::key(&call.tool).into_owned();
        for id in [&mut call.request_id, &mut call.tool_call_id] {
            *id = id.trim().to_owned();
        }
        self.0.insert(call.request_id.clone(), call);
    }

    /// The call that waits for a request.
    pub fn get(&self, request: &str) -> Option<&SuspendedCall> {
        self.0.get(request.trim())
    }

    /// Takes a call out.
    pub fn remove(&mut self, request: &str) -> Option<SuspendedCall> {
        self.0.remove(request.trim())
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

    /// Finds the call that a request is about: the one with the stored id, which must ask for the same;
    /// else the first that asks for the same, whatever its id: models give a call that they repeat a
    /// new one. Of two tools whose names differ in case alone, the one that is spelled alike is meant.
    ///
    /// # Errors
    /// When a call has the stored id but another tool or other arguments.
    pub fn restore(&self, request: &str, calls: &[ToolCall]) -> Result<Restored, ChangedCall> {
        let Some(stored) = self.get(request) else { return Ok(Restored::NothingStored) };
        let first = |has: &dyn Fn(&ToolCall) -> bool| {
            let asks_the_same = |call: &&ToolCall| stored.asks_the_same_as(call) && has(call);
            let is_spelled_alike = |call: &ToolCall| call.name.trim() == stored.spelling.trim();
            let alike = calls.iter().position(|call| asks_the_same(&call) && is_spelled_alike(call));
            alike.or_else(|| calls.iter().position(|call| asks_the_same(&call)))
        };
        if let Some(at) = first(&|call| stored.has_id_of(call)) {
            return Ok(Restored::At(at));
        }
        if let Some(position) = calls.iter().position(|call| stored.has_id_of(call)) {
            return Err(ChangedCall { position });
        }
        Ok(first(&|_| true).map_or_else(|| Restored::Stored(stored.to_call()), Restored::At))
    }
}
