//! Where the calls of a tool go.

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    sync::Arc,
};

use rustc_hash::FxHasher;
use toolyard_contract::{RowKey, StateScope};

use crate::{
    reply::Group,
    restart::{Crash, Health, Home, Readiness},
    state::{InvokeOnRow, RowTable, StateActor},
    tool::{Invoke, ToolActor},
};

/// Where the calls of a tool go.
pub(crate) enum Route {
    /// To the tool's actor.
    Tool(Home<ToolActor>),
    /// To the actor that owns the row: one hop, without a stop at a tool actor.
    State { scope: StateScope, shards: Vec<Home<StateActor>>, rows: RowTable },
}

impl Route {
    /// The key of the row that an agent's calls work on.
    pub(crate) fn row(&self, agent: Option<&Arc<str>>) -> Option<RowKey> {
        match (self, agent) {
            (Self::Tool(_), _) => None,
            (Self::State { scope: StateScope::Agent, .. }, Some(agent)) => Some(RowKey::Agent(agent.clone())),
            (Self::State { .. }, _) => Some(RowKey::Engine),
        }
    }

    pub(crate) fn keeps_state(&self) -> bool {
        matches!(self, Self::State { .. })
    }

    /// Tells whether calls may be sent now; replaces an actor that died.
    pub(crate) fn readiness(&self, agent: Option<&Arc<str>>) -> Readiness {
        match self {
            Self::Tool(home) => home.readiness(),
            Self::State { shards, .. } => shard(shards, self.row(agent).as_ref()).readiness(),
        }
    }

    /// Sends calls on their way.
    pub(crate) fn post(&self, group: Group) {
        match self {
            Self::Tool(home) => home.post(Invoke(group)),
            Self::State { shards, .. } => {
                let key = self.row(group.run.agent_id()).unwrap_or(RowKey::Engine);
                shard(shards, Some(&key)).post(InvokeOnRow { key, group });
            }
        }
    }

    /// Makes an actor panic.
    pub(crate) fn crash(&self, agent: Option<&str>) {
        match self {
            Self::Tool(home) => home.post(Crash),
            Self::State { shards, .. } => {
                shard(shards, agent.map(|agent| RowKey::Agent(agent.into())).as_ref()).post(Crash);
            }
        }
    }

    /// How the tool's actors have fared, summed up.
    pub(crate) fn health(&self) -> Health {
        match self {
            Self::Tool(home) => home.health(),
            Self::State { shards, .. } => {
                shards.iter().map(Home::health).fold(Health::default(), Health::plus)
            }
        }
    }
}

/// The shard that owns a row: an agent's rows lie where its lists are supervised.
pub(crate) fn shard<'a>(shards: &'a [Home<StateActor>], key: Option<&RowKey>) -> &'a Home<StateActor> {
    &shards[spread(key.and_then(RowKey::agent), shards.len())]
}

/// Spreads agents over `places`; whoever is no agent goes to the first.
pub(crate) fn spread(agent: Option<&str>, places: usize) -> usize {
    let Some(agent) = agent.filter(|_| places > 1) else { return 0 };
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one(agent);
    usize::try_from(hash % places as u64).unwrap_or(0)
}
