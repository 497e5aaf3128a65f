//! Who has which key, and who waits for it: a plain state machine, without clocks and tasks.

use std::{hash::Hash, num::NonZeroU32};

use rustc_hash::FxHashMap;

use crate::admission::fair::FairQueue;

pub(crate) use crate::admission::fair::Ticket;

/// The keys that are taken, each with those who wait for it, who take turns by lane and are served in their order
/// within one. A key that is free takes no memory.
#[derive(Debug)]
pub(crate) struct Queues<K, L, W> {
    /// The queue is made when somebody waits: mostly nobody does.
    taken: FxHashMap<K, Option<Box<FairQueue<L, W>>>>,
}

impl<K, L, W> Default for Queues<K, L, W> {
    fn default() -> Self {
        Self { taken: FxHashMap::default() }
    }
}

impl<K: Clone + Eq + Hash, L: Clone + Eq + Hash, W> Queues<K, L, W> {
    /// Takes a key if nobody has it.
    pub(crate) fn try_take(&mut self, key: &K) -> bool {
        if self.taken.contains_key(key) {
            return false;
        }
        self.taken.insert(key.clone(), None);
        true
    }

    /// Joins the queue of a key that somebody has.
    pub(crate) fn join(&mut self, key: &K, lane: L, weight: NonZeroU32, waiter: W) -> Ticket {
        let queue = self.taken.entry(key.clone()).or_default();
        queue.get_or_insert_default().push(lane, weight, waiter)
    }

    /// Leaves the queue of a key. Whoever is not in it any more has been served.
    pub(crate) fn leave(&mut self, key: &K, lane: &L, ticket: Ticket) {
        if let Some(Some(queue)) = self.taken.get_mut(key) {
            queue.remove(lane, ticket);
        }
    }

    /// Gives a key back: to the next who waits, who has it then, or to nobody.
    pub(crate) fn release(&mut self, key: &K) -> Option<W> {
        let next = self.taken.get_mut(key)?.as_mut().and_then(|queue| queue.pop());
        if next.is_none() {
            self.taken.remove(key);
        }
        next
    }

    /// Tells whether somebody has a key.
    pub(crate) fn is_taken(&self, key: &K) -> bool {
        self.taken.contains_key(key)
    }

    /// How many keys are taken.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }
}
