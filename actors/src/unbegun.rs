//! Calls whose tools have them and that have not begun: they wait for what their work needs.
//!
//! A body says so by [`CallContext::before_work`](toolyard_contract::CallContext::before_work). Meanwhile the call holds
//! no permits and its time has not started; the time that calls wait to be admitted bounds the wait.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};

/// The calls of one list that have not begun; with none, it costs a look at a flag.
#[derive(Debug, Default)]
pub(crate) struct Unbegun {
    any: AtomicBool,
    calls: Mutex<FxHashMap<usize, Arc<Wait>>>,
}

/// The wait of one call.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    /// The body has what it needs.
    pub(crate) ready: Notify,
    /// Lets the body go on, with its deadline.
    pub(crate) go: Mutex<Option<oneshot::Sender<Option<std::time::Instant>>>>,
}

impl Unbegun {
    /// Notes that a call waits.
    pub(crate) fn enter(&self, position: usize) {
        self.calls.lock().insert(position, Arc::default());
        self.any.store(true, Ordering::Release);
    }

    /// Notes that a call has what it needs; it goes on when the other end says so.
    pub(crate) fn ready(&self, position: usize) -> Option<oneshot::Receiver<Option<std::time::Instant>>> {
        let wait = self.calls.lock().get(&position).cloned()?;
        let (go, gone) = oneshot::channel();
        *wait.go.lock() = Some(go);
        wait.ready.notify_one();
        Some(gone)
    }

    /// What a call waits for, if it does.
    pub(crate) fn wait_of(&self, position: usize) -> Option<Arc<Wait>> {
        if self.any.load(Ordering::Acquire) { self.calls.lock().get(&position).cloned() } else { None }
    }

    /// Notes that a call waits no more.
    pub(crate) fn leave(&self, position: usize) {
        self.calls.lock().remove(&position);
    }
}
