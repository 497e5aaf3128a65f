//! `toolyard call --jsonl`: a document on each line, answered by one line.

use std::{io::IsTerminal, pin::Pin, time::Duration};

use futures::{StreamExt, future::LocalBoxFuture, stream::FuturesUnordered};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use tokio::time::{Instant, Sleep, sleep};
use toolyard::{Engine, Report, formats::Document};

use crate::{
    ALL_OK, SOME_NOT_OK,
    call::{Prepared, read_lines},
    interrupt::Interrupt,
    options::CallOptions,
    output::{Printer, Printing},
    record::Recording,
    state::Store,
    unwritten::Unwritten,
};

/// A line's number, and what came of its document.
type Answered = (usize, anyhow::Result<(Document, Report)>);

/// Runs one document per line and answers each with one line; gives the exit status.
pub(crate) async fn run(
    engine: &Engine,
    options: &CallOptions,
    store: Option<&Store>,
    interrupt: &Interrupt,
) -> anyhow::Result<u8> {
    const AT_ONCE: u32 = 64; // documents, where nothing is said
    let at_once =
        if options.unordered { options.engine.max_in_flight.unwrap_or(AT_ONCE) as usize } else { 1 };
    let mut lines = read_lines(&options.input.file)?;
    let recording = Recording::start(engine, &options.record)?;
    let printer = Printer { form: options.output, lines: true };
    let mut unwritten = Unwritten::default();
    let (mut printing, mut saving) = (Printing::default(), Saving::of(engine, store));
    let mut running = FuturesUnordered::<LocalBoxFuture<'_, Answered>>::new();
    let (mut all_ok, mut ended) = (true, false);
    let stop = interrupt.token().child_token();
    let bar = progress_bar();
    while !(ended && running.is_empty()) {
        tokio::select! {
            biased;
            () = stop.cancelled(), if !ended => ended = true,
            Some((number, done)) = running.next() => {
                all_ok &= done.as_ref().is_ok_and(|(_, report)| report.all_ok());
                saving.is_due();
                let text = match done {
                    Ok((document, report)) => printer.report(&document.id, &report),
                    Err(error) => printer.text(&json!({"line": number, "error": format!("{error:#}")})),
                };
                if let Some(text) = unwritten.note(text) {
                    printing.push(text);
                }
                bar.inc(1);
            }
            () = printing.step() => if printing.has_failed() {
                // Nobody would hear of what else runs.
                stop.cancel();
            },
            () = saving.step() => {}
            line = lines.recv(), if !ended && running.len() + printing.len() < at_once => match line {
                None => ended = true,
                Some((number, line)) => {
                    let stop = stop.clone();
                    running.push(Box::pin(async move {
                        let prepared = line.and_then(|bytes| Prepared::read(&options.list, &bytes));
                        match prepared {
                            Ok(prepared) => (number, prepared.run(engine, &stop).await),
                            Err(error) => (number, Err(error)),
                        }
                    }));
                }
            },
        }
    }
    bar.finish_and_clear();
    recording.finish(&mut unwritten);
    unwritten.note(saving.finish().await);
    unwritten.note(printing.finish().await);
    Ok(unwritten.status(interrupt.status().unwrap_or(if all_ok { ALL_OK } else { SOME_NOT_OK })))
}

/// Saves the states now and then while documents run, so that a process that is killed loses little.
struct Saving<'a> {
    engine: &'a Engine,
    store: Option<&'a Store>,
    /// Ends when states are saved that may have changed.
    due: Option<Pin<Box<Sleep>>>,
    under_way: Option<(Instant, LocalBoxFuture<'a, anyhow::Result<()>>)>,
    pause: Duration,
    said: bool,
}

impl<'a> Saving<'a> {
    /// How long states that have changed wait to be saved at least.
    const PAUSE: Duration = Duration::from_secs(1);
    /// How many times as long as saving takes it waits until it saves again: what it costs stays below a tenth.
    const SHARE: u32 = 10;

    fn of(engine: &'a Engine, store: Option<&'a Store>) -> Self {
        Self { engine, store, due: None, under_way: None, pause: Self::PAUSE, said: false }
    }

    /// Takes note that states may have changed.
    fn is_due(&mut self) {
        if self.store.is_some() {
            self.due.get_or_insert_with(|| Box::pin(sleep(self.pause)));
        }
    }

    /// Waits until it is time to save, or for saving to end; for ever when nothing has changed.
    ///
    /// # Cancellation
    /// Nothing is lost: it goes on with the next step.
    async fn step(&mut self) {
        if let Some((began, saved)) = &mut self.under_way {
            let saved = saved.await;
            self.pause = began.elapsed().saturating_mul(Self::SHARE).max(Self::PAUSE);
            self.under_way = None;
            if let Err(error) = saved {
                // The last one, at the end, decides.
                if !std::mem::replace(&mut self.said, true) {
                    eprintln!("toolyard: not saved for now: {error:#}");
                }
                self.is_due();
            }
            return;
        }
        let (Some(due), Some(store)) = (&mut self.due, self.store) else {
            return std::future::pending().await;
        };
        due.await;
        self.due = None;
        self.under_way = Some((Instant::now(), Box::pin(store.save(self.engine))));
    }

    /// Saves for the last time.
    async fn finish(self) -> anyhow::Result<()> {
        if let Some((_, saved)) = self.under_way {
            // Whatever came of it, the last one counts.
            let _ = saved.await;
        }
        match self.store {
            Some(store) => store.save(self.engine).await,
            None => Ok(()),
        }
    }
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
