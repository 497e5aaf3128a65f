//! Containers to run code in that nobody has read.
//!
//! What holds for every sandbox:
//!
//! - The defaults let code compute and write into folders in memory. Everything else is asked for by name.
//! - Code goes to an agent inside the container over its standard input, never through a shell or a command line.
//! - A run is a process of its own, and all that it leaves behind ends with it. A time-out or a cancel ends that run
//!   alone; only an agent that does not answer takes its container with it.
//! - When this process is gone, however it went, the input of its containers ends, and with it they do. What could
//!   not end so is removed by the next engine, which can tell a living owner from one that is gone.

mod actor;
mod config;
mod container;
mod docker;
mod error;
mod exec;
mod files;
mod handle;
mod image;
mod keeper;
mod link;
mod owner;
mod pool;
#[cfg(feature = "python")]
mod program;
mod run;
mod runner;
mod seccomp;
mod security;
mod session;
mod wire;

#[cfg(feature = "python")]
pub(crate) use self::program::SandboxProgram;
pub use self::{
    config::{SandboxConfig, SandboxMount, SandboxNetwork, SandboxSeccomp},
    error::SandboxError,
    files::SandboxFile,
    handle::Sandbox,
    image::{BuiltImage, build_image},
    owner::{OWNER_LABEL, UNTIL_LABEL},
    pool::{SandboxLease, SandboxPool, SandboxPoolConfig, SandboxPoolStatus},
    run::{Artifact, ExecResult, OutputSink, OutputStream, RunKind, RunRequest},
    runner::SandboxRunner,
    session::SandboxSession,
};
