//! The rows of one tool whose type of state is known.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use compact_str::CompactString;
use hashbrown::{HashMap, hash_map::EntryRef};
use serde_json::value::RawValue;

use super::{Copied, RowKey, RowReplaced, RowValue, Shard, ShardWork, StateWork, StatefulTool, read::read};
use crate::Invocation;

/// A shard of the tool `T`. A row costs its key, its state and a few bytes; nothing runs for it.
pub(super) struct Rows<T: StatefulTool> {
    tool: Arc<T>,
    engine: Option<Row<T::State>>,
    /// By the agent's id, which mostly lies in the table itself: among a million rows each place that is looked at
    /// is a miss of the cache.
    agents: HashMap<CompactString, Row<T::State>, rustc_hash::FxBuildHasher>,
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
        Box::new(Self { tool, engine: None, agents: HashMap::default() })
    }

    fn row(&mut self, key: &RowKey) -> &mut Row<T::State> {
        let Self { tool, engine, agents } = self;
        let first = || Row { state: tool.initial(key.agent()), stamp: next_stamp() };
        match key.agent() {
            None => engine.get_or_insert_with(first),
            Some(agent) => match agents.entry_ref(agent) {
                EntryRef::Occupied(known) => known.into_mut(),
                EntryRef::Vacant(new) => new.insert_with_key(agent.into(), first()),
            },
        }
    }

    fn known(&self, key: &RowKey) -> Option<&Row<T::State>> {
        key.agent().map_or(self.engine.as_ref(), |agent| self.agents.get(agent))
    }

    fn known_mut(&mut self, key: &RowKey) -> Option<&mut Row<T::State>> {
        match key.agent() {
            None => self.engine.as_mut(),
            Some(agent) => self.agents.get_mut(agent),
        }
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
        let row = self.known_mut(key).filter(|row| row.stamp == copied.stamp).ok_or(RowReplaced)?;
        row.state = *copied.state.downcast().map_err(|_| RowReplaced)?;
        Ok(())
    }

    fn get(&self, key: &RowKey) -> serde_json::Result<Option<Box<RawValue>>> {
        self.known(key).map(|row| serde_json::value::to_raw_value(&row.state)).transpose()
    }

    fn contains(&self, key: &RowKey) -> bool {
        self.known(key).is_some()
    }

    fn put(&mut self, value: &RowValue) -> serde_json::Result<()> {
        let row = Row { state: read(value.state.get())?, stamp: next_stamp() };
        match &value.agent {
            None => self.engine = Some(row),
            Some(agent) => drop(self.agents.insert(CompactString::from(&**agent), row)),
        }
        Ok(())
    }

    fn remove(&mut self, key: &RowKey) -> bool {
        match key.agent() {
            None => self.engine.take().is_some(),
            Some(agent) => self.agents.remove(agent).is_some(),
        }
    }

    fn clear(&mut self) {
        (self.engine, self.agents) = (None, HashMap::default());
    }

    fn len(&self) -> usize {
        usize::from(self.engine.is_some()) + self.agents.len()
    }

    fn for_each(&self, sink: &mut dyn FnMut(RowValue) -> serde_json::Result<()>) -> serde_json::Result<()> {
        let mut write = |agent: Option<&str>, row: &Row<T::State>| {
            let state = serde_json::value::to_raw_value(&row.state)?;
            sink(RowValue { agent: agent.map(Arc::from), state })
        };
        if let Some(row) = &self.engine {
            write(None, row)?;
        }
        let mut agents: Vec<_> = self.agents.iter().collect();
        agents.sort_unstable_by_key(|(agent, _)| *agent);
        for (agent, row) in agents {
            write(Some(agent), row)?;
        }
        Ok(())
    }
}
