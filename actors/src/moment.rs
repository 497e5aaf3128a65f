//! Sums of times that cannot panic. The operators of `Instant`, `SystemTime` and `Duration` panic where a sum does not
//! fit, and times come from files, models and servers; so no other file adds them (a lint holds this).

use std::time::Duration;

use tokio::time::Instant;

/// The longest time that is waited, 30 years: what a timer and the clock of every system can hold. A longer one is
/// taken for this; files and options refuse it.
pub const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Gives the moment so long after another.
pub fn after(moment: Instant, wait: Duration) -> Instant {
    moment.checked_add(wait.min(LONGEST)).unwrap_or(moment)
}

/// Gives the moment so long after now.
pub fn from_now(wait: Duration) -> Instant {
    after(Instant::now(), wait)
}

/// Reads a number of seconds that somebody has written down.
///
/// # Errors
/// When it is negative, not a number, or more than [`LONGEST`]; in words that name the bound.
pub fn seconds(written: f64) -> Result<Duration, String> {
    let duration = Duration::try_from_secs_f64(written).ok().filter(|duration| *duration <= LONGEST);
    duration.ok_or_else(|| {
        let most = LONGEST.as_secs();
        format!("{written} is not a number of seconds from 0 to {most} (30 years)")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_sum_of_times_panics_or_goes_back(first in any::<Duration>(), second in any::<Duration>()) {
            let now = Instant::now();
            let later = after(now, first);
            prop_assert!(later >= now && after(later, second) >= later);
            prop_assert_eq!(later - now, first.min(LONGEST));
        }

        #[test]
        fn a_number_of_seconds_is_read_exactly_within_its_bound(written in any::<f64>()) {
            let fits = (0.0..=LONGEST.as_secs_f64()).contains(&written);
            prop_assert_eq!(seconds(written).is_ok(), fits);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_takes_the_latest_moment_of_all() {
        let never = after(from_now(Duration::MAX), Duration::MAX);
        let wait = tokio::time::timeout_at(never, std::future::pending::<()>());
        let slept = tokio::time::timeout(Duration::from_hours(1), wait).await;
        assert!(slept.is_err(), "the hour ends first");
    }
}
