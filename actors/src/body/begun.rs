//! A call whose work begins: what both kinds of tool actor know about it until it ends.

use std::sync::Arc;

use tokio::time::Instant;
use toolyard_contract::{CallContext, CallHost, Invocation, Outcome, result::micros};
use tracing::Span;

use crate::{
    call_end::Finished,
    event::EventKind,
    guard::Deadline,
    reply::ReplySlot,
    supervisor::{catalog::Entry, run::Run},
};

/// A call whose work begins.
#[derive(Clone)]
pub(crate) struct Begun {
    pub(crate) run: Arc<Run>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) position: u32,
    /// 1 for the first try.
    pub(crate) attempt: u32,
    pub(crate) started: Instant,
    pub(crate) deadline: Deadline,
    pub(crate) span: Span,
}

impl Begun {
    pub(crate) fn new(
        run: &Arc<Run>,
        entry: &Arc<Entry>,
        (position, attempt): (u32, u32),
        started: Instant,
    ) -> Self {
        let span = run.call_span(position, started);
        let (run, entry, deadline) = (run.clone(), entry.clone(), Deadline::None);
        let mut begun = Self { run, entry, position, attempt, started, deadline, span };
        begun.begin();
        begun
    }

    /// Lets the call's time start at `started`.
    pub(crate) fn begin(&mut self) {
        let timeout = self.entry.spec().timeout.or(self.run.timeout());
        self.deadline = Deadline::earlier(self.started, timeout, self.run.deadline());
        if self.run.listens() {
            self.run.emit(EventKind::Started(self.run.info(self.position)));
        }
    }

    /// What the tool gets. Where the work is driven apart from a thread, it may wait before it begins.
    pub(crate) fn invocation(&self, arguments: String, can_wait: bool) -> Invocation {
        let deadline = self.deadline.at().map(Instant::into_std);
        let host: Arc<dyn CallHost> = self.run.clone();
        let mut context = CallContext::new(self.run.id(), self.position as usize, deadline, host);
        context.attempt = self.attempt;
        Invocation { arguments, context: context.waits_at_host(can_wait) }
    }

    /// Takes up the duty to answer.
    pub(crate) fn slot(&self) -> ReplySlot {
        ReplySlot::new(self.run.clone(), self.entry.clone(), self.position)
    }

    pub(crate) fn tool_name(&self) -> &str {
        &self.entry.spec().name
    }

    /// Notes how long it took and how it ended.
    pub(crate) fn timed(&self, mut finished: Finished) -> Finished {
        finished.waited = self.started.saturating_duration_since(self.run.began());
        finished.elapsed = self.started.elapsed();
        self.span.record("run_us", micros(finished.elapsed));
        self.span.record("outcome", finished.outcome.as_str());
        if !matches!(finished.outcome, Outcome::Ok | Outcome::Suspended) {
            self.span.record("error.type", finished.outcome.as_str());
            self.span.record("otel.status_code", "ERROR");
        }
        finished
    }
}
