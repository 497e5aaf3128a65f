//! Calls that a server with a session waits with until people have answered it.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::{asking::Question, pending::Pending, session::Lease};

/// How many calls of a server may wait so; each keeps a request of the server open.
const MOST: usize = 1_024;

/// A call under way whose question is with people. Dropping it tells the server that both are given up.
pub(super) struct Held {
    pub(super) question: Question,
    pub(super) call: Pending,
    pub(super) link: Lease,
}

/// The calls of one server that wait so.
pub(super) struct HeldCalls {
    calls: Mutex<HashMap<String, (Held, AbortOnDropHandle<()>)>>,
    /// Makes keys that no other process has made.
    keys: RandomState,
    next: AtomicU64,
}

impl HeldCalls {
    pub(super) fn new() -> Self {
        Self { calls: Mutex::default(), keys: RandomState::new(), next: AtomicU64::new(0) }
    }

    /// Keeps a call for so long, and gives the key under which it is found again; `None` when there are too many.
    pub(super) fn put(self: &Arc<Self>, held: Held, patience: Duration) -> Option<String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = format!("{:016x}{number:x}", self.keys.hash_one(number));
        let mut calls = self.calls.lock();
        if calls.len() >= MOST {
            return None;
        }
        let (all, own) = (Arc::downgrade(self), key.clone());
        let end = tokio::spawn(async move {
            sleep(patience).await;
            let late = all.upgrade().and_then(|all| all.calls.lock().remove(&own));
            drop(late);
        });
        calls.insert(key.clone(), (held, AbortOnDropHandle::new(end)));
        Some(key)
    }

    pub(super) fn take(&self, key: &str) -> Option<Held> {
        self.calls.lock().remove(key).map(|(held, _)| held)
    }

    /// Lets all of them go.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.calls.lock());
        drop(all);
    }
}
