//! What one call at a time may have, anywhere in the engine: today the rows of tools with state.
//!
//! A key is waited for before permits are taken, so that those who wait for a narrow thing hold nothing wide. Whoever
//! gets a [`Hold`] has its key until it is dropped; those who wait take turns by agent.

mod queues;

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    sync::Arc,
};

use parking_lot::Mutex;
use rustc_hash::FxHasher;
use tokio::sync::oneshot;
use toolyard_contract::RowKey;

use self::queues::Queues;
use crate::admission::turnstile::{Lane, Turn};

/// One thing that one call at a time may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A row of the tool whose entry in the catalogue has this number.
    Row(u64, RowKey),
}

/// Locks are taken by part, so that arbiters are seldom in each other's way.
const PARTS: usize = 16;

type Part = Mutex<Queues<Key, Lane, oneshot::Sender<Hold>>>;

/// The keys of an engine.
#[derive(Debug, Default)]
pub(crate) struct KeyTable([Part; PARTS]);

impl KeyTable {
    fn part(&self, key: &Key) -> &Part {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(key);
        // The upper bits, because the maps inside use the lower ones.
        &self.0[usize::try_from(hash >> 60).unwrap_or(0) % PARTS]
    }

    /// Takes a key that is free.
    pub(crate) fn try_take(self: &Arc<Self>, key: &Key) -> Option<Hold> {
        let taken = self.part(key).lock().try_take(key);
        taken.then(|| Hold::new(self, key))
    }

    /// Waits for a key.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue and gives back what was had.
    pub(crate) async fn take(self: &Arc<Self>, key: &Key, turn: &Turn) -> Hold {
        loop {
            let waiting = {
                let mut queues = self.part(key).lock();
                if queues.try_take(key) {
                    return Hold::new(self, key);
                }
                let (sender, receiver) = oneshot::channel();
                let ticket = queues.join(key, turn.lane.clone(), turn.weight, sender);
                Waiting { table: self, key, lane: &turn.lane, ticket, receiver }
            };
            if let Some(hold) = waiting.wait().await {
                return hold;
            }
        }
    }

    /// Tells whether somebody has a key.
    pub(crate) fn is_taken(&self, key: &Key) -> bool {
        self.part(key).lock().is_taken(key)
    }

    fn release(self: &Arc<Self>, key: &Key) {
        let mut queues = self.part(key).lock();
        while let Some(next) = queues.release(key) {
            match next.send(Hold::new(self, key)) {
                Ok(()) => return,
                // It went away in this moment. Its hold must not release the key under the lock.
                Err(mut hold) => hold.table = None,
            }
        }
    }
}

/// Somebody in a queue; dropping it leaves the queue.
struct Waiting<'a> {
    table: &'a KeyTable,
    key: &'a Key,
    lane: &'a Lane,
    ticket: queues::Ticket,
    receiver: oneshot::Receiver<Hold>,
}

impl Waiting<'_> {
    async fn wait(mut self) -> Option<Hold> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.table.part(self.key).lock().leave(self.key, self.lane, self.ticket);
    }
}

/// A key that somebody has; dropping it passes it on.
#[derive(Debug)]
pub(crate) struct Hold {
    table: Option<Arc<KeyTable>>,
    key: Key,
}

impl Hold {
    fn new(table: &Arc<KeyTable>, key: &Key) -> Self {
        Self { table: Some(table.clone()), key: key.clone() }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(table) = self.table.take() {
            table.release(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;
