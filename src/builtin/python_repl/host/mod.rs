//! Sessions in processes of this machine.

mod frames;
mod process;

use std::{ffi::OsString, fmt, path::PathBuf};

use futures::future::BoxFuture;
use toolyard_actors::child::{ChildCommand, InheritEnv, ResourceLimits};

use super::{ReplBackend, ReplSession, SessionSetup, Unavailable};
use process::HostSession;

/// Runs sessions in processes of this machine, **without any protection**: the code can read and change whatever the
/// engine's user can, and reach every network. For code that is trusted.
///
/// What it does see to: each session is a process of its own with few variables and in a temporary folder, with limits
/// on memory, files and the number of processes, and nothing that it started outlives it.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostProcess {
    /// The interpreter: a name on `PATH`, or a path. Default `python3`.
    pub interpreter: PathBuf,
    /// Variables to set for sessions. Default: none.
    pub env: Vec<(OsString, OsString)>,
    /// Which of this process's variables sessions see. Default: the short list of [`InheritEnv`], which has no secrets.
    pub inherit_env: InheritEnv,
    /// What a process may use. Default: 2 GiB of address space, files of 256 MiB, 256 open files: libraries for numbers
    /// fit, and a slip does not fill the machine.
    pub limits: ResourceLimits,
    /// How many processes there may be in a session at once. Default 64: a pool of workers fits, a fork bomb does not
    /// get far.
    pub max_processes: usize,
}

impl Default for HostProcess {
    fn default() -> Self {
        let limits = ResourceLimits {
            cpu_time: None,
            memory_bytes: Some(2 << 30),
            file_bytes: Some(256 << 20),
            open_files: Some(256),
        };
        let inherit_env = InheritEnv::default();
        Self { interpreter: "python3".into(), env: Vec::new(), inherit_env, limits, max_processes: 64 }
    }
}

impl ReplBackend for HostProcess {
    fn prepare(&self) {
        // For good: sessions come and go, and what is written between two of them is run by the next.
        for guard in ChildCommand::new(&self.interpreter).guard() {
            guard.for_good();
        }
    }

    fn open(
        &self,
        _: Option<&str>,
        setup: SessionSetup,
    ) -> BoxFuture<'static, Result<Box<dyn ReplSession>, Unavailable>> {
        let host = self.clone();
        Box::pin(async move {
            let session = HostSession::start(&host, &setup).await.map_err(Unavailable)?;
            let session: Box<dyn ReplSession> = Box::new(session);
            Ok(session)
        })
    }
}

/// Shows the names of variables alone: their values may be secrets.
impl fmt::Debug for HostProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostProcess")
            .field("interpreter", &self.interpreter)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("inherit_env", &self.inherit_env)
            .field("limits", &self.limits)
            .field("max_processes", &self.max_processes)
            .finish()
    }
}
