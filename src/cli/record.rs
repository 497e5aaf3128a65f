//! What `--events` and `--timeline` leave behind.

use std::{
    fs::{File, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use tempfile::NamedTempFile;
use toolyard::{
    Engine,
    events::{EventLines, RecordSink, Recorder},
    timeline::Timeline,
};

use crate::options::RecordOptions;

/// What is recorded while calls run.
pub(crate) struct Recording {
    events: Option<Recorder<EventLines<File>>>,
    timeline: Option<(Recorder<Timeline>, NamedTempFile)>,
}

impl Recording {
    /// Starts to record what was asked for. A file that cannot be written is found out here, before
    /// anything runs.
    pub(crate) fn start(engine: &Engine, options: &RecordOptions) -> anyhow::Result<Self> {
        let events = options.events.as_deref().map(|file| {
            let started = File::create(file).and_then(|file| Recorder::start(engine, EventLines::new(file)));
            started.with_context(|| events_option(file))
        });
        let timeline = options.timeline.as_deref().map(|file| {
            let started =
                beside(file).and_then(|page| Ok((Recorder::start(engine, Timeline::default())?, page)));
            started.with_context(|| timeline_option(file))
        });
        Ok(Self { events: events.transpose()?, timeline: timeline.transpose()? })
    }

    /// Ends the recording; what was dropped is told on standard error.
    pub(crate) fn finish(self, options: &RecordOptions) -> anyhow::Result<()> {
        if let (Some(recorder), Some(file)) = (self.events, &options.events) {
            let option = events_option(file);
            finish(recorder, &option)?;
        }
        if let (Some((recorder, page)), Some(file)) = (self.timeline, &options.timeline) {
            let option = timeline_option(file);
            let timeline = finish(recorder, &option)?;
            write(&timeline, page, file).context(option)?;
        }
        Ok(())
    }
}

fn events_option(file: &Path) -> String {
    format!("--events {}", file.display())
}

fn timeline_option(file: &Path) -> String {
    format!("--timeline {}", file.display())
}

fn finish<S: RecordSink>(recorder: Recorder<S>, option: &str) -> anyhow::Result<S> {
    let left = recorder.finish().with_context(|| option.to_owned())?;
    if left.dropped > 0 {
        eprintln!("toolyard: {option}: {} events came too fast and were dropped", left.dropped);
    }
    Ok(left.sink)
}

/// A new file in the folder of `file`, that everybody may read who may read files that this program makes.
fn beside(file: &Path) -> io::Result<NamedTempFile> {
    if file.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}

/// Writes the page and puts it into the place of an older one.
fn write(timeline: &Timeline, mut page: NamedTempFile, file: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(&mut page);
    timeline.write_page(&mut out)?;
    out.flush()?;
    drop(out);
    page.persist(file).map_err(|error| error.error)?;
    Ok(())
}
