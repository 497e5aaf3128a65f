//! How results are printed.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;
use toolyard::{
    CallId, Report,
    formats::{anthropic, gemini, native, openai, responses},
};

use crate::options::OutputForm;

/// Prints results to standard output.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    pub(crate) form: OutputForm,
    /// One line per document, instead of a document that people like to read.
    pub(crate) lines: bool,
}

impl Printer {
    /// Prints the report of one document.
    pub(crate) fn report(self, id: &CallId, report: &Report) -> anyhow::Result<()> {
        let results = &report.results;
        match self.form {
            OutputForm::Native => {
                let answer = native::Answer::new(id, results, &report.batches, report.elapsed);
                self.json(&answer.requests(report.requests()))
            }
            OutputForm::Openai => self.json(&openai::messages(results)),
            OutputForm::Responses => self.json(&responses::items(results)),
            OutputForm::Anthropic => self.json(&anthropic::blocks(results)),
            OutputForm::Gemini => self.json(&gemini::response_parts(results)),
        }
    }

    /// Prints any value.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut text = if self.lines { serde_json::to_vec(value) } else { serde_json::to_vec_pretty(value) }
            .context("a result cannot be written as JSON")?;
        text.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&text).and_then(|()| out.flush()).context("standard output cannot be written")
    }
}
