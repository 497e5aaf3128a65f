//! What `--events` leaves behind.

use std::{fs::File, path::Path};

use anyhow::Context;
use toolyard::{
    Engine,
    events::{EventLines, Recorder},
};

use crate::options::RecordOptions;

/// What is recorded while calls run.
pub(crate) struct Recording {
    events: Option<Recorder<EventLines<File>>>,
}

impl Recording {
    /// Starts to record what was asked for. A file that cannot be written is found out here, before
    /// anything runs.
    pub(crate) fn start(engine: &Engine, options: &RecordOptions) -> anyhow::Result<Self> {
        let events = options.events.as_deref().map(|file| events(engine, file)).transpose()?;
        Ok(Self { events })
    }

    /// Ends the recording; what was dropped is told on standard error.
    pub(crate) fn finish(self, options: &RecordOptions) -> anyhow::Result<()> {
        if let (Some(recorder), Some(file)) = (self.events, &options.events) {
            let recorded = recorder.finish().with_context(|| format!("--events {}", file.display()))?;
            if recorded.dropped > 0 {
                let dropped = recorded.dropped;
                eprintln!(
                    "toolyard: --events {}: {dropped} events came too fast and were dropped",
                    file.display()
                );
            }
        }
        Ok(())
    }
}

fn events(engine: &Engine, file: &Path) -> anyhow::Result<Recorder<EventLines<File>>> {
    let source = || format!("--events {}", file.display());
    let lines = EventLines::new(File::create(file).with_context(source)?);
    Recorder::start(engine, lines).with_context(source)
}
