//! Who waits for a busy row.

use std::collections::VecDeque;

use actix::{Addr, Message};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use toolyard_contract::{Outcome, RowKey};

use super::StateActor;
use crate::{
    mail::Answers,
    moment,
    reply::{Finished, Group, post},
};

/// Groups of calls that wait for one row, in order. They hold permits, which bound the queue.
#[derive(Default)]
pub(super) struct Queue(VecDeque<Waiting>);

struct Waiting {
    group: Group,
    /// When the calls have waited too long.
    give_up: Instant,
    /// Wakes the actor when something happens to the list; ends with the wait.
    _watch: AbortOnDropHandle<()>,
}

/// Asks the actor to look after those who wait for a row: some may be cancelled or late.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Purge {
    pub(super) key: RowKey,
}

impl Queue {
    /// Puts a group, if any of its calls is left, behind the others.
    pub(super) fn push(&mut self, group: Group, key: &RowKey, here: Addr<StateActor>) {
        if group.calls.len() == 0 {
            return;
        }
        let (key, run) = (key.clone(), group.run.clone());
        let give_up = moment::from_now(run.patience());
        let wake = group.run.deadline().map_or(give_up, |deadline| deadline.min(give_up));
        let watch = async move {
            let mut seen = 0;
            loop {
                let late = tokio::select! {
                    biased;
                    () = run.control().touched(&mut seen) => false,
                    () = sleep_until(wake) => true,
                };
                post(&here, Purge { key: key.clone() });
                if late {
                    return;
                }
            }
        };
        let watch = AbortOnDropHandle::new(tokio::task::spawn_local(watch));
        self.0.push_back(Waiting { group, give_up, _watch: watch });
    }

    pub(super) fn pop(&mut self) -> Option<Group> {
        self.0.pop_front().map(|waiting| waiting.group)
    }

    pub(super) fn append(&mut self, mut rest: Self) {
        self.0.append(&mut rest.0);
    }

    /// Answers the calls that are not to run any more, and those that have waited too long.
    pub(super) fn purge(&mut self, now: Instant) {
        for waiting in &mut self.0 {
            let late = waiting.give_up <= now;
            let (group, mut left, mut ended) = (&mut waiting.group, Vec::new(), Answers::new());
            for call in std::mem::take(&mut group.calls) {
                match group.run.skip_reason(call.position, now) {
                    Some(reason) => ended.push((call.position, group.skipped(reason))),
                    None if late => ended.push((call.position, not_started(group))),
                    None => left.push(call),
                }
            }
            group.calls = left.into_iter();
            group.run.answer_many(ended);
        }
        self.0.retain(|waiting| waiting.group.calls.len() > 0);
    }
}

fn not_started(group: &Group) -> Finished {
    let patience = group.run.patience();
    let error = format!(
        "tool {:?}: not started, because its state was busy for {} s; try again later",
        group.entry.spec().name,
        patience.as_secs_f64()
    );
    let mut finished = Finished::without_output(Outcome::NotStarted, error);
    finished.detail.get_or_insert_default().retry_after_ms =
        Some(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX));
    finished
}
