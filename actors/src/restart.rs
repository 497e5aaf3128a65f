//! Where an actor is, and how one that died is replaced.
//!
//! An actix actor whose handler panics is gone, and its address stays dead. A [`Home`] keeps what is
//! needed to make the next one, within a budget; past the budget a circuit breaker opens, and heals
//! through one probe at a time. What the dead actor had not begun is answered `not_started`.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use actix::{Actor, Addr, Handler, Message, dev::ToEnvelope};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{moment, pause::doubled, placement::Seat, pulse::Pulse, reply::post, watch::Watch};

/// How often a dead actor is replaced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RestartPolicy {
    /// How many deaths within [`window`](Self::window) are made good. Default 10.
    pub budget: usize,
    /// The window. Default 60 s.
    pub window: Duration,
    /// How long the second replacement within a window waits; it doubles with each further one, up
    /// to [`longest_pause`](Self::longest_pause). The first does not wait. Default 10 ms.
    pub first_pause: Duration,
    /// The longest such wait. Default 1 s.
    pub longest_pause: Duration,
}

impl RestartPolicy {
    /// Makes good `budget` deaths within `window`, with the default pauses.
    pub fn new(budget: usize, window: Duration) -> Self {
        Self { budget, window, ..Self::default() }
    }
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            budget: 10,
            window: Duration::from_mins(1),
            first_pause: Duration::from_millis(10),
            longest_pause: Duration::from_secs(1),
        }
    }
}

/// How a tool's actors have fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// How many ended by a panic.
    pub panicked: u64,
    /// How many ended otherwise: stopped, or their arbiter did.
    pub stopped: u64,
    /// How many replaced a dead one.
    pub restarted: u64,
    /// How often it kept its arbiter from all other work for 2 s or longer: a tool that is not `blocking` blocks.
    pub blocked: u64,
    /// Tells whether the breaker is open: calls fail fast.
    pub broken: bool,
}

impl Health {
    /// The sum of two.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            panicked: self.panicked + other.panicked,
            stopped: self.stopped + other.stopped,
            restarted: self.restarted + other.restarted,
            blocked: self.blocked + other.blocked,
            broken: self.broken || other.broken,
        }
    }
}

/// Makes a tool's actor panic, to see how a host lives with that.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Crash;

/// Whether a message may be posted now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Readiness {
    Ready,
    /// One message may be posted, to see whether the actor lives through it.
    Probe,
    /// Ask again then.
    Wait(Instant),
    /// Too many deaths: fail fast until then.
    Broken(Instant),
}

/// The home of an actor.
pub(crate) struct Home<A: Actor> {
    make: Box<dyn Fn(Arc<Pulse>) -> Addr<A> + Send + Sync>,
    policy: RestartPolicy,
    pulse: Arc<Pulse>,
    inner: Mutex<Inner<A>>,
}

struct Inner<A: Actor> {
    addr: Addr<A>,
    /// When actors were found dead, within the window.
    deaths: VecDeque<Instant>,
    restarted: u64,
    breaker: Breaker,
}

#[derive(Clone, Copy)]
enum Breaker {
    Closed,
    /// A replacement is there, but calls wait.
    Pausing(Instant),
    Open(Instant),
    /// One message is out; it is known to be survived once the pulse has passed this number.
    Probing {
        beats: u64,
        sent: bool,
    },
}

impl<A: Actor> Home<A> {
    pub(crate) fn new(
        policy: RestartPolicy,
        (tool, watch): (&str, &Watch),
        seat: Option<Seat>,
        make: impl Fn(Arc<Pulse>) -> Addr<A> + Send + Sync + 'static,
    ) -> Self {
        let pulse = Arc::new(Pulse::new(tool, seat));
        watch.add(&pulse);
        let addr = make(pulse.clone());
        let inner = Inner { addr, deaths: VecDeque::new(), restarted: 0, breaker: Breaker::Closed };
        Self { make: Box::new(make), policy, pulse, inner: Mutex::new(inner) }
    }

    /// Replaces a dead actor as far as the budget goes, and says whether to post.
    pub(crate) fn readiness(&self) -> Readiness {
        const PROBE_CHECK: Duration = Duration::from_millis(5);
        let mut inner = self.inner.lock();
        let alive = inner.addr.connected();
        if alive && matches!(inner.breaker, Breaker::Closed) {
            return Readiness::Ready; // nearly always
        }
        let now = Instant::now();
        if !alive && !matches!(inner.breaker, Breaker::Open(_)) {
            self.bury(&mut inner, now);
        }
        match inner.breaker {
            Breaker::Closed => Readiness::Ready,
            Breaker::Pausing(until) if now < until => Readiness::Wait(until),
            Breaker::Pausing(_) => {
                inner.breaker = Breaker::Closed;
                Readiness::Ready
            }
            Breaker::Open(until) if now < until => Readiness::Broken(until),
            Breaker::Open(_) => {
                self.replace(&mut inner);
                inner.breaker = Breaker::Probing { beats: self.pulse.beats(), sent: false };
                Readiness::Probe
            }
            Breaker::Probing { beats, .. } if self.pulse.beats() > beats => {
                inner.breaker = Breaker::Closed;
                inner.deaths.clear();
                Readiness::Ready
            }
            Breaker::Probing { sent: false, .. } => Readiness::Probe,
            Breaker::Probing { sent: true, .. } => Readiness::Wait(moment::after(now, PROBE_CHECK)),
        }
    }

    /// Takes note of a death: replaces the actor, or opens the breaker.
    fn bury(&self, inner: &mut Inner<A>, now: Instant) {
        let probing = matches!(inner.breaker, Breaker::Probing { .. });
        while inner
            .deaths
            .front()
            .is_some_and(|death| now.saturating_duration_since(*death) > self.policy.window)
        {
            inner.deaths.pop_front();
        }
        inner.deaths.push_back(now);
        if probing || inner.deaths.len() > self.policy.budget {
            inner.breaker = Breaker::Open(moment::after(now, self.policy.window));
            return;
        }
        self.replace(inner);
        let earlier = u32::try_from(inner.deaths.len() - 1).unwrap_or(u32::MAX);
        inner.breaker = match earlier.checked_sub(1) {
            None => Breaker::Closed,
            Some(doublings) => {
                let RestartPolicy { first_pause, longest_pause, .. } = self.policy;
                Breaker::Pausing(moment::after(now, doubled(first_pause, longest_pause, doublings)))
            }
        };
    }

    fn replace(&self, inner: &mut Inner<A>) {
        inner.addr = (self.make)(self.pulse.clone());
        inner.restarted += 1;
    }

    /// Posts a message to the actor that is there now.
    pub(crate) fn post<M>(&self, message: M)
    where
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let mut inner = self.inner.lock();
        if let Breaker::Probing { sent, .. } = &mut inner.breaker {
            *sent = true;
        }
        post(&inner.addr, message);
    }

    /// The actor that is there now.
    pub(crate) fn addr(&self) -> Addr<A> {
        self.inner.lock().addr.clone()
    }

    pub(crate) fn health(&self) -> Health {
        let inner = self.inner.lock();
        Health {
            panicked: self.pulse.panicked(),
            stopped: self.pulse.stopped(),
            restarted: inner.restarted,
            blocked: self.pulse.blocked(),
            broken: matches!(inner.breaker, Breaker::Open(_) | Breaker::Probing { .. }),
        }
    }
}
