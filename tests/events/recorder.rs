//! The recorder: everything in order, bounded, and in nobody's way.

use std::{io, sync::mpsc};

use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions,
    events::{EventRecord, RecordSink, RecordedEvent, Recorder},
};

use super::{Kept, name, recorded};
use crate::engine::tools::{call, echo};

fn echoing() -> Engine {
    Engine::builder().tool(echo("echo")).build().unwrap()
}

#[test]
fn a_list_is_on_record_from_its_start_to_its_end_with_times_that_never_go_back() {
    let (report, records) = recorded(
        &echoing(),
        vec![call("echo", json!({})), call("nothing", json!({}))],
        ExecuteOptions::new().agent("a"),
    );
    let story: Vec<_> = records.iter().map(|record| name(&record.event)).collect();
    let expected = ["list_accepted", "accepted", "finished", "started", "finished", "list_finished"];
    assert_eq!(story, expected);
    assert!(records.is_sorted_by_key(|record| record.at_ns));
    assert!(records.iter().all(|record| record.run == Some(report.run.0)));
    let agent = Some("a".to_owned());
    assert_eq!(records[0].event, RecordedEvent::ListAccepted { calls: 2, agent, parent: None });
    let RecordedEvent::Finished { elapsed_ns, .. } = records[4].event else { panic!("{records:?}") };
    assert_eq!(u128::from(elapsed_ns), report.results[0].elapsed.as_nanos());
}

/// Takes nothing until it is let.
struct Shut {
    open: mpsc::Receiver<()>,
    kept: Kept,
}

impl RecordSink for Shut {
    fn take(&mut self, record: EventRecord) -> io::Result<()> {
        // An error: it is open for good.
        let _ = self.open.recv();
        self.kept.take(record)
    }
}

#[test]
fn a_slow_sink_holds_up_no_call_and_what_it_missed_is_counted_and_on_record() {
    const ROOM: usize = 2_000; // bytes: for a few records
    const CALLS: usize = 100;
    let engine = echoing();
    let (open, opened) = mpsc::channel();
    let shut = Shut { open: opened, kept: Kept::default() };
    let recorder = Recorder::with_room(&engine, shut, ROOM).unwrap();
    let calls = vec![call("echo", json!({})); CALLS];
    // Ends, although not one of its events can be taken.
    assert!(engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().all_ok());
    drop(open);
    let left = recorder.finish().unwrap();
    let kept = left.sink.kept.0;
    let counts = kept.iter().filter_map(|record| match record.event {
        RecordedEvent::Dropped { count } => Some(count),
        _ => None,
    });
    let (notes, told) = counts.fold((0, 0), |(notes, sum), count| (notes + 1, sum + count));
    assert_eq!(told, left.dropped);
    assert_eq!((kept.len() - notes) as u64 + told, (2 + 3 * CALLS) as u64, "every event is kept or counted");
    let most = ROOM / size_of::<EventRecord>() + 1; // one is on its way into the sink
    assert!((2..=most).contains(&(kept.len() - notes)), "{} are kept", kept.len());
}

/// Fails at its third record.
#[derive(Debug)]
struct Full(u8);

impl RecordSink for Full {
    fn take(&mut self, _: EventRecord) -> io::Result<()> {
        self.0 += 1;
        if self.0 < 3 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

#[test]
fn a_sink_that_fails_is_told_at_the_end_and_touches_no_call() {
    let engine = echoing();
    let recorder = Recorder::start(&engine, Full(0)).unwrap();
    for _ in 0..3 {
        assert!(
            engine.execute_blocking(vec![call("echo", json!({}))], ExecuteOptions::new()).unwrap().all_ok()
        );
    }
    assert_eq!(recorder.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_recording_that_ended_costs_nothing_and_another_may_begin() {
    let engine = echoing();
    let run = || recorded(&engine, vec![call("echo", json!({}))], ExecuteOptions::new()).1.len();
    assert_eq!((run(), run()), (5, 5));
}
