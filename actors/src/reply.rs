//! How every call gets exactly one answer.
//!
//! Answers are filed in the [mail](crate::mail) of their list, for the task that drives it. Whoever holds calls
//! (a group on its way to an actor, a call under way) holds the duty to answer them: dropping it
//! files `not_started` for what had not begun and `lost` for what had.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, Handler, Message, dev::ToEnvelope};
use toolyard_contract::{Detail, Failure, Outcome, Output, Reply, ToolReturn, name};

use crate::{admission::Permits, supervisor::catalog::Entry, supervisor::run::Run};

/// A mailbox without a bound of its own: what is in it holds permits, and a full mailbox would only
/// make senders lazy. (actix adds the number of senders, so this is not the largest number.)
pub(crate) const MAILBOX: usize = 1 << 30;

/// Puts a message into an actor's mailbox without waiting.
///
/// Mailbox bounds are no back-pressure in actix, so whoever posts holds a permit. A message to a
/// dead actor is dropped, which answers the calls inside it.
#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn post<A, M>(actor: &Addr<A>, message: M)
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    actor.do_send(message);
}

/// How long an error of the engine may be, in characters.
const MOST_ERROR: usize = 4_000;

/// How a call ended, before it is joined with its name and id.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) output: Option<Output>,
    pub(crate) error: Option<String>,
    pub(crate) detail: Option<Box<Detail>>,
    /// From the start of the list to the start of the work.
    pub(crate) waited: Duration,
    /// From the start of the work to its end.
    pub(crate) elapsed: Duration,
}

impl Finished {
    /// An end without output. The error is the engine's own, which may quote what a model sent: that is cut.
    pub(crate) fn without_output(outcome: Outcome, error: impl Into<String>) -> Self {
        Self {
            outcome,
            output: None,
            error: Some(name::short(error.into(), MOST_ERROR)),
            detail: None,
            waited: Duration::ZERO,
            elapsed: Duration::ZERO,
        }
    }

    /// A tool's own word.
    pub(crate) fn returned(returned: ToolReturn) -> Self {
        let (waited, elapsed) = (Duration::ZERO, Duration::ZERO);
        match returned {
            Ok(Reply { output, detail }) => {
                Self { outcome: Outcome::Ok, output, error: None, detail, waited, elapsed }
            }
            Err(Failure { outcome, error, output, detail }) => {
                Self { outcome, output, error: Some(error), detail, waited, elapsed }
            }
        }
    }

    /// Notes that the work could not be stopped.
    pub(crate) fn still_running(mut self) -> Self {
        self.detail.get_or_insert_default().still_running = true;
        self
    }
}

/// One call that may start.
#[derive(Debug)]
pub(crate) struct ReadyCall {
    pub(crate) position: u32,
    pub(crate) arguments: String,
    /// 1 for the first try.
    pub(crate) attempt: u32,
}

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
