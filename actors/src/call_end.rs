//! How a call ended.

use std::time::Duration;

use toolyard_contract::{Detail, Failure, Outcome, Output, Reply, ToolReturn, name};

/// How long an error of the engine may be, in characters.
const MOST_ERROR: usize = 4_000;

/// How a call ended, before it is joined with its name and id.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) output: Option<Output>,
    pub(crate) error: Option<String>,
    pub(crate) detail: Option<Box<Detail>>,
    /// From the start of the list to the start of the work.
    pub(crate) waited: Duration,
    /// From the start of the work to its end.
    pub(crate) elapsed: Duration,
}

impl Finished {
    /// An end without output. The error is the engine's own, which may quote what a model sent: that is cut.
    pub(crate) fn without_output(outcome: Outcome, error: impl Into<String>) -> Self {
        Self {
            outcome,
            output: None,
            error: Some(name::short(error.into(), MOST_ERROR)),
            detail: None,
            waited: Duration::ZERO,
            elapsed: Duration::ZERO,
        }
    }

    /// A tool's own word.
    pub(crate) fn returned(returned: ToolReturn) -> Self {
        let (waited, elapsed) = (Duration::ZERO, Duration::ZERO);
        match returned {
            Ok(Reply { output, detail }) => {
                Self { outcome: Outcome::Ok, output, error: None, detail, waited, elapsed }
            }
            Err(Failure { outcome, error, output, detail }) => {
                Self { outcome, output, error: Some(error), detail, waited, elapsed }
            }
        }
    }

    /// Notes that the work could not be stopped.
    pub(crate) fn still_running(mut self) -> Self {
        self.detail.get_or_insert_default().still_running = true;
        self
    }
}
