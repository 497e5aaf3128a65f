//! From an engine to a sink, on a thread of its own.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, select_biased};
use toolyard_actors::{EngineEvent, EventTap};

use super::{EventRecord, RECORD_VERSION, RecordedEvent};
use crate::Engine;

/// How many records wait to be taken at most, where nothing else is said: what a list of 50,000 calls
/// tells at once while it is planned, at 20 MB or less.
const CAPACITY: usize = 1 << 16;

/// Takes records on a thread that may wait.
pub trait RecordSink: Send + 'static {
    /// Takes a record.
    ///
    /// # Errors
    /// When nothing more can be taken; the recorder then stops.
    fn take(&mut self, record: EventRecord) -> io::Result<()>;

    /// Called when no record waits: a moment to flush.
    ///
    /// # Errors
    /// When nothing more can be taken; the recorder then stops.
    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records the events of an engine from its start on. Calls never wait for it: what it has no room for
/// is dropped, counted, and on record as [`RecordedEvent::Dropped`].
///
/// Dropping it ends the recording without waiting for what is still to be taken.
pub struct Recorder<S> {
    thread: JoinHandle<(S, io::Result<()>)>,
    dropped: Arc<AtomicU64>,
    /// Dropped to end the recording.
    going_on: Sender<()>,
}

/// What a [`Recorder`] leaves.
#[derive(Debug)]
pub struct Recorded<S> {
    /// What took the records.
    pub sink: S,
    /// How many events are not on record.
    pub dropped: u64,
}

impl<S: RecordSink> Recorder<S> {
    /// Starts to record, with room for 65,536 records that wait: what a list of 50,000 calls tells at
    /// once.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(engine: &Engine, sink: S) -> io::Result<Self> {
        Self::with_capacity(engine, sink, CAPACITY)
    }

    /// Starts to record, with room for `capacity` records that wait.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_capacity(engine: &Engine, sink: S, capacity: usize) -> io::Result<Self> {
        let (send, records) = bounded(capacity.max(1));
        let (going_on, stopped) = bounded(0);
        let dropped = Arc::<AtomicU64>::default();
        let mut writer = Writer { sink, dropped: dropped.clone(), told: 0 };
        let thread = thread::Builder::new().name("toolyard-events".into()).spawn(move || {
            let done = writer.run(&records, &stopped);
            (writer.sink, done)
        })?;
        engine.tap(Arc::new(RecordingTap { records: send, dropped: dropped.clone() }));
        Ok(Self { thread, dropped, going_on })
    }

    /// Ends the recording and waits until all that happened before is taken.
    ///
    /// # Errors
    /// When the sink did not take everything.
    ///
    /// # Panics
    /// When the sink has panicked.
    pub fn finish(self) -> io::Result<Recorded<S>> {
        drop(self.going_on);
        let (sink, done) = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done?;
        Ok(Recorded { sink, dropped: self.dropped.load(Ordering::Relaxed) })
    }
}

impl<S> fmt::Debug for Recorder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

/// The end in the engine.
struct RecordingTap {
    records: Sender<EventRecord>,
    dropped: Arc<AtomicU64>,
}

impl EventTap for RecordingTap {
    fn take(&self, event: &EngineEvent) -> bool {
        let Some(record) = EventRecord::of(event) else { return true };
        match self.records.try_send(record) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(TrySendError::Disconnected(_)) => return false,
        }
        true
    }
}

/// The end at the sink.
struct Writer<S> {
    sink: S,
    dropped: Arc<AtomicU64>,
    /// How many of the dropped are on record.
    told: u64,
}

impl<S: RecordSink> Writer<S> {
    fn run(&mut self, records: &Receiver<EventRecord>, stopped: &Receiver<()>) -> io::Result<()> {
        let mut last = 0;
        loop {
            while let Ok(record) = records.try_recv() {
                last = record.at_ns;
                self.tell_dropped(last)?;
                self.sink.take(record)?;
            }
            self.tell_dropped(last)?;
            self.sink.pause()?;
            select_biased! {
                recv(records) -> record => match record {
                    Ok(record) => {
                        last = record.at_ns;
                        self.tell_dropped(last)?;
                        self.sink.take(record)?;
                    }
                    Err(_) => return Ok(()), // the engine is gone
                },
                recv(stopped) -> _ => return Ok(()),
            }
        }
    }

    fn tell_dropped(&mut self, at_ns: u64) -> io::Result<()> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let count = dropped - self.told;
        if count == 0 {
            return Ok(());
        }
        self.told = dropped;
        let event = RecordedEvent::Dropped { count };
        self.sink.take(EventRecord { v: RECORD_VERSION, at_ns, run: None, event })
    }
}
