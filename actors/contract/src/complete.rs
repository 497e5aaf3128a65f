//! Whether an agent's loop goes on after a list.

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

/// What an agent loop does after a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NextStep {
    /// It shows the results to the model and goes on.
    Observe,
    /// It waits: calls need answers before the list is whole.
    Wait {
        /// How many.
        requests: usize,
    },
    /// It ends: a call said so.
    Complete {
        /// The position of the first call that said so.
        call: usize,
        /// The patches of all calls that said so, laid over each other in call order.
        patch: Map<String, Value>,
        /// The status that the first one gave.
        status: String,
    },
}

impl NextStep {
    /// Tells whether the loop goes on at once.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Observe)
    }

    /// Reads the next step from what the calls of a list said, in call order.
    pub fn after<'a>(
        requests: usize,
        completions: impl IntoIterator<Item = (usize, &'a Completion)>,
    ) -> Self {
        if requests > 0 {
            return Self::Wait { requests };
        }
        let mut completions = completions.into_iter();
        let Some((call, first)) = completions.next() else { return Self::Observe };
        let mut patch = first.patch.clone();
        patch.extend(completions.flat_map(|(_, completion)| completion.patch.clone()));
        Self::Complete { call, patch, status: first.status.clone() }
    }
}
