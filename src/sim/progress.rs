//! How far a simulation is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::SimError;

/// How far a simulation is; can be looked at, and stopped, from any thread.
#[derive(Clone, Debug, Default)]
pub struct SimHandle(pub(super) Arc<Progress>);

impl SimHandle {
    /// How many calls have ended.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// How far the time of the scenario has come in the world that is furthest.
    pub fn reached(&self) -> Duration {
        Duration::from_millis(self.0.reached_ms.load(Ordering::Relaxed))
    }

    /// Lets no more lists begin; those under way are run to their end.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Progress {
    calls: AtomicU64,
    reached_ms: AtomicU64,
    stopped: AtomicBool,
    failed: Mutex<Option<SimError>>,
}

impl Progress {
    pub(super) fn add(&self, calls: usize) {
        self.calls.fetch_add(calls as u64, Ordering::Relaxed);
    }

    pub(super) fn reached(&self, time: Duration) {
        self.reached_ms.fetch_max(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Notes what went wrong first, and stops everything.
    pub(super) fn fail(&self, error: SimError) {
        self.failed.lock().get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn failure(&self) -> Option<SimError> {
        self.failed.lock().take()
    }
}
