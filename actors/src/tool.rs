//! ```text
//! ToolActor
//! Receives  Invoke: calls of one list to this tool, with permits to run
//! Sends     answers over the list's channel
//! Owns      nothing; it gives a tool a mailbox and a place
//! Lives on  one arbiter, chosen when the tool is registered
//! Fails     never by a tool's fault: futures are polled under guard
//! ```

use std::{sync::Arc, task::Poll};

use actix::{Actor, Context, Handler, Message};
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use toolyard_contract::{CallContext, CallHost, Invocation, Outcome, result::micros};
use tracing::{Instrument, Span};

use crate::{
    admission::Permits,
    guard::{Deadline, Ended, Guarded, run_guarded},
    observe::EventKind,
    reply::{Finished, Group, ReadyCall, ReplySlot},
    supervisor::{catalog::Entry, run::Run},
};

/// Runs the calls that arrive; one message for all calls of a list that may start together.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Invoke(pub(crate) Group);

/// The mailbox of one tool.
pub struct ToolActor {
    /// Where futures that wait are driven; `None`: on this actor's arbiter.
    runtime: Option<Handle>,
}

impl ToolActor {
    pub(crate) fn new(runtime: Option<Handle>) -> Self {
        Self { runtime }
    }
}

impl Actor for ToolActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // What is in the mailbox holds permits, so the bound is theirs; actix's own would only
        // make senders lazy.
        ctx.set_mailbox_capacity(usize::MAX);
    }
}

impl Handler<Invoke> for ToolActor {
    type Result = ();

    fn handle(&mut self, Invoke(mut group): Invoke, _: &mut Self::Context) {
        let runtime = self.runtime.clone();
        let _entered = runtime.as_ref().map(Handle::enter);
        let mut ended = Vec::with_capacity(group.calls.len());
        let mut now = Instant::now();
        for ReadyCall { position, arguments } in group.calls.by_ref() {
            if let Some(reason) = group.run.skip_reason(position, now) {
                let error = format!("tool {:?}: {reason}", group.entry.spec().name);
                ended.push((position, Finished::without_output(Outcome::Skipped, error)));
                continue;
            }
            let begun = Begun::new(&group.run, &group.entry, position, now);
            if group.entry.is_blocking() {
                self.run_on_thread(begun, arguments, group.permits.split_one());
                continue;
            }
            match begun.poll_first(arguments) {
                First::Ended(finished) => {
                    now = begun.started + finished.elapsed;
                    group.run.stop_at_failure(&finished);
                    ended.push((position, finished));
                }
                First::Waits(work) => {
                    self.spawn(begun.drive(work, group.permits.split_one()));
                    now = Instant::now();
                }
            }
        }
        if !ended.is_empty() {
            group.run.answer_many(ended);
        }
    }
}

/// A call whose work begins.
struct Begun {
    run: Arc<Run>,
    entry: Arc<Entry>,
    position: u32,
    started: Instant,
    deadline: Deadline,
    span: Span,
}

/// What the first poll of a call brought.
enum First {
    Ended(Finished),
    Waits(Guarded),
}

impl Begun {
    fn new(run: &Arc<Run>, entry: &Arc<Entry>, position: u32, started: Instant) -> Self {
        let timeout = entry.spec().timeout.or(run.timeout());
        let deadline = Deadline::earlier(started, timeout, run.deadline());
        if run.listens() {
            run.emit(EventKind::Started(run.info(position)));
        }
        let span = run.call_span(position, started);
        Self { run: run.clone(), entry: entry.clone(), position, started, deadline, span }
    }

    /// Starts the work and polls it once, here: a call that ends at once needs no task and no timer.
    fn poll_first(&self, arguments: String) -> First {
        let _in_span = self.span.enter();
        match Guarded::start(&self.entry, &self.run, self.invocation(arguments)) {
            Err(ended) => First::Ended(self.ended(ended)),
            Ok(mut work) => match work.poll_now() {
                Poll::Ready(ended) => First::Ended(self.ended(ended)),
                Poll::Pending => First::Waits(work),
            },
        }
    }

    /// Drives work that waits to its end.
    fn drive(self, work: Guarded, permits: Permits) -> impl Future<Output = ()> + Send + use<> {
        let cancel = self.run.control().token(self.position);
        let slot = ReplySlot::new(self.run.clone(), self.entry.clone(), self.position);
        let span = self.span.clone();
        let drive = async move {
            let finished = match run_guarded(work, &cancel, self.deadline, &self.entry.spec().name).await {
                Ok(ended) => self.ended(ended),
                Err(stopped) => self.timed(stopped),
            };
            drop(permits);
            self.run.control().forget(self.position);
            slot.file(finished);
        };
        drive.instrument(span)
    }

    /// Waits for a body that runs on a thread. When it is stopped it is told so, but may go on.
    fn await_thread(self, body: oneshot::Receiver<Ended>) -> impl Future<Output = ()> + Send + use<> {
        let cancel = self.run.control().token(self.position);
        let slot = ReplySlot::new(self.run.clone(), self.entry.clone(), self.position);
        async move {
            match run_guarded(body, &cancel, self.deadline, &self.entry.spec().name).await {
                Ok(Ok(ended)) => {
                    self.run.control().forget(self.position);
                    slot.file(self.ended(ended));
                }
                Ok(Err(_)) => drop(slot), // the thread went away: the slot says so
                Err(stopped) => {
                    cancel.cancel();
                    slot.file(self.timed(stopped).still_running());
                }
            }
        }
    }

    fn invocation(&self, arguments: String) -> Invocation {
        let deadline = self.deadline.at().map(Instant::into_std);
        let host: Arc<dyn CallHost> = self.run.clone();
        let context = CallContext::new(self.run.id(), self.position as usize, deadline, host);
        Invocation { arguments, context }
    }

    fn ended(&self, ended: Ended) -> Finished {
        self.timed(ended.judged_by(&self.entry))
    }

    fn timed(&self, mut finished: Finished) -> Finished {
        finished.waited = self.started - self.run.began();
        finished.elapsed = self.started.elapsed();
        self.span.record("run_us", micros(finished.elapsed));
        self.span.record("outcome", finished.outcome.as_str());
        finished
    }
}

impl ToolActor {
    /// Gives a body a thread of the blocking pool. The permits stay with the thread: a body that
    /// cannot be stopped keeps its place until it ends.
    fn run_on_thread(&self, begun: Begun, arguments: String, permits: Permits) {
        let (send, receive) = oneshot::channel();
        let invocation = begun.invocation(arguments);
        let (entry, run, span) = (begun.entry.clone(), begun.run.clone(), begun.span.clone());
        // The duty to answer is taken up before the body can end.
        let waiting = begun.await_thread(receive);
        let body = move || {
            let _in_span = span.enter();
            let ended =
                Guarded::start(&entry, &run, invocation).map_or_else(|ended| ended, Guarded::block_on);
            drop(permits);
            // Nobody listens any more when the call was stopped: its answer is out.
            let _ = send.send(ended);
        };
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn_blocking(body)),
            None => drop(tokio::task::spawn_blocking(body)),
        }
        self.spawn(waiting);
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(task)),
            None => drop(tokio::task::spawn_local(task)),
        }
    }
}
