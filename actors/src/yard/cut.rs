//! The rows of all tools as they were at one moment.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use toolyard_contract::{RowKeys, RowValue};

use super::state::StateError;
use crate::rows::{RowTable, SharedShard, hold_all};

/// How much text of states is written while their shard waits; a larger state is a turn of its own.
const BYTES: usize = 64 * 1024;
/// How many rows are written while their shard waits.
const ROWS: usize = 256;

/// Rows as they were at one moment, all of them between the same two commits. Reading them takes as long as it
/// takes: calls go on, and what they change is kept as it was until it has been read.
pub struct StateCut {
    id: u64,
    tools: Vec<String>,
    types: BTreeMap<String, Arc<str>>,
    parts: VecDeque<Part>,
    read: VecDeque<RowValue>,
}

/// What is left to be read of a shard.
struct Part {
    tool: usize,
    shard: SharedShard,
    keys: RowKeys,
}

impl StateCut {
    /// Cuts through the rows of these tools.
    pub(crate) fn take(
        tools: impl IntoIterator<Item = (String, RowTable)>,
        types: BTreeMap<String, Arc<str>>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (tools, tables): (Vec<_>, Vec<_>) = tools.into_iter().unzip();
        let shards: Vec<SharedShard> = tables.iter().flat_map(RowTable::shards).cloned().collect();
        let keys: Vec<RowKeys> =
            hold_all(&shards, |shards| shards.map(|shard| shard.begin_cut(id)).collect());
        let owners =
            tables.iter().enumerate().flat_map(|(tool, table)| table.shards().iter().map(move |_| tool));
        let parts = owners.zip(shards).zip(keys).map(|((tool, shard), mut keys)| {
            keys.sort();
            Part { tool, shard, keys }
        });
        let parts = parts.collect();
        Self { id, tools, types, parts, read: VecDeque::new() }
    }

    /// The tools whose rows these are, also those that have none.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// What the types of their states are called, of the tools that say so.
    pub fn types(&self) -> &BTreeMap<String, Arc<str>> {
        &self.types
    }

    /// Reads some more rows; false when there is none.
    fn read_on(&mut self) -> Result<bool, StateError> {
        while let Some(part) = self.parts.front_mut() {
            let read = part.shard.lock().read_cut(self.id, &mut part.keys, ROWS, BYTES);
            let bad = |error: serde_json::Error| StateError::BadRow {
                tool: self.tools[part.tool].clone(),
                reason: error.to_string(),
            };
            self.read = read.map_err(bad)?.into();
            if !self.read.is_empty() {
                return Ok(true);
            }
            if let Some(done) = self.parts.pop_front() {
                done.shard.lock().end_cut(self.id);
            }
        }
        Ok(false)
    }
}

/// Rows with the names of their tools, tool by tool; an error is the last item.
impl Iterator for StateCut {
    type Item = Result<(String, RowValue), StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.is_empty() {
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.end();
                    return Some(Err(error));
                }
            }
        }
        let tool = self.tools[self.parts.front()?.tool].clone();
        self.read.pop_front().map(|row| Ok((tool, row)))
    }
}

impl StateCut {
    fn end(&mut self) {
        for part in self.parts.drain(..) {
            part.shard.lock().end_cut(self.id);
        }
    }
}

impl Drop for StateCut {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for StateCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateCut").field("tools", &self.tools).finish_non_exhaustive()
    }
}
