//! When a call that ended badly is tried again.

use std::time::Duration;

use toolyard_contract::{Outcome, RunId, ToolSpec};

use crate::{
    call_end::Finished,
    pause::{doubled, spread},
};

/// How often and how soon calls of idempotent tools are tried again. Other tools' calls never are.
///
/// A call is tried again when it timed out, was lost or was not started by its tool, and when it
/// failed with the word that trying again may help (`retry_after_ms`). The tries of a call are one
/// call to everybody else: what comes after it waits, and its list's deadline covers them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a call is tried in all. Default 1: never again, because a time-out may have taken
    /// minutes already.
    pub attempts: u32,
    /// The pause before the second try; each later one is twice as long. Between half of it and all
    /// of it is waited, at random, so that calls that failed together do not come again together.
    /// Default 200 ms.
    pub first_delay: Duration,
    /// The longest pause, also where a server asks for a longer one: what is tried too early says so again, and what
    /// waits for a year is lost. Default 10 s.
    pub max_delay: Duration,
    /// What the chance in the pauses is drawn from, with the list's number. Default: another in each process.
    pub seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 1,
            first_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(10),
            seed: None,
        }
    }
}

impl RetryPolicy {
    /// Tells whether calls of this tool are ever tried again.
    pub(crate) fn covers(&self, spec: &ToolSpec) -> bool {
        self.attempts > 1 && spec.idempotent
    }

    /// Tells whether a call that ended like this would be tried again, if it has tries left.
    pub(crate) fn wants(&self, spec: &ToolSpec, finished: &Finished) -> bool {
        self.covers(spec) && is_passing(finished)
    }

    /// The chance of one list's pauses.
    pub(crate) fn chance(&self, list: RunId) -> fastrand::Rng {
        self.seed.map_or_else(fastrand::Rng::new, |seed| {
            // An odd factor keeps the lists' seeds apart.
            fastrand::Rng::with_seed(seed ^ list.0.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        })
    }

    /// How long to wait after so many tries.
    pub(crate) fn pause(&self, tries: u32, finished: &Finished, chance: &mut fastrand::Rng) -> Duration {
        let longest = doubled(self.first_delay, self.max_delay, tries.saturating_sub(1));
        spread(longest, chance.f64()).max(asked_pause(finished).unwrap_or_default()).min(self.max_delay)
    }
}

/// Tells whether what went wrong may have passed by the next time.
fn is_passing(finished: &Finished) -> bool {
    // What could not be stopped must not run twice at the same time.
    if finished.detail.as_ref().is_some_and(|detail| detail.still_running) {
        return false;
    }
    match finished.outcome {
        Outcome::TimedOut | Outcome::Lost | Outcome::NotStarted => true,
        Outcome::Failed => asked_pause(finished).is_some(),
        _ => false,
    }
}

/// How long the tool itself asks to wait.
fn asked_pause(finished: &Finished) -> Option<Duration> {
    finished.detail.as_ref()?.retry_after_ms.map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: RetryPolicy = RetryPolicy {
        attempts: 3,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_millis(500),
        seed: None,
    };

    fn end(outcome: Outcome) -> Finished {
        Finished::without_output(outcome, "")
    }

    #[test]
    fn only_what_may_pass_is_tried_again_and_only_with_idempotent_tools() {
        let idempotent = ToolSpec::new("t").idempotent(true);
        for outcome in Outcome::ALL {
            let passing = [Outcome::TimedOut, Outcome::Lost, Outcome::NotStarted].contains(&outcome);
            assert_eq!(THREE.wants(&idempotent, &end(outcome)), passing, "{outcome}");
            assert!(!THREE.wants(&ToolSpec::new("t"), &end(outcome)));
            assert!(!RetryPolicy::default().wants(&idempotent, &end(outcome)));
        }
        assert!(!THREE.wants(&idempotent, &end(Outcome::TimedOut).still_running()));
    }

    #[test]
    fn a_failure_is_tried_again_when_the_tool_says_when() {
        let mut failed = end(Outcome::Failed);
        failed.detail.get_or_insert_default().retry_after_ms = Some(450);
        assert!(THREE.wants(&ToolSpec::new("t").idempotent(true), &failed));
        assert_eq!(THREE.pause(1, &failed, &mut fastrand::Rng::new()), Duration::from_millis(450));
    }

    #[test]
    fn no_pause_is_longer_than_the_longest_whatever_a_server_asks_for() {
        let mut failed = end(Outcome::Failed);
        for asked in [501, 86_400_000, u64::MAX] {
            failed.detail.get_or_insert_default().retry_after_ms = Some(asked);
            assert_eq!(THREE.pause(1, &failed, &mut fastrand::Rng::new()), THREE.max_delay, "{asked}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread_over_half_of_their_length() {
        let mut chance = fastrand::Rng::new();
        for (tries, longest) in [(1, 200), (2, 400), (3, 500), (40, 500)] {
            let pauses: Vec<_> =
                (0..200).map(|_| THREE.pause(tries, &end(Outcome::Lost), &mut chance).as_millis()).collect();
            assert!(pauses.iter().all(|pause| (longest / 2..=longest).contains(pause)), "{pauses:?}");
            assert!(pauses.iter().max() > pauses.iter().min());
        }
    }
}
