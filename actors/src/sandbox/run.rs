//! What is run, and what came of it.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;

use crate::guard::call_host;

/// What code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Python.
    Python,
    /// Commands of the shell.
    Shell,
}

/// One of the two streams that a run prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Takes what a run prints, piece by piece; must not wait. One that panics gets nothing more; the run's result has it all.
pub type OutputSink = Arc<dyn Fn(OutputStream, &[u8]) + Send + Sync>;

/// One run: code, what it reads, and its limits.
#[derive(Clone)]
pub struct RunRequest {
    pub(super) kind: RunKind,
    pub(super) code: Vec<u8>,
    pub(super) stdin: Vec<u8>,
    pub(super) timeout: Option<Duration>,
    pub(super) output_bytes: Option<usize>,
    pub(super) artifacts: bool,
    pub(super) sink: Option<OutputSink>,
}

impl RunRequest {
    /// Runs Python code in a process of its own. It is taken as it is, whatever is in it.
    pub fn python(code: impl Into<Vec<u8>>) -> Self {
        Self::new(RunKind::Python, code.into())
    }

    /// Runs shell commands in a process of their own.
    pub fn shell(commands: impl Into<Vec<u8>>) -> Self {
        Self::new(RunKind::Shell, commands.into())
    }

    pub(super) fn new(kind: RunKind, code: Vec<u8>) -> Self {
        Self { kind, code, stdin: Vec::new(), timeout: None, output_bytes: None, artifacts: true, sink: None }
    }

    /// Sets what the run reads from its standard input. Default: nothing. Sessions read nothing.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets how long the run may take. Default: what the sandbox's settings say.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how much it may print to each stream, in bytes. Default: what the sandbox's settings say.
    #[must_use]
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = Some(bytes);
        self
    }

    /// Sets whether the files are listed that the run made or changed. Default true.
    #[must_use]
    pub fn artifacts(mut self, wanted: bool) -> Self {
        self.artifacts = wanted;
        self
    }

    /// Lets `sink` have what the run prints as it comes; the result has it too.
    #[must_use]
    pub fn on_output(mut self, sink: impl Fn(OutputStream, &[u8]) + Send + Sync + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }
}

/// Tells whoever listens what a run has printed, until that panics.
pub(super) fn tell(sink: &mut Option<OutputSink>, stream: OutputStream, printed: &[u8]) {
    if let Some(listening) = sink
        && call_host("what takes the output of a sandbox", || listening(stream, printed)).is_none()
    {
        *sink = None;
    }
}

impl fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest")
            .field("kind", &self.kind)
            .field("code_bytes", &self.code.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A file that a run made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Its path below the working folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct ExecResult {
    /// Its exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed, up to the limit.
    pub stdout: Vec<u8>,
    /// What it printed to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// In a session: the text of the value of the last line, where that is an expression.
    pub value: Option<String>,
    /// It was stopped because its time was over.
    pub timed_out: bool,
    /// It was stopped on request.
    pub cancelled: bool,
    /// The kernel killed something for want of memory while it ran.
    pub oom: bool,
    /// It printed more than is kept.
    pub truncated: bool,
    /// The session ended with it: its variables are gone.
    pub session_lost: bool,
    /// The files that were made or changed while it ran, sorted.
    pub artifacts: Vec<Artifact>,
    /// There were too many files to see all that changed.
    pub artifacts_truncated: bool,
    /// How long it took, inside.
    pub elapsed: Duration,
}

impl ExecResult {
    /// Whether the code ended by itself, with exit code 0.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && !self.cancelled
    }

    /// What it printed, as text; bytes that are none are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// What it printed to standard error, as text.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The form that scripts read.
impl Serialize for ExecResult {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            exit_code: Option<i32>,
            signal: Option<i32>,
            stdout: String,
            stderr: String,
            value: Option<&'a str>,
            timed_out: bool,
            oom: bool,
            truncated: bool,
            elapsed_ms: u64,
            artifacts: &'a [Artifact],
        }
        Written {
            exit_code: self.exit_code,
            signal: self.signal,
            stdout: self.stdout_text(),
            stderr: self.stderr_text(),
            value: self.value.as_deref(),
            timed_out: self.timed_out,
            oom: self.oom,
            truncated: self.truncated,
            elapsed_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            artifacts: &self.artifacts,
        }
        .serialize(serializer)
    }
}
