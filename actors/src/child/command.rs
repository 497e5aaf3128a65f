//! What to start, and how it is to be ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment::InheritEnv;
use super::limits::ResourceLimits;
use super::process::ChildProcess;
use crate::code::CodeGuard;

/// Where children start that have no folder of their own: as services do, and nothing is found there by chance.
const NOWHERE: &str = "/";

/// Says how long each step of ending a child may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPolicy {
    /// From the end of its standard input to `SIGTERM`. Default 1 s: enough for a server to finish a reply.
    pub after_eof: Duration,
    /// From `SIGTERM` to `SIGKILL`. Default 1 s: enough to remove a lock file.
    pub after_term: Duration,
    /// From `SIGKILL` until waiting is given up. Default 5 s: only a process stuck in the kernel takes longer.
    pub after_kill: Duration,
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self {
            after_eof: Duration::from_secs(1),
            after_term: Duration::from_secs(1),
            after_kill: Duration::from_secs(5),
        }
    }
}

/// Tells why a child process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// No such program.
    #[error("no program {program:?} was found: install it or give its whole path")]
    NotFound {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The program is given by a relative path, and nobody said where that begins.
    #[error(
        "program {program:?} is a relative path, and nothing is run from the current folder: give its whole path"
    )]
    Relative {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The system would not start it.
    #[error("could not start {program:?}: {source}")]
    NotStarted {
        /// The program as it was asked for.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Builds a child process: a program, its arguments, environment, folder and limits.
#[derive(Clone)]
pub struct ChildCommand {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) inherit_env: InheritEnv,
    pub(super) folder: Option<PathBuf>,
    pub(super) limits: ResourceLimits,
    pub(super) stop: StopPolicy,
    pub(super) stderr_bytes: usize,
}

impl ChildCommand {
    /// Starts with a program: a whole path, or a name that is looked up in those folders on `PATH` that are whole paths.
    /// A relative path starts at the [folder](Self::folder) that was set.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            inherit_env: InheritEnv::default(),
            folder: None,
            limits: ResourceLimits::default(),
            stop: StopPolicy::default(),
            stderr_bytes: 16 * 1024,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets one variable of the child's environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets which of this process's variables the child sees. Default: the short list of [`InheritEnv`], which has no
    /// secrets.
    #[must_use]
    pub fn inherit_env(mut self, inherit: InheritEnv) -> Self {
        self.inherit_env = inherit;
        self
    }

    /// Sets the folder that the child starts in. Default: `/`, as for a service. It is never this process's folder by
    /// itself, because programs take code and configuration from where they start.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.folder = Some(std::path::absolute(&folder).unwrap_or(folder));
        self
    }

    /// Sets what the child may use. Default: no limits.
    #[must_use]
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how long the steps of ending it may take.
    #[must_use]
    pub fn stop_policy(mut self, stop: StopPolicy) -> Self {
        self.stop = stop;
        self
    }

    /// Sets how much of its standard error is kept, in bytes. Default 16 KiB: a long traceback fits.
    #[must_use]
    pub fn stderr_bytes(mut self, bytes: usize) -> Self {
        self.stderr_bytes = bytes;
        self
    }

    /// Starts the child. It must be called on a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// [`ChildError`] when there is no such program or the system would not start it.
    pub fn start(&self) -> Result<ChildProcess, ChildError> {
        ChildProcess::start(self)
    }

    /// Keeps file tools from writing the program, its scripts and its configuration, as far as its command line names
    /// them, until the guards are dropped.
    pub fn guard(&self) -> Vec<CodeGuard> {
        let program = self.resolve_program().unwrap_or_else(|_| self.program.clone());
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        CodeGuard::command(&program, &args, self.folder.as_deref())
    }

    /// The folder that the child starts in.
    pub(super) fn start_folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new(NOWHERE))
    }

    /// The program's path. A name is looked up here, not by the system, because a keeper could not report that it
    /// is missing, and because the system would look into the current folder too.
    pub(super) fn resolve_program(&self) -> Result<PathBuf, ChildError> {
        let not_found = || ChildError::NotFound { program: self.program.clone() };
        if self.program.components().count() > 1 || self.program.is_absolute() {
            if self.program.is_relative() && self.folder.is_none() {
                return Err(ChildError::Relative { program: self.program.clone() });
            }
            let seen_from = self.start_folder().join(&self.program);
            return is_executable(&seen_from).then_some(seen_from).ok_or_else(not_found);
        }
        let path = self.search_path().ok_or_else(not_found)?;
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&self.program))
            .find(|candidate| is_executable(candidate))
            .ok_or_else(not_found)
    }

    fn search_path(&self) -> Option<OsString> {
        let set = self.env.iter().rev().find(|(name, _)| name == OsStr::new("PATH"));
        set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
