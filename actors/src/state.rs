//! ```text
//! StateActor
//! Receives  InvokeOnRow: calls of one list to one row; RowIsFree: a call that waited has ended;
//!           Purge: look after those who wait for a row; GetRow, UpdateRow
//! Sends     answers over the list's channel
//! Owns      which rows are busy and who waits for them; the rows themselves outlive it, and those who save or load
//!           all of them lock them past it
//! Lives on  one arbiter; a tool with a row for each agent has an actor on each arbiter
//! Fails     a crash loses the calls under way on its rows, never a committed state
//! ```

mod access;
mod hold;
mod origin;
mod queue;
mod table;

use std::{sync::Arc, task::Poll};

use actix::{Actor, Addr, AsyncContext, Context, Handler, Message};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use toolyard_contract::{Copied, Invocation, Outcome, RowKey, Shard, ShardWork, ToolReturn};
use tracing::Instrument;

use self::queue::{Purge, Queue};
use crate::{
    admission::Permits,
    begun::Begun,
    event::WaitsFor,
    guard::{Ended, Guarded, run_guarded, start_guarded},
    mail::Answers,
    messages::Crash,
    moment,
    reply::{Finished, Group, MAILBOX, ReadyCall, ReplySlot, post},
    restart::{DeathNote, Pulse},
    tool::Spawner,
};

pub(crate) use access::{GetRow, RowError, UpdateRow};
pub(crate) use hold::hold_all;

pub(crate) use origin::{StateOrigin, new_state};
pub(crate) use table::RowTable;

/// Rows that outlive the actors that serve them, one after the other.
pub(crate) type SharedShard = Arc<Mutex<Box<dyn Shard>>>;

/// Runs calls on one row, one at a time.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct InvokeOnRow {
    pub(crate) key: RowKey,
    pub(crate) group: Group,
}

/// The shard of one tool's rows.
pub(crate) struct StateActor {
    shard: SharedShard,
    /// Rows on which a call waits for something, and who waits for the row.
    busy: FxHashMap<RowKey, Queue>,
    spawner: Spawner,
    note: DeathNote,
}

impl StateActor {
    pub(crate) fn new(shard: SharedShard, spawner: Spawner, pulse: Arc<Pulse>) -> Self {
        Self { shard, busy: FxHashMap::default(), spawner, note: DeathNote(pulse) }
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
        match self.busy.get_mut(&key) {
            Some(queue) => {
                tell_waiting(&group);
                queue.push(group, &key, ctx.address());
            }
            None => self.serve(&key, group, &ctx.address(), tell_waiting),
        }
        self.note.0.beat();
    }
}

/// A call that waited or blocked has ended, and its row is free.
#[derive(Message)]
#[rtype(result = "()")]
struct RowIsFree {
    key: RowKey,
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

    fn handle(&mut self, RowIsFree { key, answer }: RowIsFree, ctx: &mut Self::Context) {
        if let Some(RowAnswer { begun, slot, finished, copied }) = answer {
            let finished = self.commit(&key, &begun, finished, copied);
            begun.run.control().forget(begun.position);
            slot.file(begun.timed(finished));
        }
        let mut waiting = self.busy.remove(&key).unwrap_or_default();
        while let Some(group) = waiting.pop() {
            self.serve(&key, group, &ctx.address(), |_| {}); // its calls were told already
            if let Some(queue) = self.busy.get_mut(&key) {
                queue.append(waiting); // busy again: the rest waits behind
                return;
            }
        }
    }
}

impl Handler<Purge> for StateActor {
    type Result = ();

    fn handle(&mut self, Purge { key }: Purge, _: &mut Self::Context) {
        if let Some(queue) = self.busy.get_mut(&key) {
            queue.purge(Instant::now());
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
    /// Runs the calls of a group on a free row until one waits; the rest, which is told so, waits
    /// behind it.
    fn serve(&mut self, key: &RowKey, mut group: Group, here: &Addr<Self>, tell: impl FnOnce(&Group)) {
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
                Step::Waits(work) => {
                    self.drive(key.clone(), begun, work, group.permits.split_one(), here.clone());
                }
                Step::Blocks(body) => {
                    self.run_on_thread(key.clone(), begun, body, group.permits.split_one(), here.clone());
                }
            }
            tell(&group);
            let run = group.run.clone();
            self.busy.entry(key.clone()).or_default().push(group, key, here.clone());
            return run.answer_many(ended);
        }
        group.run.answer_many(ended);
    }

    /// Starts a call on its row; what does not wait is committed at once.
    fn begin(&self, key: &RowKey, begun: &Begun, arguments: String) -> Step {
        let _in_span = begun.span.enter();
        let invocation = begun.invocation(arguments);
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
        begun: Begun,
        work: Guarded<(ToolReturn, Copied)>,
        permits: Permits,
        here: Addr<Self>,
    ) {
        let cancel = begun.run.control().token(begun.position);
        let (slot, span, begun) = (begun.slot(), begun.span.clone(), Arc::new(begun));
        let drive = async move {
            let (finished, copied) = match run_guarded(work, &cancel, begun.deadline, begun.tool_name()).await
            {
                Ok(ended) => judged(&begun, ended),
                Err(stopped) => (stopped, None),
            };
            drop(permits);
            post(&here, RowIsFree { key, answer: Some(RowAnswer { begun, slot, finished, copied }) });
        };
        self.spawner.spawn(drive.instrument(span));
    }

    /// Gives a body a thread. A body that outlives its deadline keeps permits and row until it ends.
    fn run_on_thread(
        &self,
        key: RowKey,
        begun: Begun,
        body: Box<dyn FnOnce() -> (ToolReturn, Copied) + Send>,
        permits: Permits,
        here: Addr<Self>,
    ) {
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
            post(&here, RowIsFree { key, answer });
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
    let Some(runner) = begun.run.runner() else { return shard.begin(key, invocation) };
    let mut invocation = Some(invocation);
    shard.begin_elsewhere(key, &mut |state| match invocation.take() {
        Some(invocation) => runner.run_with_state(begun.entry.tool.clone(), invocation, state),
        None => Box::pin(std::future::pending()), // a shard starts a call once
    })
}

/// Tells those who listen that the calls of a group wait for their row.
fn tell_waiting(group: &Group) {
    group.run.tell_waiting(group.calls.as_slice().iter().map(|call| call.position), WaitsFor::Row);
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
