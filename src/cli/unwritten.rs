//! What could not be written when calls had run. All that has to be written is tried: one thing that fails takes
//! nothing else with it.

use crate::UNUSABLE;

/// Takes note of what could not be written.
#[derive(Default)]
pub(crate) struct Unwritten(Vec<anyhow::Error>);

impl Unwritten {
    /// Takes note of what else went wrong.
    pub(crate) fn failed(&mut self, error: anyhow::Error) {
        self.0.push(error);
    }

    /// Gives what was done, or takes note of why it was not.
    pub(crate) fn note<T>(&mut self, done: anyhow::Result<T>) -> Option<T> {
        done.map_err(|error| self.0.push(error.context("not written"))).ok()
    }

    /// Says on standard error what is missing, a line for each, and gives the exit status: that something is missing
    /// counts more than how the calls ended.
    pub(crate) fn status(self, otherwise: u8) -> u8 {
        for error in &self.0 {
            eprintln!("toolyard: {error:#}");
        }
        if self.0.is_empty() { otherwise } else { UNUSABLE }
    }
}
