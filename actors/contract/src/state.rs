//! Tools with inner state: a row of their own for the whole engine, or for each agent.
//!
//! A call works on a copy of its row. Only a call that ends `ok` commits; a failure, a panic, a
//! cancel and a time-out leave the row as it was. Calls on one row run one at a time, in order.

use std::{any::Any, fmt, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use crate::{Invocation, Outcome, Tool, ToolFuture, ToolReturn, ToolSpec};

mod cut;
mod read;
mod rows;
mod saved;

pub use cut::RowKeys;
pub use saved::SavedState;

/// What can be a tool's state: any value that can be copied, sent, written and read.
pub trait ToolState: Clone + Send + Serialize + DeserializeOwned + 'static {}

impl<T: Clone + Send + Serialize + DeserializeOwned + 'static> ToolState for T {}

/// A tool with inner state. Register it as [`Stateful`].
///
/// ```
/// use std::sync::Arc;
/// use toolyard_contract::{Invocation, StateWork, StatefulTool, ToolSpec};
///
/// struct Counter(ToolSpec);
///
/// impl StatefulTool for Counter {
///     type State = u64;
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///     fn initial(&self, _agent: Option<&str>) -> u64 {
///         0
///     }
///     fn work(self: Arc<Self>, _: Invocation, count: u64) -> StateWork<u64> {
///         StateWork::Done(Ok(serde_json::json!(count + 1).into()), count + 1)
///     }
/// }
/// ```
pub trait StatefulTool: Send + Sync + 'static {
    /// The state of one row.
    type State: ToolState;

    /// What the tool is. Must not change.
    fn spec(&self) -> &ToolSpec;

    /// Who has a row. Default: the whole engine has one.
    fn scope(&self) -> StateScope {
        StateScope::Engine
    }

    /// What the type of the state is called in state files, which are then loaded by tools that call theirs the same
    /// alone. Change it when what states mean changes. Default: nothing, and files of any type are read.
    ///
    /// The author chooses it: names of Rust types may change with the compiler, and do with a renaming.
    fn state_type(&self) -> Option<&str> {
        None
    }

    /// Makes the state of a row that is used for the first time.
    fn initial(&self, agent: Option<&str>) -> Self::State;

    /// Starts one call on a copy of its row. The state in the answer is committed when the call is `ok`.
    fn work(self: Arc<Self>, invocation: Invocation, state: Self::State) -> StateWork<Self::State>;

    /// Lets go of what outlives calls, as [`Tool::release`] does. Default: there is nothing.
    fn release(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Lets go of what outlives calls, as [`Tool::retire`] does. Default: there is nothing.
    fn retire(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Lets go of what it keeps for an agent beside its row (sessions, connections): the agent is gone, and has no calls under way.
    /// Default: there is nothing.
    fn forget(&self, agent: &str) -> BoxFuture<'static, ()> {
        let _ = agent;
        Box::pin(std::future::ready(()))
    }

    /// A body that changes a state in place and never waits, in place of [`work`](Self::work). Default: none.
    ///
    /// What it changes is a copy of the row too: a call that fails or panics leaves the row as it was. An `Arc` inside
    /// a very large state, around each part that changes by itself, makes the copy cheap.
    fn in_place(&self) -> Option<InPlace<Self>>
    where
        Self: Sized,
    {
        None
    }
}

/// A body that changes the state that it is given and never waits.
pub type InPlace<T> = fn(&T, Invocation, &mut <T as StatefulTool>::State) -> ToolReturn;

/// Who has a row of a tool's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateScope {
    /// One row for the whole engine.
    #[default]
    Engine,
    /// One row for each agent; calls without an agent share one.
    Agent,
}

/// How one call of a stateful tool goes on.
pub enum StateWork<S> {
    /// It is done: the answer, and the state after it.
    Done(ToolReturn, S),
    /// It waits for something; other rows are served meanwhile.
    Waits(BoxFuture<'static, (ToolReturn, S)>),
    /// It blocks or computes, and needs a thread. Declare [`Execution::Blocking`](crate::Execution::Blocking)
    /// in the spec too, so that it is admitted to the blocking pool.
    Blocks(Box<dyn FnOnce() -> (ToolReturn, S) + Send>),
}

impl<S> fmt::Debug for StateWork<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done(..) => "Done",
            Self::Waits(_) => "Waits",
            Self::Blocks(_) => "Blocks",
        })
    }
}

/// The key of a row: the whole engine, or one agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKey {
    /// The whole engine, or calls without an agent.
    Engine,
    /// One agent.
    Agent(Arc<str>),
}

impl RowKey {
    /// The agent's id, if it is an agent's row.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Engine => None,
            Self::Agent(agent) => Some(agent),
        }
    }
}

/// One row, written as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowValue {
    /// The agent whose row it is; absent for the engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The state.
    pub state: Box<RawValue>,
}

impl RowValue {
    /// The key of the row.
    pub fn key(&self) -> RowKey {
        self.agent.clone().map_or(RowKey::Engine, RowKey::Agent)
    }
}

/// State that is plain JSON, in the two parts that untyped tools use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonState {
    /// What the tool works on. As JSON it must be there, if only as `null`, so that nothing else is
    /// taken for an empty state.
    #[serde(deserialize_with = "Option::deserialize")]
    pub state: Option<Map<String, Value>>,
    /// What it notes about itself.
    #[serde(default)]
    pub meta_state: Option<Map<String, Value>>,
}

