//! Runs the calls of a group: those that end at once here, those that wait as tasks, those that block on threads.
//!
//! Whether the tool keeps state makes no difference to that; [`Bodies`] says what does.

use std::task::Poll;

use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tracing::Instrument;

use super::{begun::Begun, spawner::Spawner, to_end::drive_to_end};
use crate::{
    admission::Permits,
    call_end::Finished,
    guard::{Ended, Guarded, run_guarded},
    mail::{Answers, ReadyCall},
    moment,
    pulse::DeathNote,
    reply::{Group, ReplySlot},
};

/// The bodies of the calls of one group.
pub(crate) trait Bodies {
    /// What a body gives back.
    type Back: Send + 'static;
    /// Work that blocks.
    type Blocking: Send + 'static;
    /// What a call keeps, beside its permits, when it goes on after its turn, until its end has been dealt with.
    type Kept: Send + 'static;

    /// Whether the calls behind one that goes on after its turn must wait until that has ended.
    const ONE_BY_ONE: bool;

    /// Asks for the work of a call.
    fn start(&self, begun: &Begun, arguments: String) -> Started<Self::Back, Self::Blocking>;

    /// Makes the answer of a call whose work ended in its turn.
    fn settle(&self, begun: &Begun, ended: Ended<Self::Back>) -> Finished;

    /// Takes what a call keeps that goes on; the permits are those of its group.
    fn keep(&self, permits: &mut Permits) -> Self::Kept;

    /// Does work that blocks, on its thread.
    fn block(begun: &Begun, work: Self::Blocking) -> Ended<Self::Back>;

    /// Deals with the end of a call that went on after its turn. `None`: its answer is out already.
    fn finish(kept: Self::Kept, late: Option<Late<Self::Back>>);
}

/// How a call goes on.
pub(crate) enum Started<B, W> {
    Ended(Finished),
    Waits(Guarded<B>),
    Blocks(W),
}

/// The end of a call that went on after its turn, which has no answer yet.
pub(crate) struct Late<B> {
    begun: Begun,
    slot: ReplySlot,
    /// What the work brought, or why it was stopped.
    ended: Result<Ended<B>, Finished>,
}

impl<B> Late<B> {
    /// Files the answer, which `settle` makes of what the work brought.
    pub(crate) fn file(self, settle: impl FnOnce(&Begun, Ended<B>) -> Finished) {
        let Self { begun, slot, ended } = self;
        let finished = ended.map_or_else(|stopped| stopped, |ended| settle(&begun, ended));
        begun.run.control().forget(begun.position);
        slot.file(begun.timed(finished));
    }
}

/// Runs the calls that one actor gets.
pub(crate) struct Runner {
    spawner: Spawner,
    note: DeathNote,
}

impl Runner {
    pub(crate) fn new(spawner: Spawner, note: DeathNote) -> Self {
        Self { spawner, note }
    }

    /// Runs the calls of a group, or those before the first that the others must wait for: these go back to their list.
    pub(crate) fn run<B: Bodies>(&self, bodies: &B, mut group: Group) {
        let _entered = self.spawner.0.as_ref().map(Handle::enter);
        self.note.0.begin_turn();
        let ended = self.serve(bodies, &mut group);
        self.note.0.end_turn();
        group.run.answer_many(ended);
        group.give_back();
        self.note.0.beat();
    }

    fn serve<B: Bodies>(&self, bodies: &B, group: &mut Group) -> Answers {
        let mut ended = Answers::with_capacity(group.calls.len());
        let mut now = Instant::now();
        while let Some(ReadyCall { position, arguments, attempt }) = group.calls.next() {
            if let Some(reason) = group.run.skip_reason(position, now) {
                ended.push((position, group.skipped(reason)));
                continue;
            }
            let begun = Begun::new(&group.run, &group.entry, (position, attempt), now);
            match first_turn(bodies, &begun, arguments) {
                Started::Ended(finished) => {
                    now = moment::after(begun.started, finished.elapsed);
                    group.run.stop_at_last_try(group.entry.spec(), position, &finished);
                    ended.push((position, finished));
                    continue;
                }
                Started::Waits(work) => {
                    let kept = bodies.keep(&mut group.permits);
                    self.drive::<B>(begun, work, group.permits.split_one(), kept);
                    now = Instant::now();
                }
                Started::Blocks(work) => {
                    let kept = bodies.keep(&mut group.permits);
                    self.run_on_thread::<B>(begun, work, group.permits.split_one(), kept);
                }
            }
            if B::ONE_BY_ONE {
                break;
            }
        }
        ended
    }

    /// Drives a call that waits to its end.
    fn drive<B: Bodies>(&self, mut begun: Begun, work: Guarded<B::Back>, permits: Permits, kept: B::Kept) {
        let cancel = begun.run.control().token(begun.position);
        let work = self.spawner.watched(work, &self.note.0);
        let (slot, span) = (begun.slot(), begun.span.clone());
        let drive = async move {
            let ended = drive_to_end(&mut begun, work, permits, &cancel).await;
            B::finish(kept, Some(Late { begun, slot, ended }));
        };
        self.spawner.spawn(drive.instrument(span));
    }

    /// Gives a body a thread of the blocking pool. The permits stay with the thread: a body that cannot be stopped keeps its
    /// place, and what else it keeps, until it ends.
    fn run_on_thread<B: Bodies>(&self, begun: Begun, work: B::Blocking, permits: Permits, kept: B::Kept) {
        let (send, mut thread) = oneshot::channel();
        let (slot, cancel) = (begun.slot(), begun.run.control().token(begun.position));
        let on_thread = begun.clone();
        self.spawner.spawn_blocking(move || {
            let _in_span = on_thread.span.enter();
            let ended = B::block(&on_thread, work);
            drop(permits);
            // Nobody listens any more when the call was stopped: its answer is out.
            let _ = send.send(ended);
        });
        self.spawner.spawn(async move {
            let late = match run_guarded(&mut thread, &cancel, begun.deadline, begun.tool_name()).await {
                Ok(Ok(ended)) => Some(Late { begun, slot, ended: Ok(ended) }),
                Ok(Err(_)) => {
                    drop(slot); // the thread went away: the slot says so
                    None
                }
                Err(stopped) => {
                    cancel.cancel(); // the body can ask whether it has been given up
                    slot.file(begun.timed(stopped).still_running());
                    let _ = thread.await; // what it brings comes too late
                    None
                }
            };
            B::finish(kept, late);
        });
    }
}

/// Starts the work and polls it once, here: a call that ends at once needs no task and no timer.
fn first_turn<B: Bodies>(bodies: &B, begun: &Begun, arguments: String) -> Started<B::Back, B::Blocking> {
    let _in_span = begun.span.enter();
    match bodies.start(begun, arguments) {
        Started::Ended(finished) => Started::Ended(begun.timed(finished)),
        Started::Waits(mut work) => match work.poll_now() {
            Poll::Ready(ended) => Started::Ended(begun.timed(bodies.settle(begun, ended))),
            Poll::Pending => Started::Waits(work),
        },
        blocks @ Started::Blocks(_) => blocks,
    }
}
