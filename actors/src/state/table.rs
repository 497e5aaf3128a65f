//! The rows of one tool, however many actors serve them.

use std::sync::Arc;

use toolyard_contract::RowKey;

use super::SharedShard;
use crate::supervisor::route::{Route, spread};

/// All shards of one tool.
#[derive(Clone, Default)]
pub(crate) struct RowTable(Arc<[SharedShard]>);

impl FromIterator<SharedShard> for RowTable {
    fn from_iter<I: IntoIterator<Item = SharedShard>>(shards: I) -> Self {
        Self(shards.into_iter().collect())
    }
}

impl RowTable {
    pub(crate) fn shards(&self) -> &[SharedShard] {
        &self.0
    }

    /// Which of the shards owns a row.
    pub(crate) fn place_of(&self, key: &RowKey) -> usize {
        spread(key.agent(), self.0.len())
    }

    pub(crate) fn shard(&self, key: &RowKey) -> &SharedShard {
        &self.0[self.place_of(key)]
    }
}

impl Route {
    /// Tells whether the row that an agent's calls work on was ever used; `None` without state.
    pub(crate) fn has_row(&self, agent: Option<&Arc<str>>) -> Option<bool> {
        match (self, self.row(agent)) {
            (Self::State { rows, .. }, Some(key)) if !rows.0.is_empty() => {
                Some(rows.shard(&key).lock().contains(&key))
            }
            _ => None,
        }
    }
}
