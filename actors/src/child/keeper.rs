//! The keeper: a small process between the engine and a child, whose end takes everything below it along.
//!
//! A process that is killed with `SIGKILL` can clean up nothing, so somebody else must. The keeper is this very
//! program, started again by [`ChildCommand`](super::ChildCommand) with a mark as its first argument. It watches the
//! engine through a process descriptor, and it is the subreaper of all that its child starts, so that even a daemon
//! with a session of its own is found and killed when the child or the engine ends.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, getpid, getppid, pidfd_open, set_child_subreaper};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::exit::ChildExit;
use super::limits::ResourceLimits;
use super::tree::end_all_children;

/// The first argument of a keeper.
const MARK: &str = "--toolyard-keep-child";

/// The program to start as a keeper: this one, also after its file was replaced.
pub(super) const SELF: &str = "/proc/self/exe";

/// Whether `main` offers itself as a keeper.
static OFFERED: AtomicBool = AtomicBool::new(false);

/// Turns this process into the keeper of a child when it was started as one, and never returns then; otherwise notes
/// that the program can be started as one.
///
/// Call it first in `main`, before any thread is started. Without it children still end with the engine when it ends
/// normally, and Python workers when it is killed; but daemons that they started, and MCP servers that ignore the end
/// of their input, survive a `kill -9` of the engine.
pub fn keep_if_asked() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == MARK) {
        std::process::exit(keep(args));
    }
    OFFERED.store(true, Ordering::Relaxed);
}

/// Whether children of this process can have a keeper.
pub(super) fn is_offered() -> bool {
    OFFERED.load(Ordering::Relaxed)
}

/// The arguments that make this program the keeper of a child; the child's program and arguments follow.
pub(super) fn arguments(limits: ResourceLimits) -> [OsString; 3] {
    let engine = getpid().as_raw_nonzero().to_string();
    [MARK.into(), engine.into(), limits.to_argument().into()]
}

/// Keeps one child and gives the exit code to end with.
fn keep(args: impl Iterator<Item = OsString>) -> i32 {
    match Errand::read(args).and_then(Errand::run) {
        Ok(exit) => exit.as_code(),
        Err(problem) => {
            eprintln!("toolyard keeper: {problem}");
            127
        }
    }
}

/// What a keeper was started for.
struct Errand {
    engine: OwnedFd,
    limits: ResourceLimits,
    program: OsString,
    args: Vec<OsString>,
}

impl Errand {
    fn read(mut args: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut next = || args.next().ok_or("started without its arguments");
        let (engine, limits, program) = (next()?, next()?, next()?);
        let engine = engine.to_str().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        let watched = engine.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        // Asked after the descriptor is open: an engine that ended before left its pid to somebody else.
        let (Some(Ok(watched)), true) = (watched, getppid() == engine) else {
            return Err("the engine has ended".into());
        };
        let limits = ResourceLimits::from_argument(&limits.to_string_lossy());
        Ok(Self { engine: watched, limits, program, args: args.collect() })
    }

    fn run(self) -> Result<ChildExit, String> {
        set_child_subreaper(Some(getpid())).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let exit = runtime.map_err(|error| error.to_string())?.block_on(self.watch());
        end_all_children();
        exit
    }

    /// Waits for the end of the child, of the engine, or for the engine's order.
    async fn watch(self) -> Result<ChildExit, String> {
        // A signal to the group is for the child; catching it, unlike ignoring it, is not inherited.
        let _caught = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let mut order = signal(SignalKind::quit()).map_err(|error| error.to_string())?;
        let engine_ended = end_of(self.engine);

        let mut child = tokio::process::Command::new(&self.program)
            .args(&self.args)
            .spawn()
            .map_err(|error| format!("could not start {}: {error}", self.program.display()))?;
        if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            self.limits.apply_to(pid).map_err(|error| format!("could not set limits: {error}"))?;
        }
        leave_streams_to_the_child().map_err(|error| error.to_string())?;

        tokio::select! {
            status = child.wait() => status.map(ChildExit::direct).map_err(|error| error.to_string()),
            _ = engine_ended => Ok(ChildExit::Signal(9)),
            _ = order.recv() => Ok(ChildExit::Signal(9)),
        }
    }
}

/// Resolves when the process behind a descriptor has ended. A thread waits for it, because tokio can register a
/// foreign descriptor only by unsafe code.
fn end_of(process: OwnedFd) -> oneshot::Receiver<()> {
    let (ended, told) = oneshot::channel();
    std::thread::spawn(move || {
        while poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_err() {}
        let _ = ended.send(());
    });
    told
}

/// Closes the keeper's ends of the child's pipes, so that the engine sees their end when the child closes them.
fn leave_streams_to_the_child() -> std::io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
