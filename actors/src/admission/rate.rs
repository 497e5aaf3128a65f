//! Rate limits, on the clock of the runtime.

use std::{sync::Arc, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed, keyed::HashMapStateStore},
};
use tokio::time::{Instant, sleep_until};
use toolyard_contract::Rate;

use super::turnstile::{Permit, Turn, Turnstile};

/// The clock of the tokio runtime, so that a paused clock pauses limits too.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokioClock;

impl Clock for TokioClock {
    type Instant = std::time::Instant;

    fn now(&self) -> Self::Instant {
        Instant::now().into_std()
    }
}

type Middleware = NoOpMiddleware<std::time::Instant>;
type Direct = RateLimiter<NotKeyed, InMemoryState, TokioClock, Middleware>;
/// One limit for each of many keys.
pub(crate) type Keyed = RateLimiter<Arc<str>, HashMapStateStore<Arc<str>>, TokioClock, Middleware>;

pub(crate) fn keyed(rate: Rate) -> Keyed {
    RateLimiter::new(quota(rate), HashMapStateStore::default(), TokioClock)
}

fn quota(rate: Rate) -> Quota {
    let period = rate.per / rate.calls.get();
    // A rate has a period that can be measured, so there is a quota.
    Quota::with_period(period).unwrap_or(Quota::per_second(rate.calls)).allow_burst(rate.calls)
}

/// A place where calls pass no more often than a rate allows.
///
/// At most one waits for the clock; the others wait for their turn behind it, so that ten thousand
/// who wait are not all woken for each call that may pass.
#[derive(Debug)]
pub(crate) struct RateGate {
    rate: Rate,
    limiter: Limiter,
    turn: Arc<Turnstile>,
}

#[derive(Clone, Debug)]
enum Limiter {
    Own(Arc<Direct>),
    Shared(Arc<Keyed>, Arc<str>),
}

/// A rate leaves no room for so long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooSoon(pub(crate) Duration);

impl RateGate {
    pub(crate) fn new(rate: Rate) -> Self {
        let limiter = RateLimiter::new(quota(rate), InMemoryState::default(), TokioClock);
        Self { rate, limiter: Limiter::Own(Arc::new(limiter)), turn: Turnstile::new(1) }
    }

    /// The limit of one key among many that have the same rate.
    pub(crate) fn of_key(rate: Rate, limits: Arc<Keyed>, key: Arc<str>) -> Self {
        Self { rate, limiter: Limiter::Shared(limits, key), turn: Turnstile::new(1) }
    }

    /// The same limit for lists one deeper, whose calls wait for their turn among themselves.
    pub(crate) fn deeper(&self) -> Self {
        Self { rate: self.rate, limiter: self.limiter.clone(), turn: Turnstile::new(1) }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Lets up to `wanted` calls pass, as many as may pass now; none when somebody waits.
    pub(crate) fn try_pass(&self, wanted: usize) -> usize {
        let Some(_turn) = self.turn.try_take(1) else { return 0 };
        (0..wanted).take_while(|_| self.check().is_ok()).count()
    }

    /// Waits until one call may pass. Whoever holds the permit keeps the next one waiting.
    ///
    /// # Errors
    /// When it is clear that `until` comes first.
    pub(crate) async fn pass(&self, turn: &Turn, until: Instant) -> Result<Permit, TooSoon> {
        let permit = self.turn.take(turn).await;
        while let Err(wait) = self.check() {
            let at = Instant::now() + wait;
            if at > until {
                return Err(TooSoon(wait));
            }
            sleep_until(at).await;
        }
        Ok(permit)
    }

    /// Lets one call pass, or says how long none may.
    fn check(&self) -> Result<(), Duration> {
        let checked = match &self.limiter {
            Limiter::Own(limiter) => limiter.check(),
            Limiter::Shared(limiter, key) => limiter.check_key(key),
        };
        checked.map_err(|until| until.wait_time_from(TokioClock.now()))
    }
}
