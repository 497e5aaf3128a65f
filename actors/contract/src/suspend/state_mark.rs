//! Which state a suspended call goes on with, so that it never goes on with another one in silence.

use serde::{Deserialize, Serialize};

use crate::SavedState;

/// The state that a call's tool had when its list was suspended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMark {
    /// The state, and the first save that holds all that the list has committed: the one after the
    /// list was suspended.
    pub state: SavedState,
    /// Where the state was in memory; what is still there needs no save.
    pub live: String,
    /// Whether the call's row was there already, so that an empty one would be another one.
    pub used: bool,
}

/// The state file that a list works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreMark {
    /// Where it is; absent where its path is not Unicode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The state in it, and the first save that holds all that the list has committed.
    pub state: SavedState,
}

impl StateMark {
    /// Says why a call cannot go on with a state that is in memory at `live`, was `saved` like this
    /// last, and has or has not the call's row.
    ///
    /// # Errors
    /// When it is another state, an older one, or the row is gone.
    pub fn check(&self, live: &str, saved: &SavedState, has_row: bool) -> Result<(), String> {
        if self.live != live {
            self.state.check(saved)?;
        }
        if self.used && !has_row {
            return Err(
                "the row that its tool had is not there any more: it was forgotten or replaced".into()
            );
        }
        Ok(())
    }
}

impl SavedState {
    /// Says why a state that was `found` is not this one, or lacks what this save holds.
    ///
    /// # Errors
    /// When it is another state, or an older one.
    pub fn check(&self, found: &Self) -> Result<(), String> {
        let Self { id, saves } = self;
        if found.id != *id {
            return Err(format!(
                "the list was suspended with the state {id}, and here is the state {}: load the file that the state \
                 of the list was saved to",
                found.id
            ));
        }
        if found.saves < *saves {
            return Err(format!(
                "save {} of the state {id} was made before the list was suspended, which needs save {saves} or a later \
                 one",
                found.saves
            ));
        }
        Ok(())
    }
}