/// Lets a [`StatefulTool`] be registered like any other.
///
/// Called outside an engine, it works on the initial state and forgets it.
pub struct Stateful<T>(Arc<T>);

impl<T: StatefulTool> Stateful<T> {
    /// Wraps a tool.
    pub fn new(tool: T) -> Self {
        Self(Arc::new(tool))
    }
}

impl<T: StatefulTool> Tool for Stateful<T> {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        let state = self.0.initial(invocation.context.agent());
        let work = self.0.clone().work(invocation, state);
        ToolFuture::new(async move {
            match work {
                StateWork::Done(returned, _) => returned,
                StateWork::Waits(waits) => waits.await.0,
                StateWork::Blocks(blocks) => blocks().0,
            }
        })
    }

    fn release(&self) -> BoxFuture<'static, ()> {
        self.0.release()
    }

    fn retire(&self) -> BoxFuture<'static, ()> {
        self.0.retire()
    }

    fn forget(&self, agent: &str) -> BoxFuture<'static, ()> {
        self.0.forget(agent)
    }

    fn state(&self) -> Option<StatePart> {
        let state_type = self.0.state_type().map(Arc::from);
        Some(StatePart { scope: self.0.scope(), state_type, shard: rows::Rows::boxed(self.0.clone()) })
    }
}

impl<T: StatefulTool> fmt::Debug for Stateful<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stateful").field(&self.0.spec().name).finish()
    }
}

/// The state part of a tool, as the engine takes it: who has rows, and an empty shard for them.
pub struct StatePart {
    /// Who has a row.
    pub scope: StateScope,
    /// What the type of the state is called: [`StatefulTool::state_type`].
    pub state_type: Option<Arc<str>>,
    /// An empty shard.
    pub shard: Box<dyn Shard>,
}

impl fmt::Debug for StatePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatePart").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// Some rows of one tool, whatever the type of its state. One actor owns a shard.
pub trait Shard: Send {
    /// Starts a call on a row; an answer that is there at once is committed.
    fn begin(&mut self, key: &RowKey, invocation: Invocation) -> ShardWork;
    /// Starts a call on a copy of a row somewhere else: `start` gets the row as JSON.
    fn begin_elsewhere(
        &mut self,
        key: &RowKey,
        start: &mut dyn FnMut(Box<RawValue>) -> BoxFuture<'static, StateReturn>,
    ) -> ShardWork;
    /// Takes the state of a call that has ended, and commits it if the call was `ok`.
    ///
    /// # Errors
    /// When the row was replaced or forgotten since a call began that ended `ok`; nothing is committed.
    fn commit(&mut self, key: &RowKey, copied: Copied) -> Result<(), RowReplaced>;
    /// Writes one row; `None` when it was never used.
    ///
    /// # Errors
    /// When the state cannot be written as JSON.
    fn get(&self, key: &RowKey) -> serde_json::Result<Option<Box<RawValue>>>;
    /// Tells whether a row was ever used.
    fn contains(&self, key: &RowKey) -> bool;
    /// Replaces one row.
    ///
    /// # Errors
    /// When the value is not a state of this tool; the row stays as it was.
    fn put(&mut self, row: &RowValue) -> serde_json::Result<()>;
    /// Forgets one row; tells whether it was there.
    fn remove(&mut self, key: &RowKey) -> bool;
    /// Forgets all rows.
    fn clear(&mut self);
    /// How many rows there are.
    fn len(&self) -> usize;
    /// Tells whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Begins to hand out the rows as they are now, under a number that no other cut has, and gives their keys.
    /// Rows that change before they are handed out are kept as they were.
    fn begin_cut(&mut self, cut: u64) -> RowKeys;
    /// Hands out the rows of the next keys as they were: at least one, if any is left, at most `rows`, and no more
    /// once they are `bytes` long.
    ///
    /// # Errors
    /// When a state cannot be written as JSON.
    fn read_cut(
        &mut self,
        cut: u64,
        keys: &mut RowKeys,
        rows: usize,
        bytes: usize,
    ) -> serde_json::Result<Vec<RowValue>>;
    /// Forgets what was kept for a cut.
    fn end_cut(&mut self, cut: u64);
    /// Takes the rows of another shard of the same tool in place of its own; gives back what is to be dropped.
    fn adopt(&mut self, rows: Box<dyn Shard>) -> Box<dyn Any + Send>;
    /// The shard as what it is.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// How one call goes on, whatever the type of the state.
pub enum ShardWork {
    /// It is done, and committed if `ok`.
    Done(ToolReturn),
    /// It waits for something.
    Waits(BoxFuture<'static, (ToolReturn, Copied)>),
    /// It needs a thread.
    Blocks(Box<dyn FnOnce() -> (ToolReturn, Copied) + Send>),
}

/// What a call of a tool with state gives back that ran somewhere else: its answer, and the state after it as JSON.
pub type StateReturn = (ToolReturn, Option<Box<RawValue>>);

/// A copy of a row's state on its way back, with the stamp of the row that it was made of.
pub struct Copied {
    state: Box<dyn Any + Send>,
    stamp: u32,
    /// How the call ended that worked on it.
    ended: Outcome,
}

/// The row was replaced while a call worked on a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its state was replaced while the call ran")]
pub struct RowReplaced;

#[cfg(test)]
mod tests;
