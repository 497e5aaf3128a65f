//! A tool's word that the agent loop is over.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool's word that the agent loop is over: nothing more is observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// What goes into the agent's state before the loop ends. Default: nothing.
    #[serde(default)]
    pub patch: Map<String, Value>,
    /// How the loop ended. Default: `SUCCESS`.
    #[serde(default = "success")]
    pub status: String,
}

fn success() -> String {
    "SUCCESS".to_owned()
}

impl Default for Completion {
    fn default() -> Self {
        Self { patch: Map::new(), status: success() }
    }
}

impl Completion {
    /// Starts with an empty patch and the status `SUCCESS`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what goes into the agent's state.
    #[must_use]
    pub fn patch(mut self, patch: Map<String, Value>) -> Self {
        self.patch = patch;
        self
    }

    /// Sets how the loop ended.
    #[must_use]
    pub fn status(mut self, status: impl Into<String>) -> Self {
        self.status = status.into();
        self
    }
}
