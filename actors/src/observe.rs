//! Those who watch the engine: each gets its events with bounded memory, and none is waited for.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use actix::{Recipient, prelude::SendError};
use futures::Stream;
use parking_lot::RwLock;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    time::Instant,
};
use toolyard_contract::RunId;

use crate::{
    event::{EngineEvent, EventKind},
    guard::start_guarded,
};

/// Takes the events of an engine where they happen, so that none is lost. Its work is done in the
/// midst of the calls': it must be short and must not wait. One that panics gets no more events, and
/// touches nothing else: a warning is logged once.
pub trait EventTap: Send + Sync {
    /// Takes an event; `false` says that no more are wanted.
    fn take(&self, event: &EngineEvent) -> bool;
}

/// The listeners of an engine. With none, an event costs one atomic load.
pub(crate) struct Observers {
    started: Instant,
    listening: AtomicUsize,
    /// Replaced as a whole, so that none is held while the code of a listener runs, which may listen anew.
    listeners: RwLock<Listeners>,
}

type Listeners = Arc<Vec<Arc<Listener>>>;

struct Listener {
    sink: Sink,
    dropped: DroppedEvents,
    /// It has panicked: it gets nothing more, and that was said.
    broken: AtomicBool,
}

/// Where a listener's events go. All of them are bounded, and none is waited for.
enum Sink {
    Stream(Sender<EngineEvent>),
    Actor(Recipient<EngineEvent>),
    Thread(crossbeam_channel::Sender<EngineEvent>),
    Tap(Arc<dyn EventTap>),
}

/// What became of an event.
enum Taken {
    Yes,
    NoRoom,
    Gone,
    Broken(String),
}

impl Sink {
    fn give(&self, event: &EngineEvent) -> Taken {
        match self {
            Self::Stream(sender) => match sender.try_send(event.clone()) {
                Ok(()) => Taken::Yes,
                Err(TrySendError::Full(_)) => Taken::NoRoom,
                Err(TrySendError::Closed(_)) => Taken::Gone,
            },
            Self::Actor(recipient) => match recipient.try_send(event.clone()) {
                Ok(()) => Taken::Yes,
                Err(SendError::Full(_)) => Taken::NoRoom,
                Err(SendError::Closed(_)) => Taken::Gone,
            },
            Self::Thread(sender) => match sender.try_send(event.clone()) {
                Ok(()) => Taken::Yes,
                Err(crossbeam_channel::TrySendError::Full(_)) => Taken::NoRoom,
                Err(crossbeam_channel::TrySendError::Disconnected(_)) => Taken::Gone,
            },
            Self::Tap(tap) => match start_guarded(|| tap.take(event)) {
                Ok(true) => Taken::Yes,
                Ok(false) => Taken::Gone,
                Err(panic) => Taken::Broken(panic),
            },
        }
    }
}

impl Listener {
    fn give(&self, event: &EngineEvent) -> Taken {
        // Several threads may be on their way to one that panics.
        if self.broken.load(Ordering::Acquire) { Taken::Gone } else { self.sink.give(event) }
    }

    fn breaks(&self, panic: &str) {
        if !self.broken.swap(true, Ordering::AcqRel) {
            tracing::warn!(panic, "a tap of events panicked; it gets no more events");
        }
    }
}

impl Observers {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), listening: AtomicUsize::new(0), listeners: RwLock::default() }
    }

    /// Tells whether anybody listens.
    pub(crate) fn listens(&self) -> bool {
        self.listening.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn subscribe(&self, capacity: usize) -> EventStream {
        let (sender, receiver) = channel(capacity.max(1));
        EventStream { receiver, dropped: self.add(Sink::Stream(sender)) }
    }

    pub(crate) fn subscribe_actor(&self, recipient: Recipient<EngineEvent>) -> DroppedEvents {
        self.add(Sink::Actor(recipient))
    }

    pub(crate) fn subscribe_thread(
        &self,
        capacity: usize,
    ) -> (crossbeam_channel::Receiver<EngineEvent>, DroppedEvents) {
        let (sender, receiver) = crossbeam_channel::bounded(capacity.max(1));
        (receiver, self.add(Sink::Thread(sender)))
    }

    pub(crate) fn tap(&self, tap: Arc<dyn EventTap>) {
        self.add(Sink::Tap(tap));
    }

    fn add(&self, sink: Sink) -> DroppedEvents {
        let dropped = DroppedEvents::default();
        let listener = Listener { sink, dropped: dropped.clone(), broken: AtomicBool::new(false) };
        let mut listeners = self.listeners.write();
        let more = listeners.iter().cloned().chain([Arc::new(listener)]).collect::<Vec<_>>();
        self.listening.store(more.len(), Ordering::Relaxed);
        *listeners = Arc::new(more);
        dropped
    }

    /// Gives an event to every listener that has room; never waits.
    pub(crate) fn emit(&self, run: RunId, kind: EventKind) {
        let event = EngineEvent { run, at: self.started.elapsed(), kind };
        let listeners = self.listeners.read().clone();
        let mut gone = Vec::new();
        for listener in &*listeners {
            match listener.give(&event) {
                Taken::Yes => {}
                Taken::NoRoom => listener.dropped.count_one(),
                Taken::Gone => gone.push(listener.clone()),
                Taken::Broken(panic) => {
                    listener.breaks(&panic);
                    gone.push(listener.clone());
                }
            }
        }
        if !gone.is_empty() {
            self.remove(&gone);
        }
        // The last hand on a tap may be here, and its end is the host's code too.
        if let Err(panic) = start_guarded(|| drop((listeners, gone))) {
            tracing::warn!(panic, "a tap of events panicked while being dropped");
        }
    }

    fn remove(&self, gone: &[Arc<Listener>]) {
        let old = {
            let mut listeners = self.listeners.write();
            let is_here = |listener: &&Arc<Listener>| !gone.iter().any(|gone| Arc::ptr_eq(gone, listener));
            let left = listeners.iter().filter(is_here).cloned().collect::<Vec<_>>();
            self.listening.store(left.len(), Ordering::Relaxed);
            std::mem::replace(&mut *listeners, Arc::new(left))
        };
        // Never the last hand on one: the caller has the others.
        drop(old);
    }
}

