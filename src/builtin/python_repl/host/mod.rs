//! Sessions in processes of this machine.

mod frames;
mod process;

use std::path::PathBuf;

use futures::future::BoxFuture;
use toolyard_actors::child::ResourceLimits;

use super::{ReplBackend, ReplSession, SessionSetup, Unavailable};
use process::HostSession;

/// Runs sessions in processes of this machine, **without any protection**: the code can read and change whatever the
/// engine's user can, and reach every network. For code that is trusted.
///
/// What it does see to: each session is a process of its own in an empty environment and a temporary folder, with limits
/// on memory, files and the number of processes, and nothing that it started outlives it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostProcess {
    /// The interpreter: a name on `PATH`, or a path. Default `python3`.
    pub interpreter: PathBuf,
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
        Self { interpreter: "python3".into(), limits, max_processes: 64 }
    }
}

impl ReplBackend for HostProcess {
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
