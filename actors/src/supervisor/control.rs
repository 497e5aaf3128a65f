//! The hand on a list: cancels, and stops at a failure.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A caller's hand on a list: cancels one call, or all of it.
///
/// What was running ends `cancelled` and what had not begun ends `skipped`; what has ended stays as
/// it is. Clones are hands on the same list.
#[derive(Clone, Default)]
pub struct RunControl(Arc<Control>);

struct Control {
    /// Counted up before and after anything below changes. While it is 0, as in the common case,
    /// nothing else needs to be looked at.
    touches: AtomicU32,
    last_to_start: AtomicU32,
    cancelled: AtomicBool,
    tokens: Mutex<Tokens>,
    /// Wakes the driver.
    changed: Notify,
}

/// What ends the calls that wait; made when the first one does.
#[derive(Default)]
struct Tokens {
    all: Option<CancellationToken>,
    calls: FxHashMap<u32, CancellationToken>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            touches: AtomicU32::new(0),
            last_to_start: AtomicU32::new(u32::MAX),
            cancelled: AtomicBool::new(false),
            tokens: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl RunControl {
    /// Makes a hand for a list that is about to be sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the whole list.
    pub fn cancel(&self) {
        self.mark();
        let all = {
            let tokens = self.0.tokens.lock();
            // Under the lock: a token made afterwards sees it.
            self.0.cancelled.store(true, Ordering::Release);
            tokens.all.clone()
        };
        if let Some(all) = all {
            all.cancel();
        }
        self.touch();
    }

    /// Cancels the call at `position`, whether it has begun or not.
    pub fn cancel_call(&self, position: usize) {
        let Ok(position) = u32::try_from(position) else { return };
        self.mark();
        self.token(position).cancel();
        self.touch();
    }

    /// Tells whether the whole list has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn call_is_cancelled(&self, position: u32) -> bool {
        self.0.tokens.lock().calls.get(&position).is_some_and(CancellationToken::is_cancelled)
    }

    /// The positions of calls that were cancelled one by one.
    pub(crate) fn cancelled_calls(&self) -> Vec<u32> {
        let tokens = self.0.tokens.lock();
        let calls = tokens.calls.iter();
        calls.filter(|(_, token)| token.is_cancelled()).map(|(position, _)| *position).collect()
    }

    /// Waits until something was cancelled or stopped since the last time.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.0.touches.load(Ordering::Acquire) > 0
    }

    /// Makes everybody look, before what they will see changes: an answer that a change brings about
    /// must not overtake it.
    fn mark(&self) {
        self.0.touches.fetch_add(1, Ordering::SeqCst);
    }

    /// Tells everybody who waits that something has changed.
    fn touch(&self) {
        self.mark();
        self.0.changed.notify_one();
    }

    /// The token that ends a call which waits.
    pub(crate) fn token(&self, position: u32) -> CancellationToken {
        let mut tokens = self.0.tokens.lock();
        let Tokens { all, calls } = &mut *tokens;
        let all = all.get_or_insert_with(|| {
            let all = CancellationToken::new();
            if self.is_cancelled() {
                all.cancel();
            }
            all
        });
        calls.entry(position).or_insert_with(|| all.child_token()).clone()
    }

    /// Forgets the token of a call that ended by itself.
    pub(crate) fn forget(&self, position: u32) {
        self.0.tokens.lock().calls.remove(&position);
    }

    /// The position behind which nothing begins any more.
    pub(crate) fn last_to_start(&self) -> u32 {
        self.0.last_to_start.load(Ordering::Acquire)
    }

    pub(super) fn start_nothing_after(&self, position: u32) {
        if position < self.0.last_to_start.fetch_min(position, Ordering::AcqRel) {
            self.touch();
        }
    }
}

impl fmt::Debug for RunControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunControl").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}
