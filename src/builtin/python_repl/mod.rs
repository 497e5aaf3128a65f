//! The tool `python_repl`: Python code in sessions that go on between calls, one for each agent.
//!
//! Where the code runs is a [`ReplBackend`]. A container is the one that protects the machine; [`HostProcess`] does
//! not, and is there for code that is trusted. Which modules a session may import
//! ([`PythonReplConfig::allowed_modules`]) is a convenience for the model and no protection at all: there are many ways
//! around it.

mod answer;
mod backend;
mod config;
#[cfg(feature = "docker")]
mod container;
mod host;
mod reply;
mod sessions;
mod tool;

pub use backend::{
    Captured, NoBackend, Ran, ReplBackend, ReplSession, RunEnd, SessionSetup, Snapshot, Unavailable,
};
pub use config::PythonReplConfig;
#[cfg(feature = "docker")]
pub use container::Container;
pub use host::HostProcess;
pub use sessions::SessionState;
pub use tool::PythonReplTool;

/// Writes the names of a session down and reads them back, in every backend.
const SNAPSHOT: &str = include_str!("snapshot.py");

/// Runs pieces of code, in every backend.
const CELL: &str = include_str!("cell.py");
