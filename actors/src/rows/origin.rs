//! Which state the rows of an engine are, so that a suspended list finds its own again.

use parking_lot::Mutex;
use toolyard_contract::{SavedState, StateMark};

/// The identity of an engine's state.
pub(crate) struct StateOrigin(Mutex<Origin>);

struct Origin {
    saved: SavedState,
    /// Drawn anew whenever a whole state is loaded.
    live: String,
}

impl StateOrigin {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Origin { saved: new_state(), live: random() }))
    }

    /// The state, and the last save of it.
    pub(crate) fn saved(&self) -> SavedState {
        self.0.lock().saved.clone()
    }

    /// Notes a save.
    pub(crate) fn was_saved(&self, saved: SavedState) {
        self.0.lock().saved = saved;
    }

    /// Notes that the rows come from a file; one that does not say which state it has begins a new one.
    pub(crate) fn was_loaded(&self, saved: Option<SavedState>) {
        let saved = saved.unwrap_or_else(new_state);
        *self.0.lock() = Origin { saved, live: random() };
    }

    /// What a call that waits must find again.
    pub(crate) fn mark(&self, used: bool) -> StateMark {
        let origin = self.0.lock();
        StateMark { state: origin.saved.next(), live: origin.live.clone(), used }
    }

    /// Says why a call cannot go on with this state.
    pub(crate) fn check(&self, mark: &StateMark, has_row: bool) -> Result<(), String> {
        let origin = self.0.lock();
        mark.check(&origin.live, &origin.saved, has_row)
    }
}

pub(crate) fn new_state() -> SavedState {
    SavedState { id: random(), saves: 0 }
}

fn random() -> String {
    format!("{:016x}", fastrand::u64(..))
}
