//! The rows of one tool, however many actors serve them.

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    sync::Arc,
};

use parking_lot::Mutex;
use rustc_hash::FxHasher;
use toolyard_contract::{RowKey, Shard, StateScope};

/// Rows that outlive the actors that serve them, one after the other.
pub(crate) type SharedShard = Arc<Mutex<Box<dyn Shard>>>;

/// All shards of one tool: one, or with a row for each agent one for each actor.
#[derive(Clone)]
pub(crate) struct RowTable {
    scope: StateScope,
    shards: Arc<[SharedShard]>,
}

impl RowTable {
    pub(crate) fn new(scope: StateScope, shards: impl Iterator<Item = Box<dyn Shard>>) -> Self {
        Self { scope, shards: shards.map(|shard| Arc::new(Mutex::new(shard))).collect() }
    }

    pub(crate) fn scope(&self) -> StateScope {
        self.scope
    }

    pub(crate) fn shards(&self) -> &[SharedShard] {
        &self.shards
    }

    /// The key of the row that an agent's calls work on.
    pub(crate) fn key(&self, agent: Option<&Arc<str>>) -> RowKey {
        match (self.scope, agent) {
            (StateScope::Agent, Some(agent)) => RowKey::Agent(agent.clone()),
            _ => RowKey::Engine,
        }
    }

    /// Which of the shards owns a row.
    pub(crate) fn place_of(&self, key: &RowKey) -> usize {
        spread(key.agent(), self.shards.len())
    }

    pub(crate) fn shard(&self, key: &RowKey) -> &SharedShard {
        &self.shards[self.place_of(key)]
    }

    /// Tells whether the row that an agent's calls work on was ever used.
    pub(crate) fn has_row(&self, agent: Option<&Arc<str>>) -> bool {
        let key = self.key(agent);
        self.shard(&key).lock().contains(&key)
    }
}

/// Spreads agents over `places`, so that an agent's rows lie where its lists are supervised; whoever is no agent goes
/// to the first.
pub(crate) fn spread(agent: Option<&str>, places: usize) -> usize {
    let Some(agent) = agent.filter(|_| places > 1) else { return 0 };
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one(agent);
    usize::try_from(hash % places as u64).unwrap_or(0)
}
