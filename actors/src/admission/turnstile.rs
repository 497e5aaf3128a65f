//! A number of places that are taken in turns.

use std::{num::NonZeroU32, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::fair::{FairQueue, Ticket};

/// Who waits: an agent, or everybody without one.
pub(crate) type Lane = Option<Arc<str>>;

/// The lane in which somebody waits, and how many places it gets in one turn.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) lane: Lane,
    pub(crate) weight: NonZeroU32,
}

/// A semaphore that is fair to lanes instead of to those who came first: a lane in which ten
/// thousand wait keeps nobody in another lane waiting for more than its turn.
#[derive(Debug)]
pub(crate) struct Turnstile {
    places: usize,
    state: Mutex<State>,
    /// Told when every place is free.
    idle: Notify,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: FairQueue<Lane, oneshot::Sender<Permit>>,
}

impl Turnstile {
    /// Makes a turnstile; one without places could never be passed, so there is at least one.
    pub(crate) fn new(places: usize) -> Arc<Self> {
        let places = places.max(1);
        let state = Mutex::new(State { free: places, waiting: FairQueue::default() });
        Arc::new(Self { places, state, idle: Notify::new() })
    }

    /// How many places there are.
    pub(crate) fn places(&self) -> usize {
        self.places
    }

    /// How many places could be taken at once now: none when somebody waits.
    pub(crate) fn free(&self) -> usize {
        let state = self.state.lock();
        if state.waiting.is_empty() { state.free } else { 0 }
    }

    /// How many places are taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.places - self.state.lock().free
    }

    /// Tells whether nobody has a place.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().free == self.places
    }

    /// Waits until nobody has a place.
    pub(crate) async fn idle(&self) {
        loop {
            let told = self.idle.notified();
            if self.is_idle() {
                return;
            }
            told.await;
        }
    }

    /// Takes up to `wanted` places that are free; none when somebody waits.
    pub(crate) fn try_take(self: &Arc<Self>, wanted: usize) -> Option<Permit> {
        let mut state = self.state.lock();
        let count = if state.waiting.is_empty() { state.free.min(wanted) } else { 0 };
        state.free -= count;
        (count > 0).then(|| Permit { gate: self.clone(), count })
    }

    /// Waits for one place.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue and gives back what was had.
    pub(crate) async fn take(self: &Arc<Self>, turn: &Turn) -> Permit {
        loop {
            let waiting = {
                let mut state = self.state.lock();
                if state.free > 0 && state.waiting.is_empty() {
                    state.free -= 1;
                    return Permit { gate: self.clone(), count: 1 };
                }
                let (sender, receiver) = oneshot::channel();
                let ticket = state.waiting.push(turn.lane.clone(), turn.weight, sender);
                Waiting { gate: self, lane: &turn.lane, ticket, receiver }
            };
            if let Some(permit) = waiting.wait().await {
                return permit;
            }
        }
    }

    /// Gives places to those who wait, the rest back.
    fn give(self: &Arc<Self>, mut count: usize) {
        let mut state = self.state.lock();
        while count > 0 {
            let Some(waiter) = state.waiting.pop() else { break };
            match waiter.send(Permit { gate: self.clone(), count: 1 }) {
                Ok(()) => count -= 1,
                // It went away in this moment. Its permit must not be given back under the lock.
                Err(mut permit) => permit.count = 0,
            }
        }
        state.free += count;
        if state.free == self.places {
            self.idle.notify_waiters();
        }
    }
}

/// Somebody in the queue; dropping it leaves the queue.
struct Waiting<'a> {
    gate: &'a Turnstile,
    lane: &'a Lane,
    ticket: Ticket,
    receiver: oneshot::Receiver<Permit>,
}

impl Waiting<'_> {
    async fn wait(mut self) -> Option<Permit> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.state.lock().waiting.remove(self.lane, self.ticket);
    }
}

/// Places that were taken; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Turnstile>,
    count: usize,
}

impl Permit {
    /// How many places these are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Splits off one place.
    pub(crate) fn split_one(&mut self) -> Self {
        let count = self.count.min(1);
        self.count -= count;
        Self { gate: self.gate.clone(), count }
    }

    /// Takes the places of another permit of the same turnstile.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.count += std::mem::take(&mut other.count);
    }

    /// Keeps `count` places and gives back the others.
    pub(crate) fn keep(&mut self, count: usize) {
        let more = self.count.saturating_sub(count);
        self.count -= more;
        if more > 0 {
            self.gate.give(more);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.count > 0 {
            self.gate.give(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, executor::block_on};

    use super::*;

    fn turn(agent: &str, weight: u32) -> Turn {
        Turn { lane: Some(agent.into()), weight: NonZeroU32::new(weight).unwrap() }
    }

    #[test]
    fn places_are_taken_and_given_back() {
        let gate = Turnstile::new(3);
        let mut two = gate.try_take(2).unwrap();
        assert_eq!(gate.try_take(5).unwrap().count(), 1);
        let one = two.split_one();
        drop(two);
        assert_eq!((gate.free(), gate.is_idle()), (2, false));
        drop(one);
        assert!(gate.is_idle());
        assert_eq!(Turnstile::new(0).places(), 1);
    }

    #[test]
    fn keeping_some_places_gives_back_the_others() {
        let gate = Turnstile::new(5);
        let mut permit = gate.try_take(5).unwrap();
        permit.keep(2);
        assert_eq!((permit.count(), gate.free()), (2, 3));
        permit.keep(4);
        assert_eq!(permit.count(), 2);
    }

    #[test]
    fn who_waits_is_served_before_who_comes_and_tries() {
        let gate = Turnstile::new(1);
        let permit = gate.try_take(1).unwrap();
        let (one, other) = (turn("a", 1), turn("b", 1));
        let mut first = Box::pin(gate.take(&one));
        let mut second = Box::pin(gate.take(&other));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(permit);
        assert!(gate.try_take(1).is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(first.now_or_never().unwrap());
        drop(second.now_or_never().unwrap());
        assert!(gate.is_idle());
    }

    #[test]
    fn who_goes_away_leaves_no_place_taken() {
        let gate = Turnstile::new(1);
        let permit = gate.try_take(1).unwrap();
        let turn = turn("a", 1);
        let mut early = Box::pin(gate.take(&turn));
        assert!(early.as_mut().now_or_never().is_none());
        drop(early);
        let mut served = Box::pin(gate.take(&turn));
        assert!(served.as_mut().now_or_never().is_none());
        drop(permit);
        drop(served); // its place was there, but it never looked
        assert!(gate.is_idle());
    }

    #[test]
    fn waiting_for_idleness_ends_with_the_last_place() {
        let gate = Turnstile::new(2);
        let permit = gate.try_take(2).unwrap();
        let mut idle = Box::pin(gate.idle());
        assert!(idle.as_mut().now_or_never().is_none());
        drop(permit);
        block_on(idle);
    }
}
