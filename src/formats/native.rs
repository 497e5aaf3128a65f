//! The native form: `{"name", "arguments", "id"}` in, one document with all results out.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use toolyard_contract::{Batch, CallId, NextStep, Request, ToolResult, result::micros};

use super::node::{Item, Parts};

pub(super) fn parts<'a>(item: &Item<'a>) -> Parts<'a> {
    Parts { name: item.name.or(item.tool), arguments: item.arguments, id: item.id }
}

/// The answer to one document. Keys are written in this order.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    /// The document's id, as it came.
    pub id: &'a CallId,
    /// One result per call, in call order.
    pub results: &'a [ToolResult],
    /// How the calls that were planned were grouped.
    pub batches: &'a [Batch],
    /// What must be answered before the rest can go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request<'a>>,
    /// Set where a call says that the agent's loop ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<Complete>,
    /// From taking the list to its last result, in microseconds.
    pub elapsed_us: u64,
}

/// The end of an agent's loop.
#[derive(Debug, Serialize)]
pub struct Complete {
    /// The position of the first call that says so.
    pub call: usize,
    /// What goes into the agent's state before.
    pub patch: Map<String, Value>,
    /// How the loop ended.
    pub status: String,
}

impl Complete {
    fn of(step: NextStep) -> Option<Self> {
        match step {
            NextStep::Complete { call, patch, status } => Some(Self { call, patch, status }),
            _ => None,
        }
    }
}

impl<'a> Answer<'a> {
    /// Puts the answer to a document together.
    pub fn new(id: &'a CallId, results: &'a [ToolResult], batches: &'a [Batch], elapsed: Duration) -> Self {
        let complete = Complete::of(NextStep::of(0, results));
        Self { id, results, batches, requests: Vec::new(), complete, elapsed_us: micros(elapsed) }
    }

    /// Adds what must be answered. While a call waits, no loop ends.
    #[must_use]
    pub fn requests(mut self, requests: Vec<Request<'a>>) -> Self {
        self.complete = self.complete.filter(|_| requests.is_empty());
        self.requests = requests;
        self
    }
}
