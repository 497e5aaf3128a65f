//! ```text
//! ToolActor
//! Receives  Invoke: calls of one list to this tool, with permits to run
//! Sends     answers to the list's mail
//! Owns      nothing; it gives a tool a mailbox and a place
//! Lives on  one arbiter, chosen when the tool is registered
//! Fails     never by a tool's fault: futures are polled under guard
//! ```

use std::sync::Arc;

use actix::{Actor, Context, Handler, Message};
use toolyard_contract::{Invocation, ToolFuture, ToolReturn};

use crate::{
    admission::Permits,
    body::{Begun, Bodies, Late, Runner, Spawner, Started},
    call_end::Finished,
    guard::{Ended, Guarded, start_guarded},
    pulse::{DeathNote, Pulse},
    reply::{Group, MAILBOX},
    restart::Crash,
};

/// Runs the calls that arrive; one message for all calls of a list that may start together.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Invoke(pub(crate) Group);

/// The mailbox of one tool.
pub(crate) struct ToolActor(Runner);

impl ToolActor {
    pub(crate) fn new(spawner: Spawner, pulse: Arc<Pulse>) -> Self {
        Self(Runner::new(spawner, DeathNote(pulse)))
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

    fn handle(&mut self, Invoke(group): Invoke, _: &mut Self::Context) {
        self.0.run(&Stateless, group);
    }
}

impl Handler<Crash> for ToolActor {
    type Result = ();

    fn handle(&mut self, _: Crash, _: &mut Self::Context) {
        panic!("told to crash");
    }
}

/// Calls that have nothing but their arguments: they may overlap.
struct Stateless;

impl Bodies for Stateless {
    type Back = ToolReturn;
    type Blocking = Invocation;
    type Kept = ();

    const ONE_BY_ONE: bool = false;

    fn start(&self, begun: &Begun, arguments: String) -> Started<ToolReturn, Invocation> {
        if begun.entry.is_blocking() {
            return Started::Blocks(begun.invocation(arguments, false));
        }
        match work_of(begun, begun.invocation(arguments, true)) {
            Ok(work) => Started::Waits(work),
            Err(ended) => Started::Ended(ended.judged_by(&begun.entry)),
        }
    }

    fn settle(&self, begun: &Begun, ended: Ended<ToolReturn>) -> Finished {
        ended.judged_by(&begun.entry)
    }

    fn keep(&self, _: &mut Permits) {}

    fn block(begun: &Begun, invocation: Invocation) -> Ended<ToolReturn> {
        work_of(begun, invocation).map_or_else(|ended| ended, Guarded::block_on)
    }

    fn finish((): (), late: Option<Late<ToolReturn>>) {
        if let Some(late) = late {
            late.file(|begun, ended| ended.judged_by(&begun.entry));
        }
    }
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
