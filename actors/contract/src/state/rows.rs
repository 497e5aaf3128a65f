//! The rows of one tool whose type of state is known.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use compact_str::CompactString;
use futures::future::BoxFuture;
use hashbrown::{HashMap, hash_map::EntryRef};
use serde_json::value::RawValue;

use super::{
    Copied, RowKey, RowKeys, RowReplaced, RowValue, Shard, ShardWork, StateReturn, StateWork, StatefulTool,
    cut::Cut, read::read,
};
use crate::{Failure, Invocation, Outcome, ToolReturn};

/// A shard of the tool `T`. A row costs its key, its state and a few bytes; nothing runs for it.
pub(super) struct Rows<T: StatefulTool> {
    tool: Arc<T>,
    engine: Option<Row<T::State>>,
    /// By the agent's id, which mostly lies in the table itself: among a million rows each place that is looked at
    /// is a miss of the cache.
    agents: Agents<T::State>,
    /// Those who hand out rows as they were at an earlier moment. Mostly none.
    cuts: Vec<Cut<T::State>>,
}

type Agents<S> = HashMap<CompactString, Row<S>, rustc_hash::FxBuildHasher>;

/// A table with room for so many rows is not worth making smaller.
const SMALL: usize = 64;

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

/// The one place where what a call has made of its copy becomes the row: when the call has ended `ok`, and the row is
/// still the one that was copied.
fn commit<S>(row: Option<&mut Row<S>>, stamp: u32, ended: Outcome, state: S) -> Result<(), RowReplaced> {
    if ended.is_ok() {
        row.filter(|row| row.stamp == stamp).ok_or(RowReplaced)?.state = state;
    }
    Ok(())
}

/// How a call ended by its tool's own word.
fn ended(returned: &ToolReturn) -> Outcome {
    returned.as_ref().map_or_else(|failure| failure.outcome, |_| Outcome::Ok)
}

impl<T: StatefulTool> Rows<T> {
    pub(super) fn boxed(tool: Arc<T>) -> Box<dyn Shard> {
        Box::new(Self::new(tool))
    }

    pub(super) fn new(tool: Arc<T>) -> Self {
        Self { tool, engine: None, agents: HashMap::default(), cuts: Vec::new() }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.agents.capacity()
    }

