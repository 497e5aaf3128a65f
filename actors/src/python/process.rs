//! One worker process: its start, the bytes to and from it, its end.

#[cfg(feature = "docker")]
mod contained;

use std::path::Path;
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use super::config::{PythonConfig, PythonFile};
use super::frames::{Boot, FromWorker, FunctionOptions, Load, frame, read_frame};
use crate::child::{ChildCommand, ChildError, ChildProcess};

/// Starts the others; small enough for a command line.
const BOOT: &str = include_str!("worker/boot.py");

/// The worker's modules, each after those that it imports.
const MODULES: [(&str, &str); 14] = [
    ("exact", include_str!("worker/exact.py")),
    ("scalars", include_str!("worker/scalars.py")),
    ("results", include_str!("worker/results.py")),
    ("docs", include_str!("worker/docs.py")),
    ("rules", include_str!("worker/rules.py")),
    ("records", include_str!("worker/records.py")),
    ("shapes", include_str!("worker/shapes.py")),
    ("signature", include_str!("worker/signature.py")),
    ("frameworks", include_str!("worker/frameworks.py")),
    ("wire", include_str!("worker/wire.py")),
    ("capture", include_str!("worker/capture.py")),
    ("beside", include_str!("worker/beside.py")),
    ("loader", include_str!("worker/loader.py")),
    ("serve", include_str!("worker/serve.py")),
];

/// How long a worker may live on after it closed its end of the pipe.
const AFTER_CLOSING: Duration = Duration::from_secs(1);

/// What comes from a worker process, in order; `Ended` last.
#[derive(Debug)]
pub(super) enum Event {
    Frame(Box<FromWorker>),
    /// The process is gone, or at least no frame comes from it any more.
    Ended(End),
}

/// How a worker process ended.
#[derive(Debug)]
pub(super) struct End {
    /// For error texts: how, in words.
    pub(super) how: String,
    /// The last of its standard error.
    pub(super) stderr: String,
}

impl End {
    /// Why a file gives no tools when its process ended while it imported it.
    pub(super) fn during_load(&self, path: &Path) -> String {
        let last_line = self.stderr.lines().last().unwrap_or_default();
        format!("{}: its Python process ended during the import ({}) {last_line}", path.display(), self.how)
    }
}

/// The engine's hand on a worker process. Dropping it lets the process end in peace.
pub(super) struct WorkerProcess {
    /// Bounded by the slots of the lanes, not by the channel.
    frames: Option<mpsc::UnboundedSender<Vec<u8>>>,
    kill: Option<oneshot::Sender<()>>,
}

impl WorkerProcess {
    /// Starts a process that loads `file`.
    pub(super) fn start(
        config: &PythonConfig,
        file: &PythonFile,
        path: &Path,
    ) -> Result<(Self, impl Stream<Item = Event> + use<>), ChildError> {
        let Begun { stdout, frames, kill, ended, kept } = Self::begin(config, path)?;
        let process = Self { frames: Some(frames), kill: Some(kill) };
        let folder = if config.is_contained() { None } else { std::env::current_dir().ok() };
        process.send_json(&Boot { modules: &MODULES, watch: !kept, folder });
        process.send_json(&Load {
            op: "load",
            file: &path.to_string_lossy(),
            patterns: file.patterns(),
            parallel_safe: &config.parallel_safe,
            options: FunctionOptions {
                exclude: &config.exclude_parameters,
                long_description: config.long_descriptions,
                varargs: config.varargs,
                varkwargs: config.varkwargs,
            },
            threads: config.threads.max(1),
            nan: config.nan.as_str(),
            largest_reply: config.largest_result_bytes,
        });
        Ok((process, events(stdout, ended, config.largest_result_bytes)))
    }

    #[cfg(feature = "docker")]
    fn begin(config: &PythonConfig, path: &Path) -> Result<Begun, ChildError> {
        match &config.sandbox {
            Some(sandbox) => Ok(contained::begin(config, sandbox, path)),
            None => begin_here(config),
        }
    }

    #[cfg(not(feature = "docker"))]
    fn begin(config: &PythonConfig, _: &Path) -> Result<Begun, ChildError> {
        begin_here(config)
    }

    pub(super) fn send(&self, frame: Vec<u8>) {
        if let Some(frames) = &self.frames {
            // A worker that is gone takes no frames; its end is reported by the event stream.
            let _ = frames.send(frame);
        }
    }

