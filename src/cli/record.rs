//! What `--events` and `--timeline` leave behind.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use toolyard::{
    Engine,
    events::{EventLines, RecordSink, Recorder},
    replace::{check_replaceable, check_writable, replace_page},
    timeline::Timeline,
};

use crate::{options::RecordOptions, unwritten::Unwritten};

/// What is recorded while calls run.
pub(crate) struct Recording {
    events: Option<(Recorder<EventLines<File>>, PathBuf)>,
    timeline: Option<(Recorder<Timeline>, PathBuf)>,
}

/// Makes sure that what is asked for can be written, and touches nothing.
pub(crate) fn check(options: &RecordOptions) -> anyhow::Result<()> {
    if let Some(file) = &options.events {
        check_writable(file).with_context(|| events_option(file))?;
    }
    if let Some(file) = &options.timeline {
        check_replaceable(file).with_context(|| timeline_option(file))?;
    }
    Ok(())
}

impl Recording {
    /// Starts to record what was asked for. What the file of events had in it is gone from here on; so this comes last
    /// before anything runs.
    pub(crate) fn start(engine: &Engine, options: &RecordOptions) -> anyhow::Result<Self> {
        let timeline = options.timeline.as_deref().map(|file| {
            let started = Recorder::start(engine, Timeline::default());
            started.map(|recorder| (recorder, file.to_owned())).with_context(|| timeline_option(file))
        });
        let timeline = timeline.transpose()?;
        let events = options.events.as_deref().map(|file| {
            let started = emptied(file).and_then(|out| Recorder::start(engine, EventLines::new(out)));
            started.map(|recorder| (recorder, file.to_owned())).with_context(|| events_option(file))
        });
        Ok(Self { events: events.transpose()?, timeline })
    }

    /// Ends the recording; events that were dropped are told on standard error.
    pub(crate) fn finish(self, unwritten: &mut Unwritten) {
        if let Some((recorder, file)) = self.events {
            unwritten.note(finish(recorder, &events_option(&file)));
        }
        if let Some((recorder, file)) = self.timeline {
            let option = timeline_option(&file);
            if let Some(timeline) = unwritten.note(finish(recorder, &option)) {
                unwritten.note(write(&timeline, &file).context(option));
            }
        }
    }
}

fn events_option(file: &Path) -> String {
    format!("--events {}", file.display())
}

fn timeline_option(file: &Path) -> String {
    format!("--timeline {}", file.display())
}

/// Opens a file for writing from its beginning.
fn emptied(file: &Path) -> io::Result<File> {
    let out = OpenOptions::new().write(true).create(true).truncate(false).open(file)?;
    if out.metadata()?.is_file() {
        out.set_len(0)?;
    }
    Ok(out)
}

fn finish<S: RecordSink>(recorder: Recorder<S>, option: &str) -> anyhow::Result<S> {
    let left = recorder.finish().with_context(|| option.to_owned())?;
    if left.dropped > 0 {
        eprintln!("toolyard: {option}: {} events came too fast and were dropped", left.dropped);
    }
    Ok(left.sink)
}

/// Writes the page and puts it into the place of an older one.
fn write(timeline: &Timeline, file: &Path) -> io::Result<()> {
    replace_page(file, |out| {
        let mut out = BufWriter::new(out);
        timeline.write_page(&mut out)?;
        out.flush()
    })
}
