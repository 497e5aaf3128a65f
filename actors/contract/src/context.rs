//! What a running call knows about itself, and what it may ask of the engine.

use std::{fmt, sync::Arc, time::Instant};

use futures::future::BoxFuture;
use serde_json::{Value, value::RawValue};

use crate::{CallId, Failure, SubmitOptions, ToolCall, ToolResult};

/// Identifies one list among those that an engine has taken, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call on its way into a tool: checked arguments and where it comes from.
#[derive(Debug)]
pub struct Invocation {
    /// The text of one JSON object without duplicate keys that fits the tool's schema.
    pub arguments: String,
    /// Where the call comes from.
    pub context: CallContext,
}

impl Invocation {
    /// Makes an invocation outside an engine, for trying a tool by hand.
    pub fn detached(arguments: impl Into<String>) -> Self {
        Self { arguments: arguments.into(), context: CallContext::detached() }
    }
}

/// Where a call comes from: its list, position, attempt, agent and deadline.
#[derive(Clone)]
pub struct CallContext {
    /// The list.
    pub run: RunId,
    /// The call's position in its list; the engine's key for it.
    pub position: usize,
    /// 1 for the first try.
    pub attempt: u32,
    /// When the call will be stopped, on the clock of the engine's runtime.
    pub deadline: Option<Instant>,
    host: Arc<dyn CallHost>,
}

impl CallContext {
    /// Makes a context over an engine's `host`.
    pub fn new(run: RunId, position: usize, deadline: Option<Instant>, host: Arc<dyn CallHost>) -> Self {
        Self { run, position, attempt: 1, deadline, host }
    }

    /// Makes a context outside an engine: never cancelled, progress goes nowhere.
    pub fn detached() -> Self {
        Self::new(RunId(0), 0, None, Arc::new(NoHost))
    }

    /// The agent on whose behalf the call runs.
    pub fn agent(&self) -> Option<&str> {
        self.host.agent()
    }

    /// The provider's id of the call, as it came.
    pub fn call_id(&self) -> Option<&CallId> {
        self.host.call_id(self.position)
    }

    /// The value that the tool asked for with [`Failure::needs_input`](crate::Failure::needs_input).
    pub fn input(&self) -> Option<&RawValue> {
        self.host.input(self.position)
    }

    /// What the tool has kept with [`Failure::keep`](crate::Failure::keep) when it asked for the value.
    pub fn kept(&self) -> Option<&Value> {
        self.host.kept(self.position)
    }

    /// Tells whether the call has been given up: cancelled, timed out, or its list ended.
    ///
    /// An async tool need not ask: its future is dropped. A blocking tool that can take long should
    /// ask now and then, because its thread cannot be stopped from outside.
    pub fn is_cancelled(&self) -> bool {
        self.host.is_cancelled(self.position)
    }

    /// Sends a piece of progress or partial output to whoever listens to the engine's events.
    ///
    /// Never waits: with no listener nothing happens, and a slow one loses pieces, which are counted.
    pub fn progress(&self, payload: impl Into<Value>) {
        if self.host.listens() {
            self.host.progress(self.position, payload.into());
        }
    }

    /// Runs a list of calls on behalf of this call, with what is left of its time, and gives one
    /// result per call in call order. A tool that is an agent of its own works like this.
    ///
    /// The list has all that the list around it has: agent, deadline, time-out, injected values and their policy,
    /// runner, the list's own tools, the permission policy. [`submit_with`](Self::submit_with) takes some of it
    /// away; nothing gives more.
    ///
    /// The list has permits of its own, so that it cannot wait for those that this call holds, and
    /// depth is limited. A stateful tool cannot call itself on the state it is at work on.
    ///
    /// # Errors
    /// When the list was not taken: too deep, engine stopped, or outside an engine.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub fn submit(&self, calls: Vec<ToolCall>) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        self.submit_with(calls, SubmitOptions::new())
    }

    /// Runs a list as [`submit`](Self::submit) does, with less than the list around it has.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub fn submit_with(
        &self,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        self.host.clone().submit(self.position, self.deadline, calls, options)
    }

    /// The engine behind this call.
    pub fn host(&self) -> &Arc<dyn CallHost> {
        &self.host
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("run", &self.run)
            .field("position", &self.position)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// The engine's side of a [`CallContext`]: one for a list, shared by its calls.
pub trait CallHost: Send + Sync {
    /// The agent on whose behalf the list runs.
    fn agent(&self) -> Option<&str>;
    /// The provider's id of the call at `position`.
    fn call_id(&self, position: usize) -> Option<&CallId>;
    /// Tells whether the call at `position` has been given up.
    fn is_cancelled(&self, position: usize) -> bool;
    /// The value with which the call at `position` goes on. Default: none.
    fn input(&self, position: usize) -> Option<&RawValue> {
        let _ = position;
        None
    }
    /// What the tool of the call at `position` has kept when it asked for that value. Default: nothing.
    fn kept(&self, position: usize) -> Option<&Value> {
        let _ = position;
        None
    }
    /// Tells whether anybody would see progress.
    fn listens(&self) -> bool;
    /// Takes a piece of progress of the call at `position`; must not wait.
    fn progress(&self, position: usize, payload: Value);
    /// Runs a list on behalf of the call at `position`. By default there is no engine to run it.
    fn submit(
        self: Arc<Self>,
        position: usize,
        deadline: Option<Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        let _ = (position, deadline, calls, options);
        Box::pin(std::future::ready(Err(SubmitError {
            reason: "there is no engine behind this call".into(),
        })))
    }
}

/// Why a list that a tool submitted was not taken. Nothing of it ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the list was not taken: {reason}")]
pub struct SubmitError {
    /// Why.
    pub reason: String,
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        Self::failed(error.to_string())
    }
}

struct NoHost;

impl CallHost for NoHost {
    fn agent(&self) -> Option<&str> {
        None
    }
    fn call_id(&self, _: usize) -> Option<&CallId> {
        None
    }
    fn is_cancelled(&self, _: usize) -> bool {
        false
    }
    fn listens(&self) -> bool {
        false
    }
    fn progress(&self, _: usize, _: Value) {}
}
