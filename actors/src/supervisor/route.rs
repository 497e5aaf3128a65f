//! Where the calls of a tool go.

use std::{collections::VecDeque, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};
use toolyard_contract::RowKey;

use super::{
    catalog::{Catalog, Entry},
    run::Run,
};
use crate::{
    admission::Permits,
    mail::ReadyCall,
    reply::Group,
    restart::{Crash, Health, Home, Readiness},
    rows::spread,
    state::{InvokeOnRow, StateActor},
    tool::{Invoke, ToolActor},
};

/// Where the calls of a tool go.
pub(crate) enum Route {
    /// To the tool's actor.
    Tool(Home<ToolActor>),
    /// To the actor that owns the row: one hop, without a stop at a tool actor.
    State(Vec<Home<StateActor>>),
}

impl Route {
    /// Tells whether calls may be sent now; replaces an actor that died.
    pub(crate) fn readiness(&self, agent: Option<&str>) -> Readiness {
        match self {
            Self::Tool(home) => home.readiness(),
            Self::State(shards) => shard(shards, agent).readiness(),
        }
    }

    /// Sends as many calls of a list to one tool as there are permits.
    pub(crate) fn send(
        &self,
        run: &Arc<Run>,
        entry: &Arc<Entry>,
        calls: &mut VecDeque<ReadyCall>,
        permits: Permits,
    ) {
        let calls: Vec<ReadyCall> = if permits.count() >= calls.len() {
            std::mem::take(calls).into()
        } else {
            calls.drain(..permits.count()).collect()
        };
        let (run, entry) = (run.clone(), entry.clone());
        self.post(Group { run, entry, calls: calls.into_iter(), permits });
    }

    fn post(&self, group: Group) {
        match self {
            Self::Tool(home) => home.post(Invoke(group)),
            Self::State(shards) => {
                let key = group.entry.row(group.run.agent_id()).unwrap_or(RowKey::Engine);
                shard(shards, key.agent()).post(InvokeOnRow { key, group });
            }
        }
    }

    /// The actor that owns a row.
    pub(crate) fn owner(&self, key: &RowKey) -> Option<&Home<StateActor>> {
        match self {
            Self::Tool(_) => None,
            Self::State(shards) => Some(shard(shards, key.agent())),
        }
    }

    /// Makes an actor panic.
    pub(crate) fn crash(&self, agent: Option<&str>) {
        match self {
            Self::Tool(home) => home.post(Crash),
            Self::State(shards) => shard(shards, agent).post(Crash),
        }
    }

    /// How the tool's actors have fared, summed up.
    pub(crate) fn health(&self) -> Health {
        match self {
            Self::Tool(home) => home.health(),
            Self::State(shards) => shards.iter().map(Home::health).fold(Health::default(), Health::plus),
        }
    }
}

/// The actor of an agent's rows.
fn shard<'a>(shards: &'a [Home<StateActor>], agent: Option<&str>) -> &'a Home<StateActor> {
    &shards[spread(agent, shards.len())]
}

/// Where the calls of each tool of a catalogue go.
#[derive(Clone, Default)]
pub(crate) struct Routes(FxHashMap<u64, Arc<Route>>);

impl Routes {
    pub(crate) fn of(&self, entry: &Entry) -> Option<&Arc<Route>> {
        self.0.get(&entry.id())
    }

    pub(crate) fn add(&mut self, entry: &Entry, route: Route) {
        self.0.insert(entry.id(), Arc::new(route));
    }

    /// Lets go of the actors of tools that are not in the catalogue any more.
    pub(crate) fn keep(&mut self, catalog: &Catalog) {
        let there: FxHashSet<u64> = catalog.entries().iter().map(|entry| entry.id()).collect();
        self.0.retain(|id, _| there.contains(id));
    }
}

/// Where the calls of the tools that one list sees go.
pub(crate) struct Ways {
    pub(crate) own: Arc<Routes>,
    /// Those of the tools that it, or a list around it, brought along.
    pub(crate) guests: Option<Arc<Routes>>,
}

impl Ways {
    pub(crate) fn of(&self, entry: &Entry) -> Option<&Arc<Route>> {
        self.own.of(entry).or_else(|| self.guests.as_ref()?.of(entry))
    }
}
