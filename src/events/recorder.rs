//! From an engine to a sink, on a thread of its own.

use std::{
    any::Any,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Receiver, Sender, bounded, select_biased, unbounded};
use toolyard_actors::{EngineEvent, EventTap};

use super::{EventRecord, RECORD_VERSION, RecordedEvent};
use crate::Engine;

/// How much memory the records may take that wait, where nothing else is said: enough for what a list
/// of 50,000 calls tells faster than it can be written.
const ROOM: usize = 64 << 20;

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
    queue: Arc<Queue>,
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
    /// Starts to record, with 64 MiB of room for records that wait: enough for what a list of 50,000
    /// calls tells faster than it can be written. Memory is taken only as records wait.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(engine: &Engine, sink: S) -> io::Result<Self> {
        Self::with_room(engine, sink, ROOM)
    }

    /// Starts to record, with room for records that wait, in bytes.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_room(engine: &Engine, sink: S, room: usize) -> io::Result<Self> {
        let (send, records) = unbounded();
        let (going_on, stopped) = bounded(0);
        let queue = Arc::new(Queue { room, taken: AtomicUsize::new(0), dropped: AtomicU64::new(0) });
        let mut writer = Writer { sink, queue: queue.clone(), told: 0 };
        let thread = thread::Builder::new().name("toolyard-events".into()).spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| writer.run(&records, &stopped)));
            let done = done.unwrap_or_else(|panic| Err(broken(&*panic)));
            // After an error some records have not left; room lets the tap find out that nobody takes them.
            writer.queue.taken.store(0, Ordering::Relaxed);
            (writer.sink, done)
        })?;
        engine.tap(Arc::new(RecordingTap { records: send, queue: queue.clone() }));
        Ok(Self { thread, queue, going_on })
    }

    /// Ends the recording and waits until all that happened before is taken.
    ///
    /// # Errors
    /// When the sink did not take everything, or has panicked.
    pub fn finish(self) -> io::Result<Recorded<S>> {
        drop(self.going_on);
        let (sink, done) = self.thread.join().map_err(|panic| broken(&*panic))?;
        done?;
        Ok(Recorded { sink, dropped: self.queue.dropped.load(Ordering::Relaxed) })
    }
}

fn broken(panic: &(dyn Any + Send)) -> io::Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    io::Error::other(format!("what takes the records panicked: {text}"))
}

impl<S> fmt::Debug for Recorder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// What both ends know of the records that wait. The channel between them has no bound of its own:
/// one that has takes all its memory at once.
#[derive(Debug)]
struct Queue {
    room: usize,
    taken: AtomicUsize,
    dropped: AtomicU64,
}

impl Queue {
    /// Takes room for a record, or counts it as dropped.
    fn enter(&self, size: usize) -> bool {
        let fits = self.taken.fetch_add(size, Ordering::Relaxed) + size <= self.room;
        if !fits {
            self.leave(size);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    fn leave(&self, size: usize) {
        self.taken.fetch_sub(size, Ordering::Relaxed);
    }
}

/// The end in the engine.
struct RecordingTap {
    records: Sender<EventRecord>,
    queue: Arc<Queue>,
}

impl EventTap for RecordingTap {
    fn take(&self, event: &EngineEvent) -> bool {
        let Some(record) = EventRecord::of(event) else { return true };
        // An error says that the recording has ended.
        !self.queue.enter(record.size()) || self.records.send(record).is_ok()
    }
}

/// The end at the sink.
struct Writer<S> {
    sink: S,
    queue: Arc<Queue>,
    /// How many of the dropped are on record.
    told: u64,
}

impl<S: RecordSink> Writer<S> {
    fn run(&mut self, records: &Receiver<EventRecord>, stopped: &Receiver<()>) -> io::Result<()> {
        let mut last = 0;
        loop {
            while let Ok(record) = records.try_recv() {
                last = record.at_ns;
                self.take(record)?;
            }
            self.tell_dropped(last)?;
            self.sink.pause()?;
            select_biased! {
                recv(records) -> record => match record {
                    Ok(record) => {
                        last = record.at_ns;
                        self.take(record)?;
                    }
                    Err(_) => return Ok(()), // the engine is gone
                },
                recv(stopped) -> _ => return Ok(()),
            }
        }
    }

    fn take(&mut self, record: EventRecord) -> io::Result<()> {
        self.tell_dropped(record.at_ns)?;
        self.queue.leave(record.size());
        self.sink.take(record)
    }

    fn tell_dropped(&mut self, at_ns: u64) -> io::Result<()> {
        let dropped = self.queue.dropped.load(Ordering::Relaxed);
        let count = dropped - self.told;
        if count == 0 {
            return Ok(());
        }
        self.told = dropped;
        let event = RecordedEvent::Dropped { count };
        self.sink.take(EventRecord { v: RECORD_VERSION, at_ns, run: None, event })
    }
}
