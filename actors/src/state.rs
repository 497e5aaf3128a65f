//! ```text
//! StateActor
//! Receives  InvokeOnRow: calls of one list that has a row; RowIsFree: a call that waited has ended; GetRow, UpdateRow
//! Sends     answers to the list's mail, and the calls behind one that waits back to their list
//! Owns      nothing: the rows outlive it, and who has one is said by the engine's table of keys; those who save or load
//!           all rows lock them past it
//! Lives on  one arbiter; a tool with a row for each agent has an actor on each arbiter
//! Fails     a crash loses the calls under way on its rows, never a committed state
//! ```

mod access;

use std::{sync::Arc, task::Poll};

use actix::{Actor, Addr, AsyncContext, Context, Handler, Message};
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use toolyard_contract::{Copied, Invocation, Outcome, RowKey, Runner, Shard, ShardWork, Tool, ToolReturn};
use tracing::Instrument;

use crate::{
    admission::Permits,
    body::{Begun, drive_to_end},
    call_end::Finished,
    guard::{Ended, Guarded, run_guarded, start_guarded},
    keys::Hold,
    mail::{Answers, ReadyCall},
    moment,
    pulse::{DeathNote, Pulse},
    reply::{Group, MAILBOX, ReplySlot, post},
    restart::Crash,
    rows::SharedShard,
    tool::Spawner,
};

pub(crate) use access::{GetRow, RowError, UpdateRow};

/// Runs calls on one row, which comes with their permits: nobody else is at work on it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct InvokeOnRow {
    pub(crate) key: RowKey,
    pub(crate) group: Group,
}

/// The shard of one tool's rows.
pub(crate) struct StateActor {
    shard: SharedShard,
    spawner: Spawner,
    note: DeathNote,
}

impl StateActor {
    pub(crate) fn new(shard: SharedShard, spawner: Spawner, pulse: Arc<Pulse>) -> Self {
        Self { shard, spawner, note: DeathNote(pulse) }
    }
}

impl Actor for StateActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<InvokeOnRow> for StateActor {
    type Result = ();

    fn handle(&mut self, InvokeOnRow { key, group }: InvokeOnRow, ctx: &mut Self::Context) {
        self.note.0.begin_turn();
        self.serve(&key, group, &ctx.address());
        self.note.0.end_turn();
        self.note.0.beat();
    }
}

/// A call that waited or blocked has ended: its row is free once this has been handled, or is lost.
#[derive(Message)]
#[rtype(result = "()")]
struct RowIsFree {
    key: RowKey,
    _row: Option<Hold>,
    /// Its answer, unless that is out already.
    answer: Option<RowAnswer>,
}

struct RowAnswer {
    begun: Arc<Begun>,
    slot: ReplySlot,
    finished: Finished,
    copied: Option<Copied>,
}

impl Handler<RowIsFree> for StateActor {
    type Result = ();

    fn handle(&mut self, RowIsFree { key, answer, _row }: RowIsFree, _: &mut Self::Context) {
        if let Some(RowAnswer { begun, slot, finished, copied }) = answer {
            let finished = self.commit(&key, &begun, finished, copied);
            begun.run.control().forget(begun.position);
            slot.file(begun.timed(finished));
        }
    }
}

impl Handler<Crash> for StateActor {
    type Result = ();

    fn handle(&mut self, _: Crash, _: &mut Self::Context) {
        panic!("told to crash");
    }
}

/// How a call on a row went on.
enum Step {
    Ended(Finished),
    Waits(Guarded<(ToolReturn, Copied)>),
    Blocks(Box<dyn FnOnce() -> (ToolReturn, Copied) + Send>),
}

