//! How every call gets exactly one answer.
//!
//! Answers are filed in the [mail](crate::mail) of their list, for the task that drives it. Whoever holds calls
//! (a group on its way to an actor, a call under way) holds the duty to answer them: dropping it
//! files `not_started` for what had not begun and `lost` for what had.

mod post;

use std::sync::Arc;

use toolyard_contract::Outcome;

pub(crate) use self::post::{MAILBOX, post};
use crate::{
    admission::Permits, call_end::Finished, mail::ReadyCall, supervisor::catalog::Entry, supervisor::run::Run,
};

/// Calls of one list to one tool, on their way to the tool's actor.
pub(crate) struct Group {
    pub(crate) run: Arc<Run>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) calls: std::vec::IntoIter<ReadyCall>,
    pub(crate) permits: Permits,
}

impl Group {
    /// The answer to a call of this group that is not to begin any more.
    pub(crate) fn skipped(&self, reason: &str) -> Finished {
        let error = format!("tool {:?}: {reason}", self.entry.spec().name);
        Finished::without_output(Outcome::Skipped, error)
    }
}

impl Group {
    /// Gives the calls that are left back to their list, and with them the permits.
    pub(crate) fn give_back(mut self) {
        let calls = std::mem::take(&mut self.calls);
        if calls.len() > 0 {
            self.run.give_back(&self.entry, calls.collect());
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.calls.len() == 0 {
            return;
        }
        let name = &self.entry.spec().name;
        let unstarted = self.calls.by_ref().map(|call| {
            let error = format!("tool {name:?}: its actor went away before the call began");
            (call.position, Finished::without_output(Outcome::NotStarted, error))
        });
        self.run.answer_many(unstarted.collect());
    }
}

/// The duty to answer one call that has begun.
pub(crate) struct ReplySlot {
    run: Arc<Run>,
    entry: Arc<Entry>,
    position: u32,
    filed: bool,
}

impl ReplySlot {
    pub(crate) fn new(run: Arc<Run>, entry: Arc<Entry>, position: u32) -> Self {
        Self { run, entry, position, filed: false }
    }

    pub(crate) fn file(mut self, finished: Finished) {
        self.filed = true;
        self.run.answer(self.entry.spec(), self.position, finished);
    }
}

impl Drop for ReplySlot {
    fn drop(&mut self) {
        if !self.filed {
            let error = format!("tool {:?}: what ran the call went away", self.entry.spec().name);
            let lost = Finished::without_output(Outcome::Lost, error);
            self.run.answer(self.entry.spec(), self.position, lost);
        }
    }
}
