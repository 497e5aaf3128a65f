//! The identity of a state.

use serde::{Deserialize, Serialize};

/// Names the states of an engine, in whatever file they are: so that a file can be told from another
/// one, and from an older copy of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedState {
    /// Drawn by chance when there was no state yet, and kept with every save.
    pub id: String,
    /// How often it was saved.
    pub saves: u64,
}

impl SavedState {
    /// The same state after one more save.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { id: self.id.clone(), saves: self.saves.saturating_add(1) }
    }
}
