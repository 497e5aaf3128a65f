//! The native form: `{"name", "arguments", "id"}` in, one document with all results out.

use std::time::Duration;

use serde::Serialize;
use toolyard_contract::{Batch, CallId, Request, ToolResult, result::micros};

use super::item::{Item, Parts};

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
    /// From taking the list to its last result, in microseconds.
    pub elapsed_us: u64,
}

impl<'a> Answer<'a> {
    /// Puts the answer to a document together.
    pub fn new(id: &'a CallId, results: &'a [ToolResult], batches: &'a [Batch], elapsed: Duration) -> Self {
        Self { id, results, batches, requests: Vec::new(), elapsed_us: micros(elapsed) }
    }

    /// Adds what must be answered.
    #[must_use]
    pub fn requests(mut self, requests: Vec<Request<'a>>) -> Self {
        self.requests = requests;
        self
    }
}
