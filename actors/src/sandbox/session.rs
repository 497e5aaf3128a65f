//! An interpreter that stays.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Mutex as AsyncMutex;

use super::{
    actor::Errand,
    error::SandboxError,
    handle::Sandbox,
    run::{ExecResult, RunRequest},
};

/// An interpreter that stays: each piece of code sees the variables of those before it. Clones share it.
///
/// Pieces run one after another, in the order in which they were given. A piece that takes too long, or is cancelled,
/// is interrupted as by Ctrl-C, and the variables stay; only one that does not heed this is killed, and then
/// [`session_lost`](ExecResult::session_lost) says that the next begins anew. Files stay in any case.
#[derive(Clone)]
pub struct SandboxSession {
    sandbox: Sandbox,
    name: Arc<str>,
    lock: Arc<AsyncMutex<()>>,
    /// The run that was begun last.
    current: Arc<AtomicU64>,
}

impl SandboxSession {
    pub(super) fn new(sandbox: Sandbox, name: String, lock: Arc<AsyncMutex<()>>) -> Self {
        Self { sandbox, name: name.into(), lock, current: Arc::default() }
    }

    /// The sandbox that it is in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Runs a piece of Python.
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    ///
    /// # Cancellation
    /// Dropping the future interrupts the code.
    pub async fn run(&self, code: impl Into<Vec<u8>>) -> Result<ExecResult, SandboxError> {
        self.run_request(RunRequest::python(code)).await
    }

    /// Runs a piece of Python with limits of its own.
    ///
    /// # Errors
    /// As [`Sandbox::run`], and for shell commands.
    ///
    /// # Cancellation
    /// Dropping the future interrupts the code.
    pub async fn run_request(&self, request: RunRequest) -> Result<ExecResult, SandboxError> {
        if request.kind != super::run::RunKind::Python {
            return Err(SandboxError::NotRun { reason: "a session runs Python only".to_owned() });
        }
        self.sandbox.run_in(request, Some((&self.name, &self.lock)), &self.current).await
    }

    /// Interrupts the code that runs now; whoever waits for it gets its result.
    pub fn interrupt(&self) {
        self.sandbox.cancel(self.current.load(Ordering::Relaxed));
    }

    /// Ends the interpreter. The next run begins a new one.
    ///
    /// # Errors
    /// When the sandbox is gone, and the interpreter with it.
    pub async fn close(&self) -> Result<(), SandboxError> {
        let session = self.name.to_string();
        self.sandbox.tell(Errand::CloseSession { session }, Vec::new()).await.map(|_| ())
    }
}

impl fmt::Debug for SandboxSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxSession").field("name", &self.name).finish_non_exhaustive()
    }
}
