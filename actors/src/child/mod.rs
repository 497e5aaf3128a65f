//! Child processes: the one place that starts, feeds, bounds, kills and reaps them.
//!
//! What holds for every child:
//!
//! - It leads a process group of its own, so a terminal's Ctrl-C does not reach it and one signal reaches all of it.
//! - It is ended by the end of its standard input, then `SIGTERM`, then `SIGKILL`, each with a deadline
//!   ([`StopPolicy`]), and `stop` returns when the whole group is gone and reaped.
//! - Its standard error is kept in a ring ([`OutputRing`]) for error texts, whatever its size.
//! - It starts in `/`, or where it is told to, and sees a short list of variables unless told otherwise: no child takes
//!   code from the current folder, from a folder that a tool may write, or by a relative name ([`InheritEnv`]); and file
//!   tools do not write what a child takes code from ([`CodeGuard`](crate::code::CodeGuard)).
//! - Its resources can be limited ([`ResourceLimits`]).
//! - Under a keeper ([`keep_if_asked`]) nothing below it outlives the engine, not even after `kill -9` of the engine
//!   and not even a daemon that left the group.
//!
//! Linux only: limits, process descriptors and subreapers have no equal elsewhere.

mod command;
mod environment;
mod exit;
mod keeper;
mod limits;
mod process;
mod ring;
mod tree;

#[cfg(test)]
mod tests;

pub use command::{ChildCommand, ChildError, StopPolicy};
pub use environment::InheritEnv;
pub use exit::ChildExit;
pub use keeper::keep_if_asked;
pub use limits::ResourceLimits;
pub use process::ChildProcess;
pub use ring::OutputRing;
