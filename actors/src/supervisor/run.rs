//! One list under way: what its calls, their tools and its caller share.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use toolyard_contract::{CallHost, CallId, RunId, Runner, result::micros};
use tracing::Span;

use super::gate::Label;
use crate::{
    messages::ExecuteOptions,
    observe::{CallInfo, EventKind, Observers},
    reply::{Answers, Filed, Finished},
};

/// One list under way.
pub(crate) struct Run {
    id: RunId,
    agent: Option<Arc<str>>,
    runner: Option<Arc<dyn Runner>>,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    stop_on_failure: bool,
    began: Instant,
    labels: Vec<Label>,
    answers: Answers,
    control: RunControl,
    observers: Arc<Observers>,
    span: Span,
}

impl Run {
    pub(crate) fn new(
        id: RunId,
        options: &ExecuteOptions,
        default_timeout: Option<Duration>,
        labels: Vec<Label>,
        answers: Answers,
        control: RunControl,
        observers: Arc<Observers>,
    ) -> Self {
        let began = Instant::now();
        let agent = options.agent.clone();
        let span = tracing::info_span!("list", run = id.0, calls = labels.len(), agent = agent.as_deref());
        Self {
            id,
            agent,
            runner: options.runner.clone(),
            timeout: options.timeout.or(default_timeout),
            deadline: options.deadline.and_then(|deadline| began.checked_add(deadline)),
            stop_on_failure: options.stop_on_failure,
            began,
            labels,
            answers,
            control,
            observers,
            span,
        }
    }

    pub(crate) fn id(&self) -> RunId {
        self.id
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn runner(&self) -> Option<&Arc<dyn Runner>> {
        self.runner.as_ref()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn control(&self) -> &RunControl {
        &self.control
    }

    pub(crate) fn into_labels(self) -> Vec<Label> {
        self.labels
    }

    pub(crate) fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Files the answer of a call that ran on its own.
    pub(crate) fn answer(&self, position: u32, finished: Finished) {
        self.stop_at_failure(&finished);
        // The driver outlives its calls unless the engine is torn down; then nobody waits.
        let _ = self.answers.send(Filed::One(position, finished));
    }

    /// Files the answers of calls that ended together.
    pub(crate) fn answer_many(&self, answers: Vec<(u32, Finished)>) {
        let _ = self.answers.send(Filed::Many(answers));
    }

    /// Lets nothing more begin when a call has ended badly and the caller asked for that.
    pub(crate) fn stop_at_failure(&self, finished: &Finished) {
        if self.stop_on_failure && !finished.outcome.is_ok() {
            self.control.start_nothing_more();
        }
    }

    /// Why the call must not begin any more, if so.
    pub(crate) fn skip_reason(&self, position: u32, now: Instant) -> Option<&'static str> {
        if self.control.0.touched.load(Ordering::Acquire) {
            if self.control.is_cancelled() || self.control.call_is_cancelled(position) {
                return Some("cancelled before it began");
            }
            if self.control.0.stopping.load(Ordering::Acquire) {
                return Some("not begun, because a call before it did not end ok");
            }
        }
        self.deadline.filter(|deadline| *deadline <= now).map(|_| "not begun before the deadline of its list")
    }

    pub(crate) fn listens(&self) -> bool {
        self.observers.listens()
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.observers.emit(self.id, kind);
    }

    pub(crate) fn info(&self, position: u32) -> CallInfo {
        let Label { tool, id } = &self.labels[position as usize];
        CallInfo { index: position as usize, tool: tool.clone(), id: id.clone() }
    }

    /// The span of the list.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Makes the span of a call that begins; arguments are never recorded.
    pub(crate) fn call_span(&self, position: u32, started: Instant) -> Span {
        let label = &self.labels[position as usize];
        tracing::debug_span!(
            parent: &self.span,
            "tool_call",
            tool = label.tool.as_str(),
            call_id = label.id.as_text(),
            wait_us = micros(started - self.began),
            run_us = tracing::field::Empty,
            outcome = tracing::field::Empty,
        )
    }
}

impl CallHost for Run {
    fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    fn call_id(&self, position: usize) -> Option<&CallId> {
        self.labels.get(position).map(|label| &label.id)
    }

    fn is_cancelled(&self, position: usize) -> bool {
        self.control.is_cancelled()
            || u32::try_from(position).is_ok_and(|position| self.control.call_is_cancelled(position))
    }

    fn listens(&self) -> bool {
        self.observers.listens()
    }

    fn progress(&self, position: usize, payload: Value) {
        if let Ok(position) = u32::try_from(position) {
            self.emit(EventKind::Progress { call: self.info(position), payload });
        }
    }
}

/// A caller's hand on a list: cancels one call, or all of it.
///
/// What was running ends `cancelled` and what had not begun ends `skipped`; what has ended stays as
/// it is. Clones are hands on the same list.
#[derive(Clone, Default)]
pub struct RunControl(Arc<Control>);

#[derive(Default)]
struct Control {
    /// Set before anything below changes, so that the common case is one load.
    touched: AtomicBool,
    stopping: AtomicBool,
    all: CancellationToken,
    calls: Mutex<FxHashMap<u32, CancellationToken>>,
    changed: Notify,
}

impl RunControl {
    /// Makes a hand for a list that is about to be sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the whole list.
    pub fn cancel(&self) {
        self.0.touched.store(true, Ordering::Release);
        self.0.all.cancel();
        self.0.changed.notify_one();
    }

    /// Cancels the call at `position`, whether it has begun or not.
    pub fn cancel_call(&self, position: usize) {
        let Ok(position) = u32::try_from(position) else { return };
        self.0.touched.store(true, Ordering::Release);
        self.token(position).cancel();
        self.0.changed.notify_one();
    }

    /// Tells whether the whole list has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.all.is_cancelled()
    }

    pub(crate) fn call_is_cancelled(&self, position: u32) -> bool {
        self.0.calls.lock().get(&position).is_some_and(CancellationToken::is_cancelled)
    }

    /// The positions of calls that were cancelled one by one.
    pub(crate) fn cancelled_calls(&self) -> Vec<u32> {
        let calls = self.0.calls.lock();
        calls.iter().filter(|(_, token)| token.is_cancelled()).map(|(position, _)| *position).collect()
    }

    /// Waits until something was cancelled or stopped since the last time.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// The token that ends a call which waits.
    pub(crate) fn token(&self, position: u32) -> CancellationToken {
        self.0.calls.lock().entry(position).or_insert_with(|| self.0.all.child_token()).clone()
    }

    /// Forgets the token of a call that ended by itself.
    pub(crate) fn forget(&self, position: u32) {
        self.0.calls.lock().remove(&position);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.0.touched.load(Ordering::Acquire) && self.0.stopping.load(Ordering::Acquire)
    }

    fn start_nothing_more(&self) {
        self.0.stopping.store(true, Ordering::Release);
        self.0.touched.store(true, Ordering::Release);
    }
}

impl fmt::Debug for RunControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunControl").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}