impl StateActor {
    /// Runs the calls of a group on their row until one waits, which keeps the row; the rest goes back to their list
    /// and holds nothing until the row is free.
    fn serve(&self, key: &RowKey, mut group: Group, here: &Addr<Self>) {
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
            match self.begin(key, &begun, arguments) {
                Step::Ended(finished) => {
                    now = moment::after(begun.started, finished.elapsed);
                    group.run.stop_at_last_try(group.entry.spec(), position, &finished);
                    ended.push((position, finished));
                    continue;
                }
                Step::Waits(work) => self.drive(key.clone(), begun, work, &mut group.permits, here.clone()),
                Step::Blocks(body) => {
                    self.run_on_thread(key.clone(), begun, body, &mut group.permits, here.clone());
                }
            }
            group.run.answer_many(ended);
            return group.give_back();
        }
        group.run.answer_many(ended);
    }

    /// Starts a call on its row; what does not wait is committed at once.
    fn begin(&self, key: &RowKey, begun: &Begun, arguments: String) -> Step {
        let _in_span = begun.span.enter();
        if let Err(changed) = begun.run.still_permitted(&*begun.entry.tool, begun.position, &arguments) {
            return Step::Ended(begun.timed(changed));
        }
        let invocation = begun.invocation(arguments, true);
        let started = {
            let mut shard = self.shard.lock();
            start_guarded(|| begin_where_it_runs(&mut **shard, key, begun, invocation))
        };
        let ended = match started {
            Err(panic) => Ended::Panicked(panic),
            Ok(ShardWork::Done(returned)) => Ended::Returned(returned),
            Ok(ShardWork::Blocks(body)) => return Step::Blocks(body),
            Ok(ShardWork::Waits(waits)) => {
                let mut work = Guarded::new(waits);
                match work.poll_now() {
                    Poll::Pending => return Step::Waits(work),
                    Poll::Ready(ended) => {
                        let (finished, copied) = judged(begun, ended);
                        return Step::Ended(begun.timed(self.commit(key, begun, finished, copied)));
                    }
                }
            }
        };
        Step::Ended(begun.timed(ended.judged_by(&begun.entry)))
    }

    fn commit(&self, key: &RowKey, begun: &Begun, finished: Finished, copied: Option<Copied>) -> Finished {
        let Some(copied) = copied.filter(|_| finished.outcome.is_ok()) else { return finished };
        match self.shard.lock().commit(key, copied) {
            Ok(()) => finished,
            Err(replaced) => {
                Finished::without_output(Outcome::Lost, format!("tool {:?}: {replaced}", begun.tool_name()))
            }
        }
    }

    /// Drives a call that waits; its row is free again when it has ended.
    fn drive(
        &self,
        key: RowKey,
        mut begun: Begun,
        work: Guarded<(ToolReturn, Copied)>,
        permits: &mut Permits,
        here: Addr<Self>,
    ) {
        let cancel = begun.run.control().token(begun.position);
        let work = self.spawner.watched(work, &self.note.0);
        let (slot, span) = (begun.slot(), begun.span.clone());
        let (permits, row) = (permits.split_one(), permits.take_row());
        let drive = async move {
            let (finished, copied) = match drive_to_end(&mut begun, work, permits, &cancel).await {
                Ok(ended) => judged(&begun, ended),
                Err(stopped) => (stopped, None),
            };
            let answer = Some(RowAnswer { begun: Arc::new(begun), slot, finished, copied });
            post(&here, RowIsFree { key, answer, _row: row });
        };
        self.spawner.spawn(drive.instrument(span));
    }

    /// Gives a body a thread. A body that outlives its deadline keeps permits and row until it ends.
    fn run_on_thread(
        &self,
        key: RowKey,
        begun: Begun,
        body: Box<dyn FnOnce() -> (ToolReturn, Copied) + Send>,
        permits: &mut Permits,
        here: Addr<Self>,
    ) {
        let (permits, row) = (permits.split_one(), permits.take_row());
        let (send, mut thread) = oneshot::channel();
        let cancel = begun.run.control().token(begun.position);
        let (slot, span, begun) = (begun.slot(), begun.span.clone(), Arc::new(begun));
        self.spawner.spawn_blocking(move || {
            let _in_span = span.enter();
            let ended = start_guarded(body).map_or_else(Ended::Panicked, Ended::Returned);
            drop(permits);
            // Nobody listens any more when the call was stopped: its answer is out.
            let _ = send.send(ended);
        });
        self.spawner.spawn(async move {
            let answer = match run_guarded(&mut thread, &cancel, begun.deadline, begun.tool_name()).await {
                Ok(Ok(ended)) => {
                    let (finished, copied) = judged(&begun, ended);
                    Some(RowAnswer { begun, slot, finished, copied })
                }
                Ok(Err(_)) => None, // the thread went away: the slot says so
                Err(stopped) => {
                    cancel.cancel(); // the body can ask whether it has been given up
                    slot.file(begun.timed(stopped).still_running());
                    let _ = thread.await; // what it brings comes too late
                    None
                }
            };
            post(&here, RowIsFree { key, answer, _row: row });
        });
    }
}

/// Starts a call on its row: here, or where its list's runner says.
fn begin_where_it_runs(
    shard: &mut dyn Shard,
    key: &RowKey,
    begun: &Begun,
    invocation: Invocation,
) -> ShardWork {
    match begun.run.runner() {
        Some(runner) => begin_elsewhere(shard, key, &**runner, &begun.entry.tool, invocation),
        None => shard.begin(key, invocation),
    }
}

/// Starts a call on a copy of its row, where a runner does it.
pub(crate) fn begin_elsewhere(
    shard: &mut dyn Shard,
    key: &RowKey,
    runner: &dyn Runner,
    tool: &Arc<dyn Tool>,
    invocation: Invocation,
) -> ShardWork {
    let mut invocation = Some(invocation);
    shard.begin_elsewhere(key, &mut |state| match invocation.take() {
        Some(invocation) => runner.run_with_state(tool.clone(), invocation, state),
        None => Box::pin(std::future::pending()), // a shard starts a call once
    })
}

/// Parts what a call gave back from the state that it would commit.
fn judged(begun: &Begun, ended: Ended<(ToolReturn, Copied)>) -> (Finished, Option<Copied>) {
    let mut copied = None;
    let ended = ended.map(|(returned, state)| {
        copied = Some(state);
        returned
    });
    (ended.judged_by(&begun.entry), copied)
}