/// How many events a listener has lost because it had no room for them.
#[derive(Clone, Debug, Default)]
pub struct DroppedEvents(Arc<AtomicU64>);

impl DroppedEvents {
    /// The number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The events of an engine for one listener.
///
/// A listener that is slower than the engine loses events, counted by [`dropped`](Self::dropped);
/// it never slows a call down.
#[derive(Debug)]
pub struct EventStream {
    receiver: Receiver<EngineEvent>,
    dropped: DroppedEvents,
}

impl EventStream {
    /// Waits for the next event; `None` once the engine is gone.
    pub async fn next(&mut self) -> Option<EngineEvent> {
        self.receiver.recv().await
    }

    /// Waits for the next event on a plain thread.
    ///
    /// # Panics
    /// Inside an async runtime.
    pub fn next_blocking(&mut self) -> Option<EngineEvent> {
        self.receiver.blocking_recv()
    }

    /// Takes an event that is already there.
    pub fn try_next(&mut self) -> Option<EngineEvent> {
        self.receiver.try_recv().ok()
    }

    /// How many events were lost because this listener had no room for them.
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }
}

impl Stream for EventStream {
    type Item = EngineEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EngineEvent>> {
        self.receiver.poll_recv(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::panic_any,
        sync::{OnceLock, atomic::AtomicUsize},
        time::Duration,
    };

    use tracing::{Event, Level, Metadata, Subscriber, span};

    use super::*;

    /// Counts the warnings of one thread.
    struct Warnings(Arc<AtomicUsize>);

    impl Subscriber for Warnings {
        fn enabled(&self, about: &Metadata<'_>) -> bool {
            *about.level() == Level::WARN
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[derive(Default)]
    struct Breaks {
        taken: Arc<AtomicUsize>,
        at: usize,
        at_its_end: bool,
    }

    impl EventTap for Breaks {
        fn take(&self, _: &EngineEvent) -> bool {
            let taken = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
            assert!(taken < self.at, "it breaks");
            true
        }
    }

    impl Drop for Breaks {
        fn drop(&mut self) {
            if self.at_its_end {
                panic_any(7);
            }
        }
    }

    fn emit(observers: &Observers) {
        observers.emit(RunId(1), EventKind::ListFinished { elapsed: Duration::ZERO });
    }

    #[test]
    fn a_tap_that_panics_is_dropped_and_reported_once_and_others_go_on() {
        for at_its_end in [false, true] {
            let (observers, taken) = (Observers::new(), Arc::<AtomicUsize>::default());
            let mut before = observers.subscribe(8);
            observers.tap(Arc::new(Breaks { taken: taken.clone(), at: 2, at_its_end }));
            let mut after = observers.subscribe(8);
            let said = Arc::<AtomicUsize>::default();
            tracing::subscriber::with_default(Warnings(said.clone()), || {
                (0..4).for_each(|_| emit(&observers));
            });
            assert_eq!(taken.load(Ordering::Relaxed), 2);
            assert_eq!(said.load(Ordering::Relaxed), 1 + usize::from(at_its_end));
            assert_eq!(observers.listening.load(Ordering::Relaxed), 2);
            for stream in [&mut before, &mut after] {
                assert_eq!(std::iter::from_fn(|| stream.try_next()).count(), 4);
            }
        }
    }

    #[test]
    fn a_tap_may_listen_anew() {
        struct Anew(Arc<Observers>, OnceLock<()>);
        impl EventTap for Anew {
            fn take(&self, _: &EngineEvent) -> bool {
                self.1.get_or_init(|| drop(self.0.subscribe(1)));
                true
            }
        }
        let observers = Arc::new(Observers::new());
        observers.tap(Arc::new(Anew(observers.clone(), OnceLock::new())));
        (0..3).for_each(|_| emit(&observers));
        assert_eq!(observers.listening.load(Ordering::Relaxed), 1, "the one that went is gone again");
    }
}
