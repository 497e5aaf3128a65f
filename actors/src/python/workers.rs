//! The workers of one file, as its tools see them.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use actix::Addr;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use toolyard_contract::{Failure, Invocation};

use super::answer::{Answer, Reply};
use super::lanes::{Function, Go, Lane, RunCall};
use super::worker::{Forget, PythonWorkerActor};
use crate::reply::post;

/// The workers of one file.
pub(super) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    actor: Addr<PythonWorkerActor>,
    next_id: AtomicU64,
    calls: AtomicUsize,
}

impl Workers {
    pub(super) fn new(actors: impl IntoIterator<Item = Addr<PythonWorkerActor>>) -> Self {
        let worker = |actor| Worker { actor, next_id: AtomicU64::new(1), calls: AtomicUsize::new(0) };
        Self { workers: actors.into_iter().map(worker).collect() }
    }

    pub(super) fn actors(&self) -> impl Iterator<Item = &Addr<PythonWorkerActor>> {
        self.workers.iter().map(|worker| &worker.actor)
    }

    /// Runs one call on the worker with the fewest calls, with the function's inner state if it has one.
    ///
    /// # Cancellation
    /// Dropping the future gives the call up: an async function is cancelled, a sync one's process is killed once
    /// the other calls in it have ended.
    pub(super) async fn run(
        self: Arc<Self>,
        function: Arc<Function>,
        lane: Lane,
        invocation: Invocation,
        state: Option<Box<RawValue>>,
    ) -> Answer {
        let Invocation { arguments, mut context } = invocation;
        let under_way = UnderWay::new(self);
        let (reply, mut answer) = Reply::new(&function.name);
        let (queued, mut told) = oneshot::channel();
        let call = RunCall {
            id: under_way.id,
            lane,
            function: function.clone(),
            arguments,
            state,
            context: context.clone(),
            reply,
            queued: Some(queued),
            turn: None,
        };
        post(&under_way.worker().actor, call);
        let deadline = context.deadline;
        let came = tokio::select! {
            biased;
            answer = &mut answer => answer,
            Ok(turn) = &mut told => {
                let answered = context.before_work(turn_or_answer(turn, &mut answer)).await;
                if answered.is_none() {
                    post(&under_way.worker().actor, Go(under_way.id));
                }
                match answered {
                    Some(answer) => answer,
                    None => tokio::select! {
                        biased;
                        answer = answer => answer,
                        () = under_way.overdue(context.deadline), if !lane.can_be_cancelled() => {
                            return goes_on(&function.name);
                        }
                    },
                }
            }
            () = under_way.overdue(deadline), if !lane.can_be_cancelled() => return goes_on(&function.name),
        };
        match came {
            Ok(answer) => {
                under_way.ended();
                answer
            }
            Err(_) => Failure::lost(format!("tool {:?}: its worker went away", function.name)).into(),
        }
    }

    /// The place in the list of the worker with the fewest calls.
    fn least_busy(&self) -> usize {
        let calls = |index: &usize| self.workers[*index].calls.load(Ordering::Relaxed);
        (0..self.workers.len()).min_by_key(calls).unwrap_or(0)
    }
}

/// Waits until a slot is kept for a call, or it is answered without beginning.
async fn turn_or_answer(
    turn: oneshot::Receiver<()>,
    answer: &mut oneshot::Receiver<Answer>,
) -> Option<Result<Answer, oneshot::error::RecvError>> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        Ok(()) = turn => None,
    }
}

/// The answer of a call whose time is over, and which cannot be stopped now.
fn goes_on(name: &str) -> Answer {
    let text = format!("tool {name:?}: timed out, and goes on until the other calls of its file have ended");
    Failure::timed_out(text).detail(|detail| detail.still_running = true).into()
}

/// A call at a worker; dropped before its end, it is given up there.
struct UnderWay {
    workers: Arc<Workers>,
    worker: usize,
    id: u64,
    ended: bool,
}

impl UnderWay {
    fn new(workers: Arc<Workers>) -> Self {
        let worker = workers.least_busy();
        let at = &workers.workers[worker];
        at.calls.fetch_add(1, Ordering::Relaxed);
        let id = at.next_id.fetch_add(1, Ordering::Relaxed);
        Self { workers, worker, id, ended: false }
    }

    fn worker(&self) -> &Worker {
        &self.workers.workers[self.worker]
    }

    /// Resolves at the deadline when other calls keep this one's process from being killed then. A call that is
    /// alone is killed by being dropped, and there is nothing more to say.
    async fn overdue(&self, deadline: Option<std::time::Instant>) {
        let Some(deadline) = deadline else { return pending().await };
        sleep_until(Instant::from_std(deadline)).await;
        if self.worker().calls.load(Ordering::Relaxed) < 2 {
            pending::<()>().await;
        }
    }

    fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let worker = self.worker();
        worker.calls.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            post(&worker.actor, Forget(self.id));
        }
    }
}
