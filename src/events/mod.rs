//! Events on record: what happened in an engine, as lines of JSON or for whoever takes records.
//!
//! ```
//! use toolyard::{Arguments, Engine, ToolCall, builtin::calculator::CalculatorTool};
//! use toolyard::events::{EventLines, Recorder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::builder().tool(CalculatorTool::default()).build()?;
//! let recorder = Recorder::start(&engine, EventLines::new(Vec::new()))?;
//! let calls = vec![ToolCall::new("calculator", Arguments::from_text("6*7".into()))];
//! engine.execute_blocking(calls, Default::default())?;
//! let recorded = recorder.finish()?;
//! let text = String::from_utf8(recorded.sink.into_inner()?)?;
//! assert!(text.lines().last().unwrap().contains(r#""event":"list_finished""#));
//! assert_eq!(recorded.dropped, 0);
//! # Ok(())
//! # }
//! ```

mod lines;
mod record;
mod recorder;

pub use self::{
    lines::EventLines,
    record::{EventRecord, RECORD_VERSION, RecordedCall, RecordedEvent},
    recorder::{RecordSink, Recorded, Recorder},
};
