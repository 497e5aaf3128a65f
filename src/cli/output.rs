//! How results are printed.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use tokio::task::{JoinHandle, spawn_blocking};
use toolyard::{
    CallId, Report,
    formats::{anthropic, gemini, native, openai, responses},
};

/// The forms in which results are printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum OutputForm {
    /// One document with results and batches
    #[default]
    Native,
    /// A list of `role: "tool"` messages
    Openai,
    /// A list of `function_call_output` items
    Responses,
    /// A list of `tool_result` blocks
    Anthropic,
    /// A list of `functionResponse` parts
    Gemini,
}

/// How results are printed.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    pub(crate) form: OutputForm,
    /// One line per document, instead of a document that people like to read.
    pub(crate) lines: bool,
}

impl Printer {
    /// The text of the report of one document.
    pub(crate) fn report(self, id: &CallId, report: &Report) -> anyhow::Result<Vec<u8>> {
        let results = &report.results;
        match self.form {
            OutputForm::Native => {
                let answer = native::Answer::new(id, results, &report.batches, report.elapsed);
                self.text(&answer.requests(report.requests()))
            }
            OutputForm::Openai => self.text(&openai::messages(results)),
            OutputForm::Responses => self.text(&responses::items(results)),
            OutputForm::Anthropic => self.text(&anthropic::blocks(results)),
            OutputForm::Gemini => self.text(&gemini::response_parts(results)),
        }
    }

    /// The text of any value.
    pub(crate) fn text(self, value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        let mut text = if self.lines { serde_json::to_vec(value) } else { serde_json::to_vec_pretty(value) }
            .context("a result cannot be written as JSON")?;
        text.push(b'\n');
        Ok(text)
    }

    /// Prints any value to standard output.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        print(&self.text(value)?).context("standard output")
    }
}

fn print(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}

/// Prints texts to standard output one after another, on a thread: a reader that is slow, or has stopped reading, keeps
/// nothing else from being kept.
#[derive(Default)]
pub(crate) struct Printing {
    waiting: VecDeque<Vec<u8>>,
    under_way: Option<JoinHandle<io::Result<()>>>,
    failed: Option<io::Error>,
    /// How many texts were not printed, or not wholly.
    lost: usize,
}

impl Printing {
    /// Takes a text; it is printed after those that came before.
    pub(crate) fn push(&mut self, text: Vec<u8>) {
        self.waiting.push_back(text);
        self.go_on();
    }

    /// How many texts are not printed yet.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.under_way.is_some())
    }

    /// Tells whether nobody takes what is printed any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn go_on(&mut self) {
        if self.failed.is_some() {
            self.lost += self.waiting.len();
            self.waiting.clear();
        } else if self.under_way.is_none()
            && let Some(text) = self.waiting.pop_front()
        {
            self.under_way = Some(spawn_blocking(move || print(&text)));
        }
    }

    /// Waits until the text under way is printed; for ever when there is none.
    ///
    /// # Cancellation
    /// Nothing is lost: the text is waited for again.
    pub(crate) async fn step(&mut self) {
        let Some(under_way) = &mut self.under_way else { return std::future::pending().await };
        let printed = under_way.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        self.under_way = None;
        if let Err(error) = printed {
            self.lost += 1;
            self.failed = Some(error);
        }
        self.go_on();
    }

    /// Waits until all is printed.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        while self.under_way.is_some() {
            self.step().await;
        }
        match self.failed {
            Some(error) => {
                let answers = if self.lost == 1 { "answer" } else { "answers" };
                Err(error).with_context(|| format!("standard output, {} {answers}", self.lost))
            }
            None => Ok(()),
        }
    }
}
