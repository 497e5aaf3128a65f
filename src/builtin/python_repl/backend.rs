//! What runs the code of sessions.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// Starts sessions.
pub trait ReplBackend: Send + Sync + 'static {
    /// Gets ready for sessions, before any is asked for. Default: nothing to do.
    fn prepare(&self) {}

    /// Starts a session on behalf of an agent. Nothing has run when that fails.
    fn open(
        &self,
        agent: Option<&str>,
        setup: SessionSetup,
    ) -> BoxFuture<'static, Result<Box<dyn ReplSession>, Unavailable>>;
}

/// How a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSetup {
    /// The modules that its code may import; `None`: any.
    pub allowed_modules: Option<Arc<[String]>>,
    /// Names that are defined from the beginning, with their values.
    pub globals: Arc<Map<String, Value>>,
}

/// There is nothing that could run a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(
    /// Why, and what to do.
    pub String,
);

/// One namespace that goes on between runs. Dropping it ends it, with all that its code has started.
pub trait ReplSession: Send {
    /// Gets ready for work; false when the session has gone meanwhile, and nothing of it is left.
    fn wake(&mut self) -> BoxFuture<'_, bool>;

    /// Lets go of what is needed for work alone.
    fn rest(&mut self) {}

    /// Runs code until it ends or `until`. Of each kind of output the first `most_output` bytes are kept.
    ///
    /// # Cancellation
    /// A session whose run was dropped is dropped too.
    fn run<'a>(&'a mut self, code: &'a str, until: Instant, most_output: usize) -> BoxFuture<'a, Ran>;

    /// Writes the names down, of at most so many bytes; `None` when the session cannot do that, and is to be ended.
    fn save(&mut self, until: Instant, most_bytes: usize) -> BoxFuture<'_, Option<Snapshot>>;

    /// Takes the names of a snapshot; gives those that it could not take, with the reason. `None` as in
    /// [`save`](Self::save).
    fn load<'a>(
        &'a mut self,
        snapshot: &'a Snapshot,
        until: Instant,
    ) -> BoxFuture<'a, Option<BTreeMap<String, String>>>;

    /// Ends the session and returns when nothing of it is left.
    fn end(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// What came of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// The value of a last expression, as Python writes it.
    pub value: Option<Captured>,
    /// What was changed when its output was written as text.
    pub notes: Vec<String>,
    /// How it ended.
    pub end: RunEnd,
}

/// The first of a text that may have been longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The text as far as it was kept.
    pub text: String,
    /// There was more.
    pub is_cut: bool,
    /// How long it was, in bytes, where that is known.
    pub total_bytes: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnd {
    /// All of the code ran.
    #[default]
    Done,
    /// It raised an exception; the session goes on.
    Raised {
        /// The last line of the traceback.
        summary: String,
        /// All of it.
        traceback: String,
    },
    /// It asked to exit, with this status; the session goes on.
    Exited(i64),
    /// Its time was over; the session is to be ended.
    TimedOut,
    /// The session has ended, for this reason.
    Gone(String),
}

/// The names of a session, as far as another process can have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Names and values, pickled and in base 64.
    pub pickle: String,
    /// Names of modules, and which.
    pub imports: BTreeMap<String, String>,
    /// The names that are left out, and why.
    pub not_kept: BTreeMap<String, String>,
}

/// A backend that is not there.
#[derive(Clone, Debug)]
pub struct NoBackend(
    /// Why, and what to do.
    pub String,
);

impl ReplBackend for NoBackend {
    fn open(
        &self,
        _: Option<&str>,
        _: SessionSetup,
    ) -> BoxFuture<'static, Result<Box<dyn ReplSession>, Unavailable>> {
        Box::pin(std::future::ready(Err(Unavailable(self.0.clone()))))
    }
}
