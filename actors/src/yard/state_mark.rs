//! Which state an engine has, and whether a suspended call may go on with it.

use toolyard_contract::{ParkedCall, Refusal, SavedState};

use super::Yard;
use crate::rows::new_state;

impl Yard {
    /// Begins a state of which nothing is known.
    pub fn new_state() -> SavedState {
        new_state()
    }

    /// Names the engine's state, and the last save of it.
    pub fn saved_state(&self) -> SavedState {
        self.shared.common.origin.saved()
    }

    /// Notes that the states were saved.
    pub fn state_was_saved(&self, saved: SavedState) {
        self.shared.common.origin.was_saved(saved);
    }

    /// Notes that the states come from a file, which may say which state it has.
    pub fn state_was_loaded(&self, saved: Option<SavedState>) {
        self.shared.common.origin.was_loaded(saved);
    }

    /// Refuses a call whose tool had another state when its list was suspended.
    pub(super) fn check_state(&self, parked: &ParkedCall) -> Result<(), Refusal> {
        let Some(mark) = &parked.state else { return Ok(()) };
        let catalog = self.catalog();
        let agent = parked.binding.agent.as_deref().map(Into::into);
        // A tool that the list brought along begins anew with it.
        let Some(has_row) = catalog.get(&parked.call.tool).and_then(|entry| entry.has_row(agent.as_ref()))
        else {
            return Ok(());
        };
        let checked = self.shared.common.origin.check(mark, has_row);
        checked.map_err(|reason| Refusal::OtherState { id: parked.call.request_id.clone(), reason })
    }
}
