//! One session's process.

use std::{collections::BTreeMap, fs::Permissions, io, os::unix::fs::PermissionsExt, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::{
    io::{AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    time::{Instant, interval, timeout_at},
};
use toolyard_actors::child::{ChildCommand, ChildProcess};

use super::{
    HostProcess,
    frames::{self, Command, Frame, Order, RunAnswer, Setup},
};
use crate::builtin::python_repl::{
    CELL, Captured, Ran, ReplSession, RunEnd, SNAPSHOT, SessionSetup, Snapshot, answer::LoadAnswer,
};

const SESSION: &str = include_str!("session.py");

/// How often the processes of a session at work are counted: a fork bomb makes some dozens meanwhile.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// A session in a process of this machine.
pub(super) struct HostSession {
    child: ChildProcess,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    max_processes: usize,
    /// Ends with the process.
    _folder: TempDir,
}

/// Why a command has no answer.
enum Silence {
    /// Its time was over.
    Late,
    /// The process ended, or speaks otherwise than it should.
    Broken(io::Error),
    TooManyProcesses,
}

/// What a run has written so far.
#[derive(Default)]
struct Written {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl HostSession {
    /// Starts a process; the error says why there is none and what to do.
    pub(super) async fn start(host: &HostProcess, setup: &SessionSetup) -> Result<Self, String> {
        let no_folder = |error: io::Error| format!("no temporary folder for the session: {}", error.kind());
        let nobody_else = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("toolyard-repl-").permissions(nobody_else).tempdir();
        let folder = folder.map_err(no_folder)?;
        let program = format!("{SNAPSHOT}\n{CELL}\n{SESSION}");
        let command = ChildCommand::new(&host.interpreter)
            .args(["-I", "-X", "utf8", "-c", &program])
            .inherit_env(host.inherit_env.clone())
            .folder(folder.path())
            .limits(host.limits);
        let command = host.env.iter().fold(command, |command, (name, value)| command.env(name, value));
        let mut child = command.start().map_err(|error| error.to_string())?;
        let (Some(mut stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err("the session's process has no pipes".to_owned());
        };
        let first = Setup {
            watch: !child.is_kept(),
            allowed_modules: setup.allowed_modules.as_deref(),
            globals: &setup.globals,
        };
        // A process that is gone is noticed by the first command.
        let _ = stdin.write_all(&frames::frame(&first)).await;
        let stdout = BufReader::with_capacity(64 * 1024, stdout);
        Ok(Self { child, stdin, stdout, max_processes: host.max_processes, _folder: folder })
    }

    /// Gives a command and waits for its answer; output goes to `written`, at most `most` bytes of each kind.
    async fn command<T: DeserializeOwned>(
        &mut self,
        order: Order<'_>,
        until: Instant,
        most: usize,
        written: &mut Written,
    ) -> Result<T, Silence> {
        // Chosen anew, so that no word of an earlier command is taken for the answer.
        let id = fastrand::u64(..1 << 53);
        let group = self.child.group_id();
        let Self { stdin, stdout, max_processes, .. } = self;
        let talk = async {
            stdin.write_all(&frames::frame(&Command { id, order })).await?;
            loop {
                match frames::read(stdout, most).await? {
                    Frame::Stdout(bytes) => keep(&mut written.stdout, &bytes, most),
                    Frame::Stderr(bytes) => keep(&mut written.stderr, &bytes, most),
                    Frame::Answer(content) => {
                        if let Some(answer) = frames::answer(&content, id)? {
                            return Ok(answer);
                        }
                    }
                }
            }
        };
        tokio::select! {
            biased;
            answer = timeout_at(until, talk) => match answer {
                Ok(answer) => answer.map_err(Silence::Broken),
                Err(_) => Err(Silence::Late),
            },
            () = too_many(group, *max_processes) => Err(Silence::TooManyProcesses),
        }
    }

    /// Says how the process went away.
    async fn how_it_ended(&mut self, error: &io::Error) -> String {
        if !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) {
            return "the code wrote over the session's own pipe".to_owned();
        }
        // Its pipe is closed, so it ends now or is ended.
        let exit = self.child.stop().await;
        format!("the code ended its Python process ({exit})")
    }
}

fn keep(written: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = most.saturating_sub(written.len());
    written.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Resolves when a child has too many processes.
async fn too_many(group: i32, most: usize) {
    let mut tick = interval(COUNT_EVERY);
    tick.tick().await; // the first comes at once
    loop {
        tick.tick().await;
        let too_many = tokio::task::spawn_blocking(move || ChildProcess::has_more_than(group, most)).await;
        if too_many.is_ok_and(|too_many| too_many) {
            return;
        }
    }
}

impl ReplSession for HostSession {
    fn wake(&mut self) -> BoxFuture<'_, bool> {
        // A process that has ended answers the first poll.
        let is_there = self.child.wait().now_or_never().is_none();
        Box::pin(std::future::ready(is_there))
    }

    fn run<'a>(&'a mut self, code: &'a str, until: Instant, most_output: usize) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let mut written = Written::default();
            let order = Order::Run { code, most_output };
            let answer = self.command::<RunAnswer>(order, until, most_output, &mut written).await;
            let mut ran = Ran::default();
            let mut totals = (None, None);
            ran.end = match answer {
                Ok(answer) => {
                    totals = (Some(answer.stdout_bytes), Some(answer.stderr_bytes));
                    ran.value = answer.cell.value(most_output);
                    ran.notes = answer.cell.notes();
                    answer.cell.end()
                }
                Err(Silence::Late) => RunEnd::TimedOut,
                Err(Silence::Broken(error)) => RunEnd::Gone(self.how_it_ended(&error).await),
                Err(Silence::TooManyProcesses) => {
                    RunEnd::Gone(format!("the code started more than {} processes", self.max_processes))
                }
            };
            ran.stdout = Captured::new(&written.stdout, totals.0, most_output);
            ran.stderr = Captured::new(&written.stderr, totals.1, most_output);
            ran
        })
    }

    fn save(&mut self, until: Instant, most_bytes: usize) -> BoxFuture<'_, Option<Snapshot>> {
        Box::pin(async move {
            let order = Order::Save { most_bytes };
            self.command(order, until, most_bytes, &mut Written::default()).await.ok()
        })
    }

    fn load<'a>(
        &'a mut self,
        snapshot: &'a Snapshot,
        until: Instant,
    ) -> BoxFuture<'a, Option<BTreeMap<String, String>>> {
        Box::pin(async move {
            let order = Order::Load { snapshot };
            let answer: LoadAnswer = self.command(order, until, 0, &mut Written::default()).await.ok()?;
            Some(answer.problems)
        })
    }

    fn end(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.child.kill().await;
        })
    }
}
