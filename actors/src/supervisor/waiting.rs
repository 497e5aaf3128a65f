//! The calls of one list that may start and wait for what they must have first.

use std::{collections::VecDeque, sync::Arc};

use tokio::time::Instant;

use super::{catalog::Entry, run::Run};
use crate::{
    admission::{Permits, Refusal},
    event::WaitsFor,
    mail::ReadyCall,
};

/// Calls to one tool that may start and wait for permits.
pub(super) struct Waiting {
    pub(super) entry: Arc<Entry>,
    pub(super) calls: VecDeque<ReadyCall>,
    /// What they were told to wait for, a bit for each thing.
    pub(super) told: Told,
    /// When they have waited too long, since the last of them was sent.
    pub(super) until: Option<Instant>,
}

impl Waiting {
    pub(super) fn new(entry: Arc<Entry>, calls: VecDeque<ReadyCall>) -> Self {
        Self { entry, calls, told: Told(0), until: None }
    }

    /// Tells whether calls of this tool that come later are to be put behind these: calls on one row keep their order.
    pub(super) fn keeps_order(&self, entry: &Arc<Entry>) -> bool {
        !self.calls.is_empty() && Arc::ptr_eq(&self.entry, entry) && entry.keeps_state()
    }
}

/// What the calls of a group have been told to wait for, a bit for each thing.
pub(super) struct Told(u16);

impl Told {
    /// Tells those who listen what the calls wait for: once for each thing, because there may be many
    /// and they are asked again whenever one of them may go.
    pub(super) fn tell(&mut self, run: &Run, calls: &VecDeque<ReadyCall>, on: WaitsFor) {
        let bit = 1 << on as u16;
        if self.0 & bit == 0 {
            self.0 |= bit;
            run.tell_waiting(calls.iter().map(|call| call.position), on);
        }
    }
}

/// What waiting brought a group.
pub(super) enum Admitted {
    Passed(Permits),
    Refused(Refusal),
    /// Its tool's actor was being replaced.
    AskAgain,
}
