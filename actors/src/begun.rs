//! A call whose work begins: what both kinds of tool actor know about it until it ends.

use std::sync::Arc;

use tokio::time::Instant;
use toolyard_contract::{CallContext, CallHost, Invocation, Outcome, result::micros};
use tracing::Span;

use crate::{
    event::EventKind,
    guard::Deadline,
    reply::{Finished, ReplySlot},
    supervisor::{catalog::Entry, run::Run},
};

/// A call whose work begins.
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
        let timeout = entry.spec().timeout.or(run.timeout());
        let deadline = Deadline::earlier(started, timeout, run.deadline());
        if run.listens() {
            run.emit(EventKind::Started(run.info(position)));
        }
        let span = run.call_span(position, started);
        Self { run: run.clone(), entry: entry.clone(), position, attempt, started, deadline, span }
    }

    /// What the tool gets.
    pub(crate) fn invocation(&self, arguments: String) -> Invocation {
        let deadline = self.deadline.at().map(Instant::into_std);
        let host: Arc<dyn CallHost> = self.run.clone();
        let mut context = CallContext::new(self.run.id(), self.position as usize, deadline, host);
        context.attempt = self.attempt;
        Invocation { arguments, context }
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
