//! The board of a behaviour tree.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::RwLock;
use serde_json::Value;

/// Where the nodes of a tree leave things for each other: values by key. Clones share one board.
#[derive(Clone, Debug, Default)]
pub struct Blackboard(Arc<RwLock<BTreeMap<String, Value>>>);

impl Blackboard {
    /// Makes an empty board.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the value under a key.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.0.read().get(key).cloned()
    }

    /// Puts a value under a key.
    pub fn set(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.write().insert(key.into(), value.into());
    }

    /// Takes the value under a key away.
    pub fn remove(&self, key: &str) -> Option<Value> {
        self.0.write().remove(key)
    }
}
