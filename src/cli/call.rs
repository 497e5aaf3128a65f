//! `toolyard call`: runs documents.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    time::Duration,
};

use anyhow::{Context, anyhow};
use serde_json::json;
use tokio::{sync::mpsc, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use toolyard::{
    Engine, ExactValue, ExecuteOptions, Report, ToolSpec,
    formats::{Document, read_document},
    replace::check_replaceable,
    suspend::SuspendFile,
};

use crate::{
    ALL_OK, SOME_NOT_OK,
    interrupt::{HangUp, Interrupt},
    lines,
    options::{CallOptions, ListOptions},
    output::{Printer, Printing},
    paths::Paths,
    record::{self, Recording},
    setup,
    state::{self, Store},
    unwritten::Unwritten,
};

pub(crate) async fn run(options: &CallOptions) -> anyhow::Result<u8> {
    check(options)?;
    let store = match &options.state {
        Some(path) => Some(Store::lock(path, options.state_wait.patience()).await?),
        None => None,
    };
    let engine = setup::engine(&options.engine)?;
    let hangup = if options.input.jsonl { HangUp::READS_AGAIN } else { HangUp::Ends };
    let interrupt = Interrupt::listen(hangup)?;
    if let Some(store) = &store {
        store.load(&engine).await?;
    }
    let status = if options.input.jsonl {
        #[cfg(feature = "mcp")]
        let _reloading = crate::servers::reload_on_hangup(&engine, &options.engine)?;
        lines::run(&engine, options, store.as_ref(), &interrupt).await?
    } else {
        run_one(&engine, options, store.as_ref(), &interrupt).await?
    };
    engine.shutdown(Duration::ZERO).await;
    Ok(status)
}

/// Finds out what cannot be written, before anything runs or is written.
fn check(options: &CallOptions) -> anyhow::Result<()> {
    let mut paths = Paths::new();
    paths.input(&options.input.file);
    paths.engine(&options.engine)?;
    paths.record(&options.record);
    if let Some(file) = &options.suspend {
        paths.writes("--suspend", file);
    }
    if let Some(store) = &options.state {
        paths.writes("--state", store);
        check_replaceable(store).with_context(|| format!("--state {}", store.display()))?;
    }
    record::check(&options.record)?;
    paths.check()
}

/// Runs one document. From the moment that its calls have run nothing is given up: results are printed, and whatever
/// else is to be written is tried.
async fn run_one(
    engine: &Engine,
    options: &CallOptions,
    store: Option<&Store>,
    interrupt: &Interrupt,
) -> anyhow::Result<u8> {
    let file = options.input.file.clone();
    let reading = spawn_blocking(move || read_all(&file));
    let bytes = tokio::select! {
        bytes = reading => bytes.unwrap_or_else(|error| Err(error.into()))?,
        () = interrupt.pressed() => return Ok(interrupt.status().unwrap_or(SOME_NOT_OK)),
    };
    let prepared = Prepared::read(&options.list, &bytes).with_context(|| source(&options.input.file))?;
    let kept = options.suspend.as_deref().map(SuspendFile::reserve).transpose()?;
    let recording = Recording::start(engine, &options.record)?;

    let mut unwritten = Unwritten::default();
    let mut printing = Printing::default();
    let mut all_ok = false;
    match prepared.run(engine, interrupt.token()).await {
        Ok((document, report)) => {
            let printer = Printer { form: options.output, lines: false };
            if let Some(text) = unwritten.note(printer.report(&document.id, &report)) {
                printing.push(text);
            }
            if let Some(kept) = kept {
                let mut list = report.suspend(document.id.clone());
                state::note(&mut list, store);
                if options.list.stub {
                    list.stubs = document.tools.iter().map(declaration).collect();
                }
                let written = kept.write(&list).context("--suspend");
                unwritten.note(written);
            }
            all_ok = report.all_ok();
        }
        Err(error) => unwritten.failed(error.context(source(&options.input.file))),
    }
    recording.finish(&mut unwritten);
    if let Some(store) = store {
        unwritten.note(store.save(engine).await);
    }
    unwritten.note(printing.finish().await);
    Ok(unwritten.status(interrupt.status().unwrap_or(if all_ok { ALL_OK } else { SOME_NOT_OK })))
}

/// A declared tool in the form in which documents declare it.
fn declaration(spec: &ToolSpec) -> ExactValue {
    let schema = spec.shown_schema();
    schema.with_value(
        json!({"name": spec.name, "description": spec.description_text(), "input_schema": schema.value()}),
    )
}

/// A document that can be run.
pub(crate) struct Prepared {
    document: Document,
    list: ExecuteOptions,
}

impl Prepared {
    pub(crate) fn read(options: &ListOptions, bytes: &[u8]) -> anyhow::Result<Self> {
        let document = read_document(bytes)?;
        let list = setup::list(options, &document)?;
        Ok(Self { document, list })
    }

    /// Runs its calls. `stop` cancels the list, which still gives every call its outcome.
    pub(crate) async fn run(
        self,
        engine: &Engine,
        stop: &CancellationToken,
    ) -> anyhow::Result<(Document, Report)> {
        let Self { mut document, list } = self;
        #[cfg(feature = "mcp")]
        let list = tokio::select! {
            biased;
            () = stop.cancelled() => list,
            ready = crate::servers::ready_for(engine, &document, list.clone()) => ready,
        };
        let run = engine.submit(std::mem::take(&mut document.calls), list);
        let control = run.control();
        let mut report = run.into_future();
        let report = tokio::select! {
            biased;
            () = stop.cancelled() => {
                control.cancel();
                report.await
            }
            report = &mut report => report,
        };
        Ok((document, report?))
    }
}

pub(crate) fn source(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Read + Send>> {
    if is_stdin(file) {
        return Ok(Box::new(std::io::stdin()));
    }
    let opened = std::fs::File::open(file).with_context(|| source(file))?;
    Ok(Box::new(opened))
}

/// Reads a whole document.
pub(crate) fn read_all(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?.read_to_end(&mut bytes).with_context(|| source(file))?;
    Ok(bytes)
}

type Line = (usize, anyhow::Result<Vec<u8>>);

/// Reads lines on a thread, a few ahead; blank ones are passed over but counted.
pub(crate) fn read_lines(file: &Path) -> anyhow::Result<mpsc::Receiver<Line>> {
    const AHEAD: usize = 16;
    let (send, lines) = mpsc::channel(AHEAD);
    let mut reader = BufReader::new(open(file)?);
    let name = source(file);
    std::thread::spawn(move || {
        for number in 1.. {
            let mut line = Vec::new();
            let read = match reader.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => Ok(line),
                Err(error) => Err(anyhow!(error).context(name.clone())),
            };
            let broken = read.is_err();
            if send.blocking_send((number, read)).is_err() || broken {
                return;
            }
        }
    });
    Ok(lines)
}
