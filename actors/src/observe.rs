//! Those who watch the engine: each gets its events with bounded memory, and none is waited for.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
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

use crate::event::{EngineEvent, EventKind};

/// Takes the events of an engine where they happen, so that none is lost. Its work is done in the
/// midst of the calls': it must be short, must not wait, and must not listen to the engine anew.
pub trait EventTap: Send + Sync {
    /// Takes an event; `false` says that no more are wanted.
    fn take(&self, event: &EngineEvent) -> bool;
}

/// The listeners of an engine. With none, an event costs one atomic load.
pub(crate) struct Observers {
    started: Instant,
    listening: AtomicUsize,
    listeners: RwLock<Vec<Listener>>,
}

struct Listener {
    sink: Sink,
    dropped: DroppedEvents,
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
            Self::Tap(tap) if tap.take(event) => Taken::Yes,
            Self::Tap(_) => Taken::Gone,
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
        let mut listeners = self.listeners.write();
        listeners.push(Listener { sink, dropped: dropped.clone() });
        self.listening.store(listeners.len(), Ordering::Relaxed);
        dropped
    }

    /// Gives an event to every listener that has room; never waits.
    pub(crate) fn emit(&self, run: RunId, kind: EventKind) {
        let event = EngineEvent { run, at: self.started.elapsed(), kind };
        let mut gone = Vec::new();
        for listener in self.listeners.read().iter() {
            match listener.sink.give(&event) {
                Taken::Yes => {}
                Taken::NoRoom => listener.dropped.count_one(),
                Taken::Gone => gone.push(listener.dropped.clone()),
            }
        }
        if !gone.is_empty() {
            let mut listeners = self.listeners.write();
            listeners.retain(|listener| !gone.iter().any(|gone| gone.is_same(&listener.dropped)));
            self.listening.store(listeners.len(), Ordering::Relaxed);
        }
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

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
