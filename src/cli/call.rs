//! `toolyard call`: runs documents.

use std::{
    io::{BufRead, BufReader, IsTerminal, Read},
    path::Path,
    time::Duration,
};

use anyhow::{Context, anyhow};
use futures::{StreamExt, future::LocalBoxFuture, stream::FuturesUnordered};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolyard::{
    Engine, Report, ToolSpec,
    formats::{Document, read_document},
    suspend::SuspendFile,
};

use crate::{
    ALL_OK, INTERRUPTED, SOME_NOT_OK,
    interrupt::Interrupt,
    options::{CallOptions, ListOptions},
    output::Printer,
    record::Recording,
    setup,
    state::{self, Store},
};

pub(crate) async fn run(options: &CallOptions) -> anyhow::Result<u8> {
    let mut store = match &options.state {
        Some(path) => Some(Store::lock(path, options.state_wait.patience()).await?),
        None => None,
    };
    let engine = setup::engine(&options.engine)?;
    let interrupt = Interrupt::listen()?;
    let recording = Recording::start(&engine, &options.record)?;
    let printer = Printer { form: options.output, lines: options.input.jsonl };
    if let Some(store) = &mut store {
        store.load(&engine).await?;
    }
    let all_ok = if options.input.jsonl {
        #[cfg(feature = "mcp")]
        let _reloading = crate::servers::reload_on_hangup(&engine, &options.engine)?;
        run_lines(&engine, options, printer, &interrupt).await?
    } else {
        let bytes = read_all(&options.input.file)?;
        // Found out before anything runs.
        let kept = options.suspend.as_deref().map(SuspendFile::reserve).transpose()?;
        let (document, report) = execute(&engine, &options.list, &bytes, &interrupt)
            .await
            .with_context(|| source(&options.input.file))?;
        if let Some(kept) = kept {
            let mut list = report.suspend(document.id.clone());
            state::note(&mut list, store.as_ref());
            if options.list.stub {
                list.stubs = document.tools.iter().map(declaration).collect();
            }
            kept.write(&list)?;
        }
        printer.report(&document.id, &report)?;
        report.all_ok()
    };
    recording.finish(&options.record)?;
    if let Some(store) = &mut store {
        store.save(&engine).await?;
    }
    engine.shutdown(Duration::ZERO).await;
    Ok(match (interrupt.is_pressed(), all_ok) {
        (true, _) => INTERRUPTED,
        (false, true) => ALL_OK,
        (false, false) => SOME_NOT_OK,
    })
}

/// A declared tool in the form in which documents declare it.
fn declaration(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description_text(), "input_schema": spec.input_schema})
}

/// Runs one document. Ctrl-C cancels its list, which still gives every call its outcome.
async fn execute(
    engine: &Engine,
    options: &ListOptions,
    bytes: &[u8],
    interrupt: &Interrupt,
) -> anyhow::Result<(Document, Report)> {
    let mut document = read_document(bytes)?;
    let list = setup::list(options, &document)?;
    #[cfg(feature = "mcp")]
    let list = crate::servers::ready_for(engine, &document, list).await;
    let run = engine.submit(std::mem::take(&mut document.calls), list);
    let control = run.control();
    let mut report = run.into_future();
    let report = tokio::select! {
        biased;
        report = &mut report => report,
        () = interrupt.pressed() => {
            control.cancel();
            report.await
        }
    };
    Ok((document, report?))
}

/// A line's number, and what came of its document.
type Answered = (usize, anyhow::Result<(Document, Report)>);

/// Runs one document per line and answers each with one line; tells whether all calls ended `ok`.
async fn run_lines(
    engine: &Engine,
    options: &CallOptions,
    printer: Printer,
    interrupt: &Interrupt,
) -> anyhow::Result<bool> {
    const AT_ONCE: u32 = 64; // documents, where nothing is said
    let at_once =
        if options.unordered { options.engine.max_in_flight.unwrap_or(AT_ONCE) as usize } else { 1 };
    let mut lines = read_lines(&options.input.file)?;
    let mut running = FuturesUnordered::<LocalBoxFuture<'_, Answered>>::new();
    let (mut all_ok, mut ended) = (true, false);
    let bar = progress_bar();
    loop {
        tokio::select! {
            biased;
            Some((number, done)) = running.next() => {
                match done {
                    Ok((document, report)) => {
                        all_ok &= report.all_ok();
                        printer.report(&document.id, &report)?;
                    }
                    Err(error) => {
                        all_ok = false;
                        printer.json(&json!({"line": number, "error": format!("{error:#}")}))?;
                    }
                }
                bar.inc(1);
            }
            () = interrupt.pressed(), if !ended => ended = true,
            line = lines.recv(), if !ended && running.len() < at_once => match line {
                None => ended = true,
                Some((number, line)) => running.push(Box::pin(async move {
                    let done = match line {
                        Ok(bytes) => execute(engine, &options.list, &bytes, interrupt).await,
                        Err(error) => Err(error),
                    };
                    (number, done)
                })),
            },
            else => break,
        }
    }
    bar.finish_and_clear();
    Ok(all_ok)
}

/// A bar on standard error for runs that take a while; none where nobody sees it.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() || std::io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} documents, {per_sec}, {elapsed}");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    style.map_or(bar.clone(), |style| bar.with_style(style))
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
