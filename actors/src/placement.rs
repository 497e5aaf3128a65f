//! Which arbiter an actor lives on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix::{Arbiter, ArbiterHandle, System};

/// The arbiters of one engine. An actor never moves, so it is placed where there are fewest.
pub(crate) struct Placement {
    places: Vec<Place>,
    /// Arbiters that this engine started and must stop.
    own: Vec<Arbiter>,
}

struct Place {
    arbiter: ArbiterHandle,
    actors: Arc<AtomicUsize>,
}

/// A seat on an arbiter, for a tool's actors; free again when dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Placement {
    /// Takes the current arbiter as the first place and starts `arbiters - 1` more.
    ///
    /// # Panics
    /// Outside an actix system.
    pub(crate) fn new(arbiters: usize, max_blocking: usize) -> Self {
        let own: Vec<Arbiter> =
            (1..arbiters).map(|_| Arbiter::with_tokio_rt(move || runtime(max_blocking))).collect();
        // Whichever thread of a system drops the last hold on it wakes a task of it, and aborts the process when
        // that is while the thread's own locals go. So there is always one hold more.
        std::mem::forget(System::current());
        let here = std::iter::once(Arbiter::current());
        let place = |arbiter| Place { arbiter, actors: Arc::default() };
        let places = here.chain(own.iter().map(Arbiter::handle)).map(place);
        Self { places: places.collect(), own }
    }

    /// The arbiters, the current one first.
    pub(crate) fn arbiters(&self) -> impl Iterator<Item = &ArbiterHandle> {
        self.places.iter().map(|place| &place.arbiter)
    }

    /// Takes a seat on the arbiter with the fewest actors. The first arbiter is always there.
    pub(crate) fn least(&self) -> (ArbiterHandle, Option<Seat>) {
        match self.places.iter().min_by_key(|place| place.actors.load(Ordering::Relaxed)) {
            Some(place) => {
                place.actors.fetch_add(1, Ordering::Relaxed);
                (place.arbiter.clone(), Some(Seat(place.actors.clone())))
            }
            None => (Arbiter::current(), None),
        }
    }

    /// How many seats are taken.
    pub(crate) fn taken(&self) -> usize {
        self.places.iter().map(|place| place.actors.load(Ordering::Relaxed)).sum()
    }

    /// Ends the arbiters that this engine started.
    pub(crate) fn stop(&self) {
        for arbiter in &self.own {
            arbiter.stop();
        }
    }
}

/// The runtime of an arbiter, with room for the whole blocking pool.
pub(crate) fn runtime(max_blocking: usize) -> tokio::runtime::Runtime {
    let threads = max_blocking.saturating_add(4).max(8);
    let built =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(threads).build();
    built.expect("an operating system that gives threads and timers")
}
