//! The tool contract.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    Access, DecisionContext, Invocation, ParallelDecision, PermissionCheck, PermissionContext, StatePart,
    ToolFuture, ToolSpec, arguments::without_filled, canonical::canonical,
};

/// Something that a model can call.
///
/// [`spec`](Self::spec) and [`call`](Self::call) are all that a tool must have. The other methods
/// are questions about one concrete call, asked with its checked arguments (the text of a JSON
/// object) before it runs; the planner, a policy and an observer may each ask, more than once, so
/// their answers must depend on the arguments alone (and [`permission_check`](Self::permission_check) on
/// what they name) and have no side effects.
///
/// ```
/// use std::sync::Arc;
/// use toolyard_contract::{Failure, Invocation, Tool, ToolFuture, ToolSpec};
///
/// struct Greet(ToolSpec);
///
/// impl Tool for Greet {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///     fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
///         ToolFuture::new(async move {
///             let arguments: serde_json::Value = serde_json::from_str(&invocation.arguments)
///                 .map_err(|e| Failure::bad_arguments(e.to_string()))?;
///             Ok(format!("hello {}", arguments["who"]).into())
///         })
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the tool is: name, schemas, and how it may be run. Must not change.
    fn spec(&self) -> &ToolSpec;

    /// Says whether this call may overlap with its neighbours.
    fn parallel_decision(&self, arguments: &str, context: &DecisionContext) -> ParallelDecision {
        let _ = arguments;
        ParallelDecision::by_default(self.spec().parallel_safe, context)
    }

    /// Says what this call touches.
    fn access(&self, arguments: &str) -> Access {
        let _ = arguments;
        Access::Everything
    }

    /// Projects this call to what a permission policy judges; `None` when there is nothing to judge.
    ///
    /// By default the action is the declared one, else the tool's name, and the resource is the
    /// canonical form of the arguments without those that the runtime has filled in, which may be secrets.
    ///
    /// One that looks at the world (what a path leads to) is asked again just before the call's work
    /// begins, and the call is denied when the answer has changed. What can still change under way the
    /// tool compares when it touches the thing: see [`CallContext::judged`](crate::CallContext::judged).
    fn permission_check(&self, arguments: &str, context: &PermissionContext<'_>) -> Option<PermissionCheck> {
        let spec = self.spec();
        let action = spec.permission_action.clone().unwrap_or_else(|| spec.name.clone());
        let shown = without_filled(arguments, context.filled);
        let resource = canonical(&shown).unwrap_or_else(|_| shown.into_owned());
        Some(PermissionCheck { action, resource })
    }

    /// The state part of a tool with inner state; see [`Stateful`](crate::Stateful). Default: none.
    fn state(&self) -> Option<StatePart> {
        None
    }

    /// Takes note that a call that asked for a value will not go on: somebody denied it. What the tool
    /// still holds for it can go. Must not wait.
    fn call_off(&self, kept: &Value) {
        let _ = kept;
    }

    /// Lets go of what outlives calls (processes, connections, sessions), but not for good: the engine was stopped or
    /// reset, and the next call begins anew. What calls under way use goes when they have ended. Default: there is
    /// nothing.
    fn release(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Lets go of what outlives calls (processes, connections): the engine has ended. Default: there is nothing.
    fn retire(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Lets go of what it keeps for an agent (sessions, connections): the agent is gone, and has no calls under way.
    /// Default: there is nothing.
    fn forget(&self, agent: &str) -> BoxFuture<'static, ()> {
        let _ = agent;
        Box::pin(std::future::ready(()))
    }

    /// Starts the work of one call.
    ///
    /// # Cancellation
    /// A cancel or a time-out drops the future, so it must leave nothing half-done at an await. A
    /// tool with [`Execution::Blocking`](crate::Execution::Blocking) runs on a thread of its own
    /// instead, which cannot be stopped: see [`CallContext::is_cancelled`](crate::CallContext::is_cancelled).
    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture;
}

/// A tool, or what already is a shared one and stays as it is.
pub trait IntoTool {
    /// Gives the shared tool.
    fn into_tool(self) -> Arc<dyn Tool>;
}

impl<T: Tool> IntoTool for T {
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

impl<T: Tool> IntoTool for Arc<T> {
    fn into_tool(self) -> Arc<dyn Tool> {
        self
    }
}

impl IntoTool for Arc<dyn Tool> {
    fn into_tool(self) -> Arc<dyn Tool> {
        self
    }
}
