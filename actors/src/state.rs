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

use std::sync::Arc;

use actix::{Actor, Addr, AsyncContext, Context, Handler, Message};
use toolyard_contract::{
    Copied, Invocation, Outcome, RowKey, Runner as Elsewhere, Shard, ShardWork, Tool, ToolReturn,
};

use crate::{
    admission::Permits,
    body::{Begun, Bodies, Late, Runner, Spawner, Started},
    call_end::Finished,
    guard::{Ended, Guarded, start_guarded},
    keys::Hold,
    pulse::{DeathNote, Pulse},
    reply::{Group, MAILBOX, post},
    restart::Crash,
    rows::SharedShard,
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
    runner: Runner,
}

impl StateActor {
    pub(crate) fn new(shard: SharedShard, spawner: Spawner, pulse: Arc<Pulse>) -> Self {
        Self { shard, runner: Runner::new(spawner, DeathNote(pulse)) }
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
        let bodies = OnRow { shard: &self.shard, key, here: ctx.address() };
        self.runner.run(&bodies, group);
    }
}

/// A call that waited or blocked has ended: its row is free once this has been handled, or is lost.
#[derive(Message)]
#[rtype(result = "()")]
struct RowIsFree {
    key: RowKey,
    _row: Option<Hold>,
    /// Its end, unless its answer is out already.
    late: Option<Late<Back>>,
}

impl Handler<RowIsFree> for StateActor {
    type Result = ();

    fn handle(&mut self, RowIsFree { key, late, _row }: RowIsFree, _: &mut Self::Context) {
        if let Some(late) = late {
            late.file(|begun, ended| settle(&self.shard, &key, begun, ended));
        }
    }
}

impl Handler<Crash> for StateActor {
    type Result = ();

    fn handle(&mut self, _: Crash, _: &mut Self::Context) {
        panic!("told to crash");
    }
}

/// What a call on a row gives back: its answer, and what it has made of its copy of the row.
type Back = (ToolReturn, Copied);

/// Calls on one row. One that goes on after its turn keeps the row; those behind it go back to their list and hold nothing
/// until the row is free.
struct OnRow<'a> {
    shard: &'a SharedShard,
    key: RowKey,
    here: Addr<StateActor>,
}

/// The row of a call that goes on.
struct Kept {
    key: RowKey,
    row: Option<Hold>,
    owner: Addr<StateActor>,
}

impl Bodies for OnRow<'_> {
    type Back = Back;
    type Blocking = Box<dyn FnOnce() -> Back + Send>;
    type Kept = Kept;

    const ONE_BY_ONE: bool = true;

    fn start(&self, begun: &Begun, arguments: String) -> Started<Back, Self::Blocking> {
        if let Err(changed) = begun.run.still_permitted(&*begun.entry.tool, begun.position, &arguments) {
            return Started::Ended(changed);
        }
        let invocation = begun.invocation(arguments, true);
        let started = {
            let mut shard = self.shard.lock();
            start_guarded(|| begin_where_it_runs(&mut **shard, &self.key, begun, invocation))
        };
        let ended = match started {
            Err(panic) => Ended::Panicked(panic),
            Ok(ShardWork::Done(returned)) => Ended::Returned(returned),
            Ok(ShardWork::Waits(waits)) => return Started::Waits(Guarded::new(waits)),
            Ok(ShardWork::Blocks(body)) => return Started::Blocks(body),
        };
        Started::Ended(ended.judged_by(&begun.entry))
    }

    fn settle(&self, begun: &Begun, ended: Ended<Back>) -> Finished {
        settle(self.shard, &self.key, begun, ended)
    }

    fn keep(&self, permits: &mut Permits) -> Kept {
        Kept { key: self.key.clone(), row: permits.take_row(), owner: self.here.clone() }
    }

    fn block(_: &Begun, body: Self::Blocking) -> Ended<Back> {
        start_guarded(body).map_or_else(Ended::Panicked, Ended::Returned)
    }

    fn finish(Kept { key, row, owner }: Kept, late: Option<Late<Back>>) {
        post(&owner, RowIsFree { key, _row: row, late });
    }
}

/// Gives the shard what a call has made of its copy, and says how the call ended.
fn settle(shard: &SharedShard, key: &RowKey, begun: &Begun, ended: Ended<Back>) -> Finished {
    let mut copied = None;
    let ended = ended.map(|(returned, state)| {
        copied = Some(state);
        returned
    });
    let finished = ended.judged_by(&begun.entry);
    match copied.map(|copied| shard.lock().commit(key, copied)) {
        Some(Err(replaced)) => {
            Finished::without_output(Outcome::Lost, format!("tool {:?}: {replaced}", begun.tool_name()))
        }
        _ => finished,
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
    runner: &dyn Elsewhere,
    tool: &Arc<dyn Tool>,
    invocation: Invocation,
) -> ShardWork {
    let mut invocation = Some(invocation);
    shard.begin_elsewhere(key, &mut |state| match invocation.take() {
        Some(invocation) => runner.run_with_state(tool.clone(), invocation, state),
        None => Box::pin(std::future::pending()), // a shard starts a call once
    })
}
