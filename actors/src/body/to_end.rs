//! Drives a call that waits to its end, through the waits before it begins.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use toolyard_contract::Outcome;

use super::begun::Begun;
use crate::{
    admission::Permits,
    call_end::Finished,
    event::WaitsFor,
    guard::{Ended, Turns, run_guarded},
    moment,
    unbegun::Wait,
};

/// Drives the work of a call to its end, or until it is stopped, through the waits before it begins.
pub(crate) async fn drive_to_end<T>(
    begun: &mut Begun,
    mut work: Turns<T>,
    mut permits: Permits,
    cancel: &CancellationToken,
) -> Result<Ended<T>, Finished> {
    let ended = loop {
        let step = UntilItWaits { work: &mut work, begun };
        match run_guarded(step, cancel, begun.deadline, begun.tool_name()).await {
            Ok(Step::Ended(ended)) => break Ok(ended),
            Ok(Step::Waits(wait)) => {
                drop(permits); // nothing wide is held while something narrow is waited for
                let waited = wait_to_begin(begun, &mut work, &wait, cancel).await;
                begun.run.unbegun().leave(begun.position as usize);
                match waited {
                    Begin::Now(again) => permits = again,
                    Begin::Ended(ended) => return Ok(ended),
                    Begin::Never(finished) => return Err(finished),
                }
            }
            Err(stopped) => break Err(stopped),
        }
    };
    drop(work);
    drop(permits);
    ended
}

/// Work that ends, or says that it has not begun.
struct UntilItWaits<'a, T> {
    work: &'a mut Turns<T>,
    begun: &'a Begun,
}

enum Step<T> {
    Ended(Ended<T>),
    Waits(Arc<Wait>),
}

impl<T> Future for UntilItWaits<'_, T> {
    type Output = Step<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Step<T>> {
        if let Poll::Ready(ended) = Pin::new(&mut *self.work).poll(cx) {
            return Poll::Ready(Step::Ended(ended));
        }
        // Looked for after each poll: only the work itself says that it waits.
        let wait = self.begun.run.unbegun().wait_of(self.begun.position as usize);
        wait.map_or(Poll::Pending, |wait| Poll::Ready(Step::Waits(wait)))
    }
}

/// How a wait ended.
enum Begin<T> {
    Now(Permits),
    /// The work ended without beginning.
    Ended(Ended<T>),
    Never(Finished),
}

/// Waits until the work can begin, takes permits again, and lets it go on.
async fn wait_to_begin<T>(
    begun: &mut Begun,
    work: &mut Turns<T>,
    wait: &Wait,
    cancel: &CancellationToken,
) -> Begin<T> {
    let (run, entry) = (begun.run.clone(), begun.entry.clone());
    let until = moment::after(begun.started, run.patience());
    let late = run.deadline().map_or(until, |deadline| deadline.min(until));
    run.tell_waiting([begun.position], WaitsFor::Place);
    let stopped = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => never(begun, "cancelled before it began"),
            () = sleep_until(late) => too_late(begun, until),
        }
    };
    let permits = async {
        tokio::select! {
            biased;
            ended = work => return Begin::Ended(ended),
            () = wait.ready.notified() => {}
        }
        let admission = run.admission();
        let agent = admission.agent(run.agent_id());
        let way = admission.way(&agent, &entry.gates()[run.depth()], false, None).once_more();
        if let Some(permits) = way.try_pass(1) {
            return Begin::Now(permits);
        }
        run.tell_waiting([begun.position], way.shut_on());
        match way.pass(until, run.patience()).await {
            Ok(permits) => Begin::Now(permits),
            Err(refusal) => Begin::Never(not_started(begun, &refusal.reason(), refusal.retry_after)),
        }
    };
    let outcome = tokio::select! {
        biased;
        admitted = permits => admitted,
        finished = stopped => Begin::Never(finished),
    };
    let outcome = match outcome {
        // The world may have changed while it waited.
        Begin::Now(permits) => match begun.run.permitted_after_a_wait(&*begun.entry.tool, begun.position) {
            Ok(()) => Begin::Now(permits),
            Err(changed) => Begin::Never(changed),
        },
        other => other,
    };
    begun.started = Instant::now();
    if let Begin::Now(_) = &outcome {
        begun.begin();
        if let Some(go) = wait.go.lock().take() {
            // A body that is gone needs no word.
            let _ = go.send(begun.deadline.at().map(Instant::into_std));
        }
    }
    outcome
}

fn never(begun: &Begun, reason: &str) -> Finished {
    Finished::without_output(Outcome::Skipped, format!("tool {:?}: {reason}", begun.tool_name()))
}

fn too_late(begun: &Begun, until: Instant) -> Finished {
    if Instant::now() < until {
        return never(begun, "not begun before the deadline of its list");
    }
    let patience = begun.run.patience();
    let reason =
        format!("what it needs to begin was not there within {} s; try again later", patience.as_secs_f64());
    not_started(begun, &reason, patience)
}

fn not_started(begun: &Begun, reason: &str, retry_after: std::time::Duration) -> Finished {
    let error = format!("tool {:?}: not started, because {reason}", begun.tool_name());
    let mut finished = Finished::without_output(Outcome::NotStarted, error);
    finished.detail.get_or_insert_default().retry_after_ms =
        Some(u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX));
    finished
}