    fn send_json(&self, value: &impl serde::Serialize) {
        if let Ok(json) = serde_json::to_vec(value) {
            self.send(frame(&json));
        }
    }

    /// Lets the process end in peace, by the end of its input.
    pub(super) fn close(&mut self) {
        self.frames = None;
    }

    /// Ends the process at once.
    pub(super) fn kill(&mut self) {
        if let Some(kill) = self.kill.take() {
            let _ = kill.send(());
        }
    }
}

/// A process that has begun, and does not know yet what to do.
struct Begun {
    stdout: Option<Reader>,
    frames: mpsc::UnboundedSender<Vec<u8>>,
    kill: oneshot::Sender<()>,
    ended: oneshot::Receiver<End>,
    /// Somebody sees to its end when this process is killed.
    kept: bool,
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// Begins a process beside this one.
fn begin_here(config: &PythonConfig) -> Result<Begun, ChildError> {
    let mut command = ChildCommand::new(&config.interpreter)
        .arg("-c")
        .arg(BOOT)
        .inherit_env(config.inherit_env.clone())
        // Heeded from Python 3.11 on; the worker takes it out of its environment, and older ones mend their path themselves.
        .env("PYTHONSAFEPATH", "1")
        .limits(config.limits);
    for (name, value) in &config.env {
        command = command.env(name, value);
    }
    let mut child = command.start()?;
    let kept = child.is_kept();
    let (frames, outgoing) = mpsc::unbounded_channel();
    let (kill, killed) = oneshot::channel();
    let (say_ended, ended) = oneshot::channel();
    let (say_closed, closed) = oneshot::channel();
    let (stdin, stdout) = (child.take_stdin(), child.take_stdout());
    tokio::spawn(write_frames(stdin, outgoing, say_closed));
    tokio::spawn(watch(child, killed, closed, say_ended));
    let stdout = stdout.map(|stdout| Box::new(stdout) as Reader);
    Ok(Begun { stdout, frames, kill, ended, kept })
}

/// Writes frames until the hand on the process is dropped or the process is gone.
async fn write_frames(
    stdin: Option<impl AsyncWrite + Unpin>,
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
    _say_closed: oneshot::Sender<()>,
) {
    let Some(mut stdin) = stdin else { return };
    while let Some(mut bytes) = frames.recv().await {
        while let Ok(more) = frames.try_recv() {
            bytes.extend_from_slice(&more);
        }
        if stdin.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Owns the process: waits for its end, by itself, by order, or because its input has ended.
async fn watch(
    mut child: ChildProcess,
    killed: oneshot::Receiver<()>,
    closed: oneshot::Receiver<()>,
    say_ended: oneshot::Sender<End>,
) {
    // A hand that is dropped gives no order to kill: then the closed input speaks.
    let ordered = async {
        if killed.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let exit = tokio::select! {
        exit = child.wait() => exit,
        () = ordered => child.kill().await,
        _ = closed => child.stop().await,
    };
    let _ = say_ended.send(End { how: exit.to_string(), stderr: child.stderr_text() });
}

/// The frames of a worker, then its end.
fn events(
    stdout: Option<Reader>,
    ended: oneshot::Receiver<End>,
    largest_result: usize,
) -> impl Stream<Item = Event> + use<> {
    let reader = stdout.map(|stdout| BufReader::with_capacity(64 * 1024, stdout));
    unfold((reader, Some(ended)), move |(mut reader, ended)| async move {
        let mut how = None;
        if let Some(stream) = &mut reader {
            match read_frame(stream, largest_result).await {
                Ok(Some(frame)) => return Some((Event::Frame(Box::new(frame)), (reader, ended))),
                Ok(None) => {}
                Err(error) => how = Some(format!("it sent what is no frame: {error}")),
            }
        }
        // Dropping the pipe makes a worker that still writes notice.
        drop(reader);
        let end = tokio::time::timeout(AFTER_CLOSING, ended?).await;
        let mut end = match end {
            Ok(Ok(end)) => end,
            _ => End { how: "it closed its pipe".to_owned(), stderr: String::new() },
        };
        end.how = how.unwrap_or(end.how);
        Some((Event::Ended(end), (None, None)))
    })
}
