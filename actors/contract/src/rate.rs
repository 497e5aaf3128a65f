//! How often something may happen.

use std::{fmt, num::NonZeroU32, time::Duration};

/// At most so many calls begin within any stretch of such a time: a sliding window, in which all of them may come at
/// once, and the next one only when the first has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many calls.
    pub calls: NonZeroU32,
    /// In which time.
    pub per: Duration,
}

impl Rate {
    /// Makes a rate; `None` for no calls at all or for no time.
    pub fn new(calls: u32, per: Duration) -> Option<Self> {
        let calls = NonZeroU32::new(calls)?;
        // One call needs a time that can be measured.
        (per / calls.get() > Duration::ZERO).then_some(Self { calls, per })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls in {} s", self.calls, self.per.as_secs_f64())
    }
}
