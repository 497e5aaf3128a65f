//! What is known of an actor while it lives and when it has died.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::placement::Seat;

/// What an actor and its successors have in common.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// Messages handled to their end.
    handled: AtomicU64,
    panicked: AtomicU64,
    stopped: AtomicU64,
    /// Odd while a turn goes on. Written by the thread of the actor alone, so that two plain writes do.
    turn: AtomicU64,
    /// How many turns took too long.
    blocked: AtomicU64,
    tool: String,
    /// Free again when the last of them is gone.
    _seat: Option<Seat>,
}

impl Pulse {
    /// `seat` is free again when the last of the actors is gone.
    pub(crate) fn new(tool: &str, seat: Option<Seat>) -> Self {
        Self { tool: tool.to_owned(), _seat: seat, ..Self::default() }
    }

    #[cfg(test)]
    pub(crate) fn of(tool: &str) -> Self {
        Self { tool: tool.to_owned(), ..Self::default() }
    }

    /// How many messages were handled to their end.
    pub(crate) fn beats(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// How many actors ended by a panic.
    pub(crate) fn panicked(&self) -> u64 {
        self.panicked.load(Ordering::Relaxed)
    }

    /// How many ended otherwise.
    pub(crate) fn stopped(&self) -> u64 {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn beat(&self) {
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    /// The actor, or a task that it drives on its arbiter, is about to run code of its tool.
    pub(crate) fn begin_turn(&self) {
        self.turn.store(self.turn.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
    }

    /// The code of the tool has given the arbiter back.
    pub(crate) fn end_turn(&self) {
        self.turn.store((self.turn.load(Ordering::Relaxed) | 1).wrapping_add(1), Ordering::Relaxed);
    }

    /// The number of the turn that goes on.
    pub(crate) fn turn(&self) -> Option<u64> {
        Some(self.turn.load(Ordering::Relaxed)).filter(|turn| turn % 2 == 1)
    }

    pub(crate) fn note_blocked(&self) {
        self.blocked.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn blocked(&self) -> u64 {
        self.blocked.load(Ordering::Relaxed)
    }

    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }
}

/// Notes why an actor ended; a field of the actor.
pub(crate) struct DeathNote(pub(crate) Arc<Pulse>);

impl Drop for DeathNote {
    fn drop(&mut self) {
        let counter = if std::thread::panicking() { &self.0.panicked } else { &self.0.stopped };
        counter.fetch_add(1, Ordering::Relaxed);
        self.0.end_turn();
    }
}
