//! When a request is tried again.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};
use toolyard_actors::pause::{doubled, spread};

/// The longest pause before the second try; it doubles with each: long enough for a connection that was dropped in
/// passing, short beside the deadline.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause of our own.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Tells whether a server says that the same request may work later.
pub(super) fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 502 | 503 | 504)
}

/// How long to wait after so many tries: between half and all of it at random, so that requests that failed together
/// do not come again together.
pub(super) fn pause(tries: u32) -> Duration {
    spread(doubled(FIRST_PAUSE, LONGEST_PAUSE, tries.saturating_sub(1)), fastrand::f64())
}

/// How long a server asks to wait: a number of seconds, or a date.
pub(super) fn asked_pause(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let asked = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = asked.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = rfc2822::parse(asked).ok()?.timestamp();
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_server_asks_for_a_pause_in_seconds_or_by_a_date() {
        let now: Timestamp = "2026-11-06T08:49:07Z".parse().unwrap();
        let asked = |text: &'static str| {
            asked_pause(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]), now)
        };
        assert_eq!(asked("120"), Some(Duration::from_mins(2)));
        assert_eq!(asked("Fri, 06 Nov 2026 08:49:37 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(asked("Thu, 06 Nov 2025 08:49:37 GMT"), Some(Duration::ZERO), "a date that has passed");
        assert_eq!((asked("-1"), asked("soon")), (None, None));
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        for (tries, longest) in [(1, 200), (2, 400), (3, 800), (30, 5_000)] {
            let longest = Duration::from_millis(longest);
            assert!((longest / 2..=longest).contains(&pause(tries)), "{tries}");
        }
    }
}
