//! A running child and its end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::command::{ChildCommand, ChildError, StopPolicy};
use super::exit::ChildExit;
use super::keeper;
use super::ring::OutputRing;
use super::tree::{group_is_running, has_more_below};

/// How long the end of standard error is waited for once the child has ended: a grandchild may hold it open.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// Holds a running child process. Dropping it kills the whole group without waiting.
#[derive(Debug)]
pub struct ChildProcess {
    process: Child,
    group: Pid,
    kept: bool,
    ended: Option<ChildExit>,
    stop: StopPolicy,
    stderr: OutputRing,
    stderr_reader: JoinHandle<()>,
}

impl ChildProcess {
    pub(super) fn start(command: &ChildCommand) -> Result<Self, ChildError> {
        let program = command.resolve_program()?;
        let kept = keeper::is_offered();
        let mut system = if kept {
            let mut system = Command::new(keeper::SELF);
            system.args(keeper::arguments(command.limits)).arg(program);
            system
        } else {
            Command::new(program)
        };
        if !command.inherit_env {
            system.env_clear();
        }
        if let Some(folder) = &command.folder {
            system.current_dir(folder);
        }
        system
            .args(&command.args)
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let failed = |source| ChildError::NotStarted { program: command.program.clone(), source };
        let mut process = system.spawn().map_err(failed)?;
        let group = process
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()))
            .ok_or_else(|| failed(io::Error::other("it ended at once")))?;
        let stderr = OutputRing::new(command.stderr_bytes);
        let stderr_reader = match process.stderr.take() {
            Some(stream) => tokio::spawn(stderr.clone().fill_from(stream)),
            None => tokio::spawn(async {}),
        };
        let mut child = Self { process, group, kept, ended: None, stop: command.stop, stderr, stderr_reader };
        if !kept && let Err(error) = command.limits.apply_to(group) {
            child.end_now();
            return Err(failed(error.into()));
        }
        Ok(child)
    }

    /// Takes the child's standard input; dropping it tells the child to end.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// Takes the child's standard output.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Whether a keeper sees to the child's end when this process is killed.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// The id of the child's process group.
    pub fn group_id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Whether a child has started more than `most` processes that are still there, by the child's
    /// [`group_id`](Self::group_id). Reads the system's lists of processes, which may take a millisecond.
    pub fn has_more_than(group_id: i32, most: usize) -> bool {
        Pid::from_raw(group_id).is_some_and(|leader| has_more_below(leader, most))
    }

    /// The last of what the child wrote to standard error.
    pub fn stderr_text(&self) -> String {
        self.stderr.text()
    }

    /// Waits until the child ends by itself, and then for the end of its whole group.
    ///
    /// # Cancellation
    ///
    /// Safe: a dropped wait loses nothing.
    pub async fn wait(&mut self) -> ChildExit {
        if let Some(exit) = self.ended {
            return exit;
        }
        let status = self.process.wait().await;
        self.settle(status).await
    }

    /// Ends the child by the end of its input, then `SIGTERM`, then `SIGKILL`, and returns when its whole group is
    /// gone. The caller must have dropped what [`Self::take_stdin`] gave.
    pub async fn stop(&mut self) -> ChildExit {
        drop(self.process.stdin.take());
        if let Ok(exit) = timeout(self.stop.after_eof, self.wait()).await {
            return exit;
        }
        // It may just have ended; then the wait below says so.
        let _ = kill_process_group(self.group, Signal::TERM);
        if let Ok(exit) = timeout(self.stop.after_term, self.wait()).await {
            return exit;
        }
        self.kill().await
    }

    /// Kills the child and returns when its whole group is gone.
    pub async fn kill(&mut self) -> ChildExit {
        self.end_now();
        if let Ok(exit) = timeout(self.stop.after_kill, self.wait()).await {
            return exit;
        }
        // Only a keeper that is itself in trouble comes here: without it the group is still ours to kill.
        let _ = kill_process_group(self.group, Signal::KILL);
        let exit = timeout(self.stop.after_kill, self.wait()).await;
        exit.unwrap_or(ChildExit::Signal(9))
    }

    fn end_now(&mut self) {
        // It may have ended; then there is nothing to kill.
        let _ = if self.kept {
            kill_process(self.group, Signal::QUIT)
        } else {
            kill_process_group(self.group, Signal::KILL)
        };
    }

    /// Sees to it that nothing of the group is left once its leader has ended.
    async fn settle(&mut self, status: io::Result<ExitStatus>) -> ChildExit {
        let exit = match &status {
            Ok(status) if self.kept => ChildExit::kept(*status),
            Ok(status) => ChildExit::direct(*status),
            Err(_) => ChildExit::Signal(9),
        };
        let keeper_cleaned_up = self.kept && status.is_ok_and(|status| status.code().is_some());
        if !keeper_cleaned_up {
            self.end_group().await;
        }
        let _ = timeout(STDERR_GRACE, &mut self.stderr_reader).await;
        self.ended = Some(exit);
        exit
    }

    async fn end_group(&self) {
        let mut pause = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        while group_is_running(self.group) && waited < self.stop.after_kill {
            let _ = kill_process_group(self.group, Signal::KILL);
            sleep(pause).await;
            waited = waited.saturating_add(pause);
            pause = pause.saturating_mul(2).min(Duration::from_millis(50));
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.end_now();
        }
    }
}
