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
use toolyard_contract::{Invocation, ToolFuture, ToolReturn};
use tracing::Instrument;

use crate::{
    admission::Permits,
    body::{Begun, drive_to_end},
    call_end::Finished,
    guard::{Ended, Guarded, Turns, run_guarded, start_guarded},
    mail::{Answers, ReadyCall},
    moment,
    pulse::{DeathNote, Pulse},
    reply::{Group, MAILBOX},
    restart::Crash,
};

/// Runs the calls that arrive; one message for all calls of a list that may start together.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Invoke(pub(crate) Group);

/// The mailbox of one tool.
pub(crate) struct ToolActor {
    spawner: Spawner,
    note: DeathNote,
}

impl ToolActor {
    pub(crate) fn new(spawner: Spawner, pulse: Arc<Pulse>) -> Self {
        Self { spawner, note: DeathNote(pulse) }
    }
}

impl Actor for ToolActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Invoke> for ToolActor {
    type Result = ();

    fn handle(&mut self, Invoke(mut group): Invoke, _: &mut Self::Context) {
        self.note.0.begin_turn();
        let runtime = self.spawner.0.clone();
        let _entered = runtime.as_ref().map(Handle::enter);
        let mut ended = Answers::with_capacity(group.calls.len());
        let mut now = Instant::now();
        while let Some(ReadyCall { position, arguments, attempt }) = group.calls.next() {
            if let Some(reason) = group.run.skip_reason(position, now) {
                ended.push((position, group.skipped(reason)));
                continue;
            }
            let begun = Begun::new(&group.run, &group.entry, (position, attempt), now);
            if group.entry.is_blocking() {
                self.run_on_thread(begun, arguments, group.permits.split_one());
                continue;
            }
            match poll_first(&begun, arguments) {
                First::Ended(finished) => {
                    now = moment::after(begun.started, finished.elapsed);
                    group.run.stop_at_last_try(group.entry.spec(), position, &finished);
                    ended.push((position, finished));
                }
                First::Waits(work) => {
                    let work = self.spawner.watched(work, &self.note.0);
                    self.spawner.spawn(drive(begun, work, group.permits.split_one()));
                    now = Instant::now();
                }
            }
        }
        self.note.0.end_turn();
        group.run.answer_many(ended);
        self.note.0.beat();
    }
}

impl Handler<Crash> for ToolActor {
    type Result = ();

    fn handle(&mut self, _: Crash, _: &mut Self::Context) {
        panic!("told to crash");
    }
}

/// What the first poll of a call brought.
enum First {
    Ended(Finished),
    Waits(Guarded<ToolReturn>),
}

/// Asks the tool, or the runner in its place, for the work of a call, which may be done at once. What a policy
/// has let pass is looked at once more: calls before this one may have changed what it names.
fn work_of(begun: &Begun, invocation: Invocation) -> Result<Guarded<ToolReturn>, Ended<ToolReturn>> {
    if let Err(changed) = begun.run.still_permitted(&*begun.entry.tool, begun.position, &invocation.arguments)
    {
        return Err(Ended::Refused(Box::new(changed)));
    }
    let start = || match begun.run.runner() {
        Some(runner) => runner.run(begun.entry.tool.clone(), invocation),
        None => begun.entry.tool.clone().call(invocation),
    };
    match start_guarded(start).map(ToolFuture::into_answer) {
        Ok(Err(future)) => Ok(Guarded::new(future)),
        Ok(Ok(answer)) => Err(Ended::Returned(answer)),
        Err(panic) => Err(Ended::Panicked(panic)),
    }
}

/// Starts the work and polls it once, here: a call that ends at once needs no task and no timer.
fn poll_first(begun: &Begun, arguments: String) -> First {
    let _in_span = begun.span.enter();
    match work_of(begun, begun.invocation(arguments, true)) {
        Err(ended) => First::Ended(settled(begun, ended)),
        Ok(mut work) => match work.poll_now() {
            Poll::Ready(ended) => First::Ended(settled(begun, ended)),
            Poll::Pending => First::Waits(work),
        },
    }
}

fn settled(begun: &Begun, ended: Ended<ToolReturn>) -> Finished {
    begun.timed(ended.judged_by(&begun.entry))
}

/// Drives work that waits to its end.
fn drive(
    mut begun: Begun,
    work: Turns<ToolReturn>,
    permits: Permits,
) -> impl Future<Output = ()> + Send + use<> {
    let cancel = begun.run.control().token(begun.position);
    let slot = begun.slot();
    let span = begun.span.clone();
    let drive = async move {
        let finished = match drive_to_end(&mut begun, work, permits, &cancel).await {
            Ok(ended) => settled(&begun, ended),
            Err(stopped) => begun.timed(stopped),
        };
        begun.run.control().forget(begun.position);
        slot.file(finished);
    };
    drive.instrument(span)
}

impl ToolActor {
    /// Gives a body a thread of the blocking pool. The permits stay with the thread: a body that
    /// cannot be stopped keeps its place until it ends.
    fn run_on_thread(&self, begun: Begun, arguments: String, permits: Permits) {
        let (send, body) = oneshot::channel();
        let invocation = begun.invocation(arguments, false);
        let (slot, cancel) = (begun.slot(), begun.run.control().token(begun.position));
        let begun = Arc::new(begun);
        let on_thread = begun.clone();
        self.spawner.spawn_blocking(move || {
            let _in_span = on_thread.span.enter();
            let work = work_of(&on_thread, invocation);
            let ended = work.map_or_else(|ended| ended, Guarded::block_on);
            drop(permits);
            // Nobody listens any more when the call was stopped: its answer is out.
            let _ = send.send(ended);
        });
        self.spawner.spawn(async move {
            match run_guarded(body, &cancel, begun.deadline, begun.tool_name()).await {
                Ok(Ok(ended)) => {
                    begun.run.control().forget(begun.position);
                    slot.file(settled(&begun, ended));
                }
                Ok(Err(_)) => drop(slot), // the thread went away: the slot says so
                Err(stopped) => {
                    cancel.cancel(); // the body can ask whether it has been given up
                    slot.file(begun.timed(stopped).still_running());
                }
            }
        });
    }
}

/// Where what waits or blocks is driven: on the host's runtime, or on the actor's arbiter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spawner(pub(crate) Option<Handle>);

impl Spawner {
    /// Lets the turns of work be watched, where they are turns of the actor's arbiter.
    pub(crate) fn watched<T>(&self, work: Guarded<T>, pulse: &Arc<Pulse>) -> Turns<T> {
        Turns { work, pulse: self.0.is_none().then(|| pulse.clone()) }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Some(runtime) => drop(runtime.spawn(task)),
            None => drop(tokio::task::spawn_local(task)),
        }
    }

    pub(crate) fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        match &self.0 {
            Some(runtime) => drop(runtime.spawn_blocking(body)),
            None => drop(tokio::task::spawn_blocking(body)),
        }
    }
}
