//! Where a tool's body runs.

use std::sync::Arc;

use crate::{Invocation, Tool, ToolFuture};

/// Runs tools somewhere else than here: in a child process, a container, on another machine.
///
/// With a runner the tool's own [`call`](Tool::call) is not used; the invocation carries the merged
/// arguments and the call's context. Deadline, cancellation and panics are handled around the
/// runner's future just as around a tool's own.
pub trait Runner: Send + Sync + 'static {
    /// Starts the work of one call of `tool`.
    fn run(&self, tool: Arc<dyn Tool>, invocation: Invocation) -> ToolFuture;
}
