//! Why a sandbox did not do what was asked.

use std::time::Duration;

use toolyard_contract::Failure;

/// Says why a sandbox did not do what was asked. That code failed is not among these: it is a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// No daemon answers.
    #[error("no Docker daemon answers at {daemon}: start it, or say where it listens: {reason}")]
    Unreachable {
        /// Where it was looked for.
        daemon: String,
        /// What the system said.
        reason: String,
    },
    /// The daemon has no such image.
    #[error(
        "image {image:?} is not there: make the default one with `toolyard sandbox build`, or get it with \
         `docker pull`"
    )]
    ImageMissing {
        /// The image.
        image: String,
    },
    /// The daemon would not make or start the container.
    #[error("the daemon did not start a container: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// The daemon cannot hold all limits.
    #[error(
        "the daemon cannot hold all limits: {reason}: mend that, or accept it by the setting `without_limits`"
    )]
    LimitsUnsupported {
        /// What it said.
        reason: String,
    },
    /// The container was not up in time.
    #[error("the container was not up within {} s", after.as_secs_f64())]
    StartTimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The sandbox was not started, or has been stopped.
    #[error("the sandbox is not running: start it first")]
    NotStarted,
    /// No container or no place in one was free in time.
    #[error("all sandboxes are busy: no place was free within {} s", after.as_secs_f64())]
    Busy {
        /// How long was waited.
        after: Duration,
    },
    /// The container ended while it was at work.
    #[error("the sandbox ended while it was at work: {reason}; its files and sessions are gone")]
    Died {
        /// Why, as far as is known.
        reason: String,
    },
    /// The run could not begin.
    #[error("the run could not begin: {reason}")]
    NotRun {
        /// Why.
        reason: String,
    },
    /// The image has no Python.
    #[error("image {image:?} has no Python: it runs shell commands only")]
    NoPython {
        /// The image.
        image: String,
    },
    /// A file could not be put or got.
    #[error("file {path:?}: {reason}")]
    File {
        /// Its path in the container.
        path: String,
        /// Why.
        reason: String,
    },
    /// The daemon failed at something.
    #[error("the Docker daemon failed: {reason}")]
    Daemon {
        /// What it said.
        reason: String,
    },
    /// An image could not be built.
    #[error("the image could not be built: {reason}")]
    NotBuilt {
        /// Why, and what to do.
        reason: String,
    },
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        let text = error.to_string();
        match error {
            SandboxError::Died { .. } => Self::lost(text),
            SandboxError::File { .. } | SandboxError::NotBuilt { .. } => Self::failed(text),
            _ => Self::not_started(text),
        }
    }
}
