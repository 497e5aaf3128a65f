//! How a call can end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How one call ended. It never takes a sibling's result with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Ended, and the tool says that it worked.
    Ok,
    /// Ended, and the tool says that it did not; its output is kept beside the error.
    Failed,
    /// Refused: no tool has this name.
    UnknownTool,
    /// Refused: the tool is switched off.
    Inactive,
    /// Refused: not permitted.
    Denied,
    /// Refused: the arguments cannot be read, or do not fit the tool's schema.
    BadArguments,
    /// Nothing ran: overload, rate limit, open breaker, connection not had in time.
    NotStarted,
    /// Waits for approval or input.
    Suspended,
    /// Not run: the list stopped at a failure, or was cancelled or ran out of time before.
    Skipped,
    /// Was running and was stopped by a deadline.
    TimedOut,
    /// Was running and was stopped by a cancel.
    Cancelled,
    /// The tool's code panicked.
    Panicked,
    /// Was running; its actor, worker, server or the process went away.
    Lost,
}

impl Outcome {
    /// Every outcome, in the order of the documents' table.
    pub const ALL: [Self; 13] = [
        Self::Ok,
        Self::Failed,
        Self::UnknownTool,
        Self::Inactive,
        Self::Denied,
        Self::BadArguments,
        Self::NotStarted,
        Self::Suspended,
        Self::Skipped,
        Self::TimedOut,
        Self::Cancelled,
        Self::Panicked,
        Self::Lost,
    ];

    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::UnknownTool => "unknown_tool",
            Self::Inactive => "inactive",
            Self::Denied => "denied",
            Self::BadArguments => "bad_arguments",
            Self::NotStarted => "not_started",
            Self::Suspended => "suspended",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
            Self::Lost => "lost",
        }
    }

    /// Tells whether the call ended and worked.
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// Tells whether the tool's code may have begun, so that effects are possible.
    pub const fn may_have_run(self) -> bool {
        matches!(
            self,
            Self::Ok | Self::Failed | Self::TimedOut | Self::Cancelled | Self::Panicked | Self::Lost
        )
    }

    /// Tells whether the very same call can be sent again without a risk of doing something twice.
    pub const fn safe_to_retry(self) -> bool {
        matches!(self, Self::NotStarted | Self::Skipped)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_documents_and_in_code_agree() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }
}
