//! The calls of one list that may be tried again.

use std::sync::Arc;

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rustc_hash::FxHashMap;
use toolyard_contract::RunId;

use super::catalog::Entry;
use crate::{call_end::Finished, mail::ReadyCall, retry::RetryPolicy};

/// Keeps what another try of a call needs. Empty unless a tool is idempotent and retries are on.
pub(super) struct Retries {
    policy: RetryPolicy,
    list: RunId,
    chance: Option<fastrand::Rng>,
    calls: FxHashMap<u32, Kept>,
    /// Made when it is first needed: most lists need none.
    pauses: Option<FuturesUnordered<BoxFuture<'static, u32>>>,
}

struct Kept {
    entry: Arc<Entry>,
    arguments: String,
    /// How often the call was tried.
    tries: u32,
    /// How the last try ended.
    last: Option<Finished>,
    /// The call waits for the time of its next try.
    pauses: bool,
}

impl Retries {
    pub(super) fn new(policy: RetryPolicy, list: RunId) -> Self {
        Self { policy, list, chance: None, calls: FxHashMap::default(), pauses: None }
    }

    /// Notes a call that is about to begin for the first time.
    pub(super) fn keep(&mut self, entry: &Arc<Entry>, position: u32, arguments: &str) {
        if self.policy.covers(entry.spec()) {
            let (entry, arguments) = (entry.clone(), arguments.to_owned());
            self.calls.insert(position, Kept { entry, arguments, tries: 0, last: None, pauses: false });
        }
    }

    /// Takes the end of a try. Gives it back when it is the end of the call; so is every end when the
    /// list does not go on to this call.
    pub(super) fn ended(&mut self, position: u32, finished: Finished, goes_on: bool) -> Option<Finished> {
        let Some(kept) = self.calls.get_mut(&position) else { return Some(finished) };
        kept.tries += 1;
        if goes_on && kept.tries < self.policy.attempts && self.policy.wants(kept.entry.spec(), &finished) {
            let pause = tokio::time::sleep(self.policy.pause(
                kept.tries,
                &finished,
                self.chance.get_or_insert_with(|| self.policy.chance(self.list)),
            ));
            (kept.last, kept.pauses) = (Some(finished), true);
            self.pauses.get_or_insert_default().push(Box::pin(async move {
                pause.await;
                position
            }));
            return None;
        }
        kept.last = Some(finished);
        self.give_up(position)
    }

    /// Waits until a call is to be tried again.
    pub(super) async fn next(&mut self) -> Option<(Arc<Entry>, ReadyCall)> {
        loop {
            let position = self.pauses.as_mut()?.next().await?;
            // It may have been given up meanwhile.
            if let Some(kept) = self.calls.get_mut(&position) {
                kept.pauses = false;
                let (arguments, attempt) = (kept.arguments.clone(), kept.tries + 1);
                return Some((kept.entry.clone(), ReadyCall { position, arguments, attempt }));
            }
        }
    }

    /// Tells whether some call waits for the time of its next try.
    pub(super) fn any_pauses(&self) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| !pauses.is_empty())
    }

    /// Tells whether this call waits for the time of its next try.
    pub(super) fn pauses(&self, position: u32) -> bool {
        self.calls.get(&position).is_some_and(|kept| kept.pauses)
    }

    /// Gives how the last try of a call ended, which is then how the call ended; `None` when it was
    /// never tried.
    pub(super) fn give_up(&mut self, position: u32) -> Option<Finished> {
        let Kept { last, tries, .. } = self.calls.remove(&position)?;
        last.map(|mut last| {
            if tries > 1 {
                last.detail.get_or_insert_default().attempts = Some(tries);
            }
            last
        })
    }

    /// The calls that wait for the time of their next try.
    pub(super) fn pausing(&self) -> impl Iterator<Item = u32> {
        self.calls.iter().filter(|(_, kept)| kept.pauses).map(|(&position, _)| position)
    }
}
