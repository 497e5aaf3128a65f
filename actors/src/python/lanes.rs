//! Which calls of a file may run beside each other in one process.

use std::collections::VecDeque;
use std::sync::Arc;

use actix::Message;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolyard_contract::CallContext;

use super::answer::Reply;

/// Where in the process a function runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// One at a time: a sync function that is not parallel-safe.
    Alone,
    /// On a thread: a parallel-safe sync function.
    Thread,
    /// In the event loop: an async function.
    Task,
}

impl Lane {
    pub(super) fn can_be_cancelled(self) -> bool {
        self == Self::Task
    }
}

/// What a call needs to know of its function.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// The name as JSON text.
    pub(super) name_json: String,
}

/// Runs one call; the answer goes to `reply`.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct RunCall {
    pub(super) id: u64,
    pub(super) lane: Lane,
    pub(super) function: Arc<Function>,
    pub(super) arguments: String,
    pub(super) state: Option<Box<RawValue>>,
    pub(super) context: CallContext,
    pub(super) reply: Reply,
    /// Says that the call cannot begin now, and gives what says when it can.
    pub(super) queued: Option<oneshot::Sender<oneshot::Receiver<()>>>,
    /// Says that a slot is kept for the call.
    pub(super) turn: Option<oneshot::Sender<()>>,
}

/// Begins a call that a slot is kept for.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Go(pub(super) u64);

/// The calls that wait, by lane, each first come first served.
pub(super) struct Lanes {
    lanes: [Queue; 3],
}

struct Queue {
    waiting: VecDeque<RunCall>,
    running: usize,
    slots: usize,
}

impl Lanes {
    pub(super) fn new(threads: usize, tasks: usize) -> Self {
        let queue = |slots: usize| Queue { waiting: VecDeque::new(), running: 0, slots: slots.max(1) };
        Self { lanes: [queue(1), queue(threads), queue(tasks)] }
    }

    fn lane(&mut self, lane: Lane) -> &mut Queue {
        &mut self.lanes[lane as usize]
    }

    pub(super) fn push(&mut self, call: RunCall) {
        self.lane(call.lane).waiting.push_back(call);
    }

    /// Tells the caller of the last call of a lane, if it is this one, that it waits.
    pub(super) fn tell_queued(&mut self, lane: Lane, id: u64) {
        let Some(call) = self.lane(lane).waiting.back_mut().filter(|call| call.id == id) else { return };
        let (turn, came) = oneshot::channel();
        if call.queued.take().is_some_and(|queued| queued.send(came).is_ok()) {
            call.turn = Some(turn);
        }
    }

    /// Takes a slot for the next call that may begin.
    pub(super) fn next(&mut self) -> Option<RunCall> {
        let free =
            self.lanes.iter_mut().find(|lane| lane.running < lane.slots && !lane.waiting.is_empty())?;
        free.running += 1;
        free.waiting.pop_front()
    }

    /// Gives a slot back.
    pub(super) fn ended(&mut self, lane: Lane) {
        let lane = self.lane(lane);
        lane.running = lane.running.saturating_sub(1);
    }

    pub(super) fn all_ended(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.running = 0);
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.waiting.is_empty())
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.lanes.iter_mut().for_each(|lane| lane.waiting.retain(|call| call.id != id));
    }

    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = RunCall> {
        self.lanes.iter_mut().flat_map(|lane| lane.waiting.drain(..)).collect::<Vec<_>>().into_iter()
    }
}