    fn row(&mut self, key: &RowKey) -> &mut Row<T::State> {
        let Self { tool, engine, agents, .. } = self;
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

    /// Keeps a row that is about to change as it was, for whoever hands it out.
    fn keep(&mut self, key: &RowKey) {
        if self.cuts.is_empty() {
            return; // nearly always
        }
        let Self { engine, agents, cuts, .. } = self;
        let row = key.agent().map_or(engine.as_ref(), |agent| agents.get(agent));
        let Some(row) = row else { return };
        cuts.iter_mut().for_each(|cut| cut.keep(key.agent(), &row.state));
    }

    /// Keeps all rows as they were.
    fn keep_all(&mut self) {
        let Self { engine, agents, cuts, .. } = self;
        for cut in cuts {
            engine.iter().for_each(|row| cut.keep(None, &row.state));
            agents.iter().for_each(|(agent, row)| cut.keep(Some(agent), &row.state));
        }
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
        self.keep(key);
        let row = self.row(key);
        let (mut state, stamp) = (row.state.clone(), row.stamp);
        let work = match tool.in_place() {
            Some(change) => StateWork::Done(change(&tool, invocation, &mut state), state),
            None => tool.work(invocation, state),
        };
        match work {
            StateWork::Done(returned, state) => {
                // Nobody else had the row meanwhile.
                let _ = commit(Some(row), stamp, ended(&returned), state);
                ShardWork::Done(returned)
            }
            StateWork::Waits(waits) => ShardWork::Waits(Box::pin(async move {
                let (returned, state) = waits.await;
                let copied = Copied { state: Box::new(state), stamp, ended: ended(&returned) };
                (returned, copied)
            })),
            StateWork::Blocks(blocks) => ShardWork::Blocks(Box::new(move || {
                let (returned, state) = blocks();
                let copied = Copied { state: Box::new(state), stamp, ended: ended(&returned) };
                (returned, copied)
            })),
        }
    }

    fn begin_elsewhere(
        &mut self,
        key: &RowKey,
        start: &mut dyn FnMut(Box<RawValue>) -> BoxFuture<'static, StateReturn>,
    ) -> ShardWork {
        let name = self.tool.spec().name.clone();
        let Row { state, stamp } = self.row(key);
        let (before, stamp) = (state.clone(), *stamp);
        let copy = match serde_json::value::to_raw_value(state) {
            Ok(copy) => copy,
            Err(error) => {
                let failure = Failure::not_started(format!(
                    "tool {name:?}: its state cannot be written as JSON: {error}"
                ));
                return ShardWork::Done(Err(failure));
            }
        };
        let work = start(copy);
        ShardWork::Waits(Box::pin(async move {
            let (returned, after) = work.await;
            let (returned, state) = match after.map(|after| read(after.get())) {
                None => (returned, before),
                Some(Ok(state)) => (returned, state),
                Some(Err(error)) => {
                    let reason =
                        format!("tool {name:?}: it ran, and gave back what is not its state: {error}");
                    (returned.and(Err(Failure::failed(reason))), before)
                }
            };
            let copied = Copied { state: Box::new(state), stamp, ended: ended(&returned) };
            (returned, copied)
        }))
    }

    fn commit(&mut self, key: &RowKey, copied: Copied) -> Result<(), RowReplaced> {
        let Copied { state, stamp, ended } = copied;
        let state = *state.downcast().map_err(|_| RowReplaced)?;
        self.keep(key);
        commit(self.known_mut(key), stamp, ended, state)
    }

    fn get(&self, key: &RowKey) -> serde_json::Result<Option<Box<RawValue>>> {
        self.known(key).map(|row| serde_json::value::to_raw_value(&row.state)).transpose()
    }

    fn contains(&self, key: &RowKey) -> bool {
        self.known(key).is_some()
    }

    fn put(&mut self, value: &RowValue) -> serde_json::Result<()> {
        let row = Row { state: read(value.state.get())?, stamp: next_stamp() };
        self.keep(&value.key());
        match &value.agent {
            None => self.engine = Some(row),
            Some(agent) => drop(self.agents.insert(CompactString::from(&**agent), row)),
        }
        Ok(())
    }

    fn remove(&mut self, key: &RowKey) -> bool {
        self.keep(key);
        let Some(agent) = key.agent() else { return self.engine.take().is_some() };
        let was_there = self.agents.remove(agent).is_some();
        // A table that was large once does not stay so; each row pays for a few that are moved.
        if self.agents.capacity() > SMALL && self.agents.len() < self.agents.capacity() / 8 {
            self.agents.shrink_to(2 * self.agents.len());
        }
        was_there
    }

    fn clear(&mut self) {
        self.keep_all();
        (self.engine, self.agents) = (None, HashMap::default());
    }

    fn len(&self) -> usize {
        usize::from(self.engine.is_some()) + self.agents.len()
    }

    fn begin_cut(&mut self, cut: u64) -> RowKeys {
        self.cuts.push(Cut::new(cut));
        RowKeys { engine: self.engine.is_some(), agents: self.agents.keys().cloned().collect() }
    }

    fn read_cut(
        &mut self,
        cut: u64,
        keys: &mut RowKeys,
        rows: usize,
        bytes: usize,
    ) -> serde_json::Result<Vec<RowValue>> {
        let (mut read, mut length) = (Vec::new(), 0);
        let Some(cut) = self.cuts.iter_mut().find(|other| other.id == cut) else { return Ok(read) };
        let mut write = |agent: Option<CompactString>, row: Option<&T::State>| {
            let kept = cut.pass(agent.as_ref());
            let Some(state) = kept.as_ref().or(row) else { return Ok(0) };
            let state = serde_json::value::to_raw_value(state)?;
            let length = state.get().len();
            read.push(RowValue { agent: agent.as_deref().map(Arc::from), state });
            serde_json::Result::Ok(length)
        };
        if std::mem::take(&mut keys.engine) {
            length += write(None, self.engine.as_ref().map(|row| &row.state))?;
        }
        for _ in 0..rows {
            if length >= bytes {
                break;
            }
            let Some(agent) = keys.agents.pop() else { break };
            let row = self.agents.get(&agent).map(|row| &row.state);
            length += write(Some(agent), row)?;
        }
        Ok(read)
    }

    fn end_cut(&mut self, cut: u64) {
        self.cuts.retain(|other| other.id != cut);
    }

    fn adopt(&mut self, rows: Box<dyn Shard>) -> Box<dyn Any + Send> {
        match rows.into_any().downcast::<Self>() {
            Ok(mut rows) => {
                self.keep_all();
                std::mem::swap(&mut self.engine, &mut rows.engine);
                std::mem::swap(&mut self.agents, &mut rows.agents);
                rows
            }
            Err(other) => other, // of another tool: there is nothing to take
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
