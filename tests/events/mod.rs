//! Events on record, and what is made of them.

#[cfg(feature = "cli")]
mod cli;
mod recorder;
mod waits;

use std::io;

use toolyard::{
    Engine, ExecuteOptions, Report, ToolCall,
    events::{EventRecord, RecordSink, RecordedEvent, Recorder},
};

/// Keeps records as they come.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Vec<EventRecord>);

impl RecordSink for Kept {
    fn take(&mut self, record: EventRecord) -> io::Result<()> {
        self.0.push(record);
        Ok(())
    }
}

/// Runs a list and gives its report and what was recorded.
pub(crate) fn recorded(
    engine: &Engine,
    calls: Vec<ToolCall>,
    options: ExecuteOptions,
) -> (Report, Vec<EventRecord>) {
    let recorder = Recorder::start(engine, Kept::default()).unwrap();
    let report = engine.execute_blocking(calls, options).unwrap();
    let left = recorder.finish().unwrap();
    assert_eq!(left.dropped, 0);
    (report, left.sink.0)
}

/// The name of what happened, as in documents.
pub(crate) fn name(event: &RecordedEvent) -> String {
    serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned()
}
