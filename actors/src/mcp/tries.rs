//! When a connection that was not had, or that has ended, is tried again.

use std::time::Duration;

use tokio::time::Instant;

use super::config::{Backoff, McpServerConfig};
use crate::moment;

/// How long a connection must have lived for its end to begin a new row of failures, if it was of no use until then.
const STEADY: Duration = Duration::from_secs(10);

/// A try that fails sooner than this holds nobody up.
const QUICK: Duration = Duration::from_secs(1);

/// What is next after a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// The next try, after a pause.
    Again(Duration),
    /// No try before a call comes, nor within this time.
    GivenUp(Duration),
}

/// The failures in a row of one server.
pub(super) struct Tries {
    backoff: Backoff,
    /// Each try costs the start of a program.
    starts_program: bool,
    failures: u32,
    /// When the try under way has begun.
    begun: Instant,
    /// When the last failure was, where calls need not wait for the whole pause after it.
    cheap: Option<Instant>,
}

impl Tries {
    pub(super) fn new(config: &McpServerConfig) -> Self {
        let starts_program = config.link.command().is_some();
        Self {
            backoff: config.backoff.clone(),
            starts_program,
            failures: 0,
            begun: Instant::now(),
            cheap: None,
        }
    }

    /// Takes note that a try begins.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
    }

    /// Takes note that no connection was had.
    pub(super) fn failed(&mut self) -> Next {
        let was_quick = self.begun.elapsed() < QUICK;
        self.one_more(was_quick)
    }

    /// Takes note that a connection has ended that lived so long, and over which calls were answered or not. One that was
    /// of use begins a new row: its server is no worse than one that is started now.
    pub(super) fn ended(&mut self, lived: Duration, was_of_use: bool) -> Next {
        if was_of_use || lived >= STEADY {
            self.failures = 0;
        }
        self.one_more(true)
    }

    fn one_more(&mut self, was_quick: bool) -> Next {
        self.failures = self.failures.saturating_add(1);
        self.cheap = (was_quick && !self.starts_program).then(Instant::now);
        if self.failures > self.backoff.tries {
            Next::GivenUp(self.backoff.longest)
        } else {
            Next::Again(self.backoff.pause(self.failures))
        }
    }

    /// When a call has its next try that was planned for `planned`. A server that only has to be reached is tried sooner:
    /// it may have come back long before, and to find out takes a moment.
    pub(super) fn for_call(&self, planned: Instant) -> Instant {
        let soon = self.cheap.map(|last| moment::after(last, self.backoff.first));
        soon.map_or(planned, |soon| soon.min(planned))
    }

    /// Begins anew.
    pub(super) fn forget(&mut self) {
        self.failures = 0;
        self.cheap = None;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn program() -> Tries {
        Tries::new(&McpServerConfig::stdio("server", [""; 0]))
    }

    fn address() -> Tries {
        Tries::new(&McpServerConfig::http("http://server"))
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_no_more_tries_are_made() {
        let (mut tries, mut before) = (program(), Duration::ZERO);
        for _ in 0..8 {
            let Next::Again(pause) = tries.failed() else { panic!("given up too soon") };
            assert!(pause >= before, "{pause:?} after {before:?}");
            before = pause;
        }
        assert_eq!(tries.failed(), Next::GivenUp(Duration::from_secs(30)));
        tries.forget();
        assert!(matches!(tries.failed(), Next::Again(pause) if pause <= Duration::from_millis(250)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_of_use_begins_a_new_row_and_one_that_ends_at_once_does_not() {
        let short = Duration::from_secs(1);
        for (lived, was_of_use, begins_anew) in
            [(short, true, true), (STEADY, false, true), (short, false, false)]
        {
            let mut tries = program();
            for _ in 0..8 {
                tries.ended(short, false);
            }
            let next = tries.ended(lived, was_of_use);
            let anew = matches!(next, Next::Again(pause) if pause <= Duration::from_millis(250));
            assert_eq!(anew, begins_anew, "{lived:?}, {was_of_use}: {next:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_has_a_try_soon_where_a_try_is_cheap() {
        let planned = moment::from_now(Duration::from_secs(30));
        let soon = moment::from_now(Duration::from_millis(250));

        let mut refused = address();
        refused.failed();
        assert_eq!(refused.for_call(planned), soon);
        let mut gone = address();
        gone.ended(Duration::ZERO, false);
        assert_eq!(gone.for_call(planned), soon);

        let mut started = program();
        started.failed();
        assert_eq!(started.for_call(planned), planned);
        let mut silent = address();
        silent.begin();
        advance(QUICK).await;
        silent.failed();
        assert_eq!(silent.for_call(planned), planned);
    }
}
