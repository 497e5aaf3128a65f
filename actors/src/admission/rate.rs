//! Rate limits, on the clock of the runtime.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::time::{Instant, sleep_until};
use toolyard_contract::Rate;

use super::{
    turnstile::{Permit, Turn, Turnstile},
    window::Window,
};
use crate::moment;

/// A window that several gates share.
type SharedWindow = Arc<Mutex<Window>>;

/// One window for each of many keys, all with the same rate.
#[derive(Debug)]
pub(crate) struct Keyed {
    rate: Rate,
    windows: Mutex<FxHashMap<Arc<str>, SharedWindow>>,
}

impl Keyed {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, windows: Mutex::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.windows.lock().len()
    }

    /// Forgets the keys that nobody uses and whose window is empty.
    pub(crate) fn retain_recent(&self) {
        let now = Instant::now();
        let mut windows = self.windows.lock();
        windows.retain(|_, window| Arc::strong_count(window) > 1 || !window.lock().is_idle(now));
        windows.shrink_to_fit();
    }

    fn window(&self, key: Arc<str>) -> SharedWindow {
        self.windows.lock().entry(key).or_insert_with(|| shared(self.rate)).clone()
    }
}

fn shared(rate: Rate) -> SharedWindow {
    Arc::new(Mutex::new(Window::new(rate)))
}

/// A place where calls pass no more often than a rate allows.
///
/// At most one waits for the clock; the others wait for their turn behind it, so that ten thousand
/// who wait are not all woken for each call that may pass.
#[derive(Debug)]
pub(crate) struct RateGate {
    rate: Rate,
    window: SharedWindow,
    turn: Arc<Turnstile>,
}

/// A rate leaves no room for so long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooSoon(pub(crate) Duration);

impl RateGate {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, window: shared(rate), turn: Turnstile::new(1) }
    }

    /// The limit of one key among many that have the same rate.
    pub(crate) fn of_key(limits: &Keyed, key: Arc<str>) -> Self {
        Self { rate: limits.rate, window: limits.window(key), turn: Turnstile::new(1) }
    }

    /// The same limit for lists one deeper, whose calls wait for their turn among themselves.
    pub(crate) fn deeper(&self) -> Self {
        Self { rate: self.rate, window: self.window.clone(), turn: Turnstile::new(1) }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Lets up to `wanted` calls begin, as many as may begin now; none when somebody waits.
    pub(crate) fn try_pass(&self, wanted: usize) -> usize {
        let Some(_turn) = self.turn.try_take(1) else { return 0 };
        let mut window = self.window.lock();
        window.take(Instant::now(), wanted)
    }

    /// Waits until one call may begin, and keeps room for it. Whoever holds the permit keeps the next one waiting.
    ///
    /// # Errors
    /// When it is clear that `until` comes first.
    pub(crate) async fn pass(&self, turn: &Turn, until: Instant) -> Result<(Permit, Room), TooSoon> {
        let permit = self.turn.take(turn).await;
        while let Err(wait) = self.reserve() {
            let at = moment::from_now(wait);
            if at > until {
                return Err(TooSoon(wait));
            }
            sleep_until(at).await;
        }
        Ok((permit, Room(Some(self.window.clone()))))
    }

    fn reserve(&self) -> Result<(), Duration> {
        let mut window = self.window.lock();
        window.reserve(Instant::now())
    }
}

/// Room that a rate keeps for a call until it begins; given up when dropped before.
#[derive(Debug)]
pub(crate) struct Room(Option<SharedWindow>);

impl Room {
    /// The call begins now: what counts is when calls begin, not when they were let pass.
    pub(crate) fn begin(mut self) {
        if let Some(window) = self.0.take() {
            let mut window = window.lock();
            window.begin(Instant::now());
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(window) = self.0.take() {
            window.lock().release();
        }
    }
}
