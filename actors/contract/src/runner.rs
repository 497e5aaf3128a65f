//! Where a tool's body runs.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;

use crate::{Failure, Invocation, Tool, ToolFuture};

pub use crate::state::StateReturn;

/// Runs tools somewhere else than here: in a child process, a container, on another machine.
///
/// With a runner the tool's own body is never used, in the list and in all lists inside its calls. The invocation
/// carries the merged arguments and the call's context. Deadline, cancellation and panics are handled around the
/// runner's future just as around a tool's own.
///
/// Calls of a tool that keeps [state](crate::Stateful) come to [`run_with_state`](Self::run_with_state), if the
/// runner [takes](Self::takes_state) such tools. Otherwise they are `not_started`, before anything runs.
pub trait Runner: Send + Sync + 'static {
    /// Starts the work of one call of `tool`.
    fn run(&self, tool: Arc<dyn Tool>, invocation: Invocation) -> ToolFuture;

    /// Tells whether calls of `tool`, which keeps state, may come here with a copy of their row. Default: no.
    fn takes_state(&self, tool: &dyn Tool) -> bool {
        let _ = tool;
        false
    }

    /// Starts the work of one call of a tool that keeps state, on a copy of its row. The state in the answer is
    /// committed when the call is `ok`; `None` leaves the row as it was.
    ///
    /// Called only for tools that the runner [takes](Self::takes_state). It must not wait.
    fn run_with_state(
        &self,
        tool: Arc<dyn Tool>,
        invocation: Invocation,
        state: Box<RawValue>,
    ) -> BoxFuture<'static, StateReturn> {
        drop((invocation, state));
        let refused = Failure::not_started(no_state(&tool.spec().name));
        Box::pin(std::future::ready((Err(refused), None)))
    }
}

/// Why a call of a tool with state does not run where its list's runner runs things.
pub fn no_state(tool: &str) -> String {
    format!(
        "tool {tool:?}: not started, because it keeps state, and the runner of its list takes no such tool; \
         call it in a list without a runner, or use a runner whose `takes_state` says yes"
    )
}
