//! How long to wait before something is tried again.

use std::time::Duration;

/// Doubles a pause so many times, up to the longest.
pub fn doubled(first: Duration, longest: Duration, times: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(longest)
}

/// Takes between half and all of a pause, as `chance` (from 0 to 1) has it, so that what failed together does not come
/// again together.
pub fn spread(pause: Duration, chance: f64) -> Duration {
    let spread = pause.as_secs_f64() * chance.mul_add(0.5, 0.5);
    // The longest pause of all is too long for its own number of seconds.
    Duration::try_from_secs_f64(spread).unwrap_or(pause)
}
