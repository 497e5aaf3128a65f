//! How a child ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Exit codes above this one stand for a signal, as in shells: a keeper has no other way to pass one on.
pub(super) const SIGNAL_BASE: i32 = 128;

/// Says how a child process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// It ended with this exit code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

impl ChildExit {
    /// Reads the status of a process that was started directly.
    pub(super) fn direct(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    /// Reads the status of a keeper, which carries that of the process it kept.
    pub(super) fn kept(status: ExitStatus) -> Self {
        match Self::direct(status) {
            Self::Code(code) if code > SIGNAL_BASE => Self::Signal(code - SIGNAL_BASE),
            other => other,
        }
    }

    /// The exit code that a keeper ends with to pass this on.
    pub(super) fn as_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => SIGNAL_BASE + signal,
        }
    }

    /// Whether the process ended by itself with exit code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(9) => f.write_str("signal 9 (SIGKILL)"),
            Self::Signal(11) => f.write_str("signal 11 (SIGSEGV)"),
            Self::Signal(15) => f.write_str("signal 15 (SIGTERM)"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}
