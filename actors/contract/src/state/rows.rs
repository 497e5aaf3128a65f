//! The rows of one tool whose type of state is known.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::value::RawValue;

use super::{Copied, RowKey, RowReplaced, RowValue, Shard, ShardWork, StateWork, StatefulTool};
use crate::Invocation;

/// A shard of the tool `T`. A row costs its key, its state and a few bytes; nothing runs for it.
pub(super) struct Rows<T: StatefulTool> {
    tool: Arc<T>,
    by_key: HashMap<RowKey, Row<T::State>, rustc_hash::FxBuildHasher>,
}

/// Stamps rows that were made or replaced, so that a late commit finds out. One counter for all
/// shards, because a shard may take another one's place.
static STAMPS: AtomicU32 = AtomicU32::new(0);

fn next_stamp() -> u32 {
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

struct Row<S> {
    state: S,
    stamp: u32,
}

impl<T: StatefulTool> Rows<T> {
    pub(super) fn boxed(tool: Arc<T>) -> Box<dyn Shard> {
        Box::new(Self { tool, by_key: HashMap::default() })
    }

    fn row(&mut self, key: &RowKey) -> &mut Row<T::State> {
        let Self { tool, by_key } = self;
        let first = || Row { state: tool.initial(key.agent()), stamp: next_stamp() };
        by_key.entry(key.clone()).or_insert_with(first)
    }

    fn read(row: &RowValue) -> serde_json::Result<T::State> {
        serde_json::from_str(row.state.get())
    }
}

impl<T: StatefulTool> Shard for Rows<T> {
    fn begin(&mut self, key: &RowKey, invocation: Invocation) -> ShardWork {
        let tool = self.tool.clone();
        let row = self.row(key);
        if let Some(change) = tool.in_place() {
            return ShardWork::Done(change(&tool, invocation, &mut row.state));
        }
        let stamp = row.stamp;
        match tool.work(invocation, row.state.clone()) {
            StateWork::Done(returned, state) => {
                if returned.is_ok() {
                    row.state = state;
                }
                ShardWork::Done(returned)
            }
            StateWork::Waits(waits) => ShardWork::Waits(Box::pin(async move {
                let (returned, state) = waits.await;
                (returned, Copied { state: Box::new(state), stamp })
            })),
            StateWork::Blocks(blocks) => ShardWork::Blocks(Box::new(move || {
                let (returned, state) = blocks();
                (returned, Copied { state: Box::new(state), stamp })
            })),
        }
    }

    fn commit(&mut self, key: &RowKey, copied: Copied) -> Result<(), RowReplaced> {
        let row = self.by_key.get_mut(key).filter(|row| row.stamp == copied.stamp).ok_or(RowReplaced)?;
        row.state = *copied.state.downcast().map_err(|_| RowReplaced)?;
        Ok(())
    }

    fn get(&self, key: &RowKey) -> serde_json::Result<Option<Box<RawValue>>> {
        self.by_key.get(key).map(|row| serde_json::value::to_raw_value(&row.state)).transpose()
    }

    fn contains(&self, key: &RowKey) -> bool {
        self.by_key.contains_key(key)
    }

    fn put(&mut self, value: &RowValue) -> serde_json::Result<()> {
        let state = Self::read(value)?;
        self.by_key.insert(value.key(), Row { state, stamp: next_stamp() });
        Ok(())
    }

    fn remove(&mut self, key: &RowKey) -> bool {
        self.by_key.remove(key).is_some()
    }

    fn clear(&mut self) {
        self.by_key = HashMap::default();
    }

    fn len(&self) -> usize {
        self.by_key.len()
    }

    fn for_each(&self, sink: &mut dyn FnMut(RowValue) -> serde_json::Result<()>) -> serde_json::Result<()> {
        let mut keys: Vec<&RowKey> = self.by_key.keys().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(state) = self.get(key)? {
                let agent = match key {
                    RowKey::Engine => None,
                    RowKey::Agent(agent) => Some(agent.clone()),
                };
                sink(RowValue { agent, state })?;
            }
        }
        Ok(())
    }
}
