//! Parts that live with an engine and bring it tools: MCP servers, Python files, sandboxes, and those of a host's own. The
//! engine knows them by one trait.

mod host;
mod list;
mod publish;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::{host::HostOps, list::Extensions};
pub use self::{
    host::{HostHandle, Place},
    list::ExtensionError,
    publish::{Offered, Refused},
};

/// A part that lives with an engine: it may bring tools that come and go, place actors on the engine's arbiters, and hold
/// what outlives calls.
///
/// Extensions start in the order in which they were given to the engine, after its own tools are there and before
/// [`Engine`] is handed out, and they are released and closed in the opposite order. So one may use those before it. The
/// example `extension` shows a whole one.
///
/// [`Engine`]: https://docs.rs/toolyard/latest/toolyard/struct.Engine.html
pub trait Extension: Send + Sync + 'static {
    /// What it is called in errors and in its status: one word, such as `mcp`.
    fn name(&self) -> &str;

    /// Begins. What is to go on must not hold this up: spawn it. `host` is weak, so it may be kept.
    ///
    /// # Errors
    /// In words for people; then an engine is not built. What is wrong with a single tool of many is better said by
    /// [`status`](Self::status).
    ///
    /// # Cancellation
    /// The future is dropped when the engine stops before it has ended.
    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>>;

    /// Brings up what is not up yet and waits for it, within bounds of its own; gives what could not be brought up, with the
    /// reason. [`Engine::start`] asks for it. Default: there is nothing to wait for.
    ///
    /// [`Engine::start`]: https://docs.rs/toolyard/latest/toolyard/struct.Engine.html#method.start
    fn ready(self: Arc<Self>) -> BoxFuture<'static, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }

    /// Ends what outlives calls and can begin anew: connections, processes, containers. Calls under way are let alone; the
    /// next ones find everything as after [`start`](Self::start). Default: nothing.
    fn release(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Ends what it holds for an agent that is gone. Default: nothing.
    fn forget<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, ()> {
        let _ = agent;
        Box::pin(async {})
    }

    /// Ends everything. No list is under way any more, and no tool is called afterwards. It is waited for, a minute at
    /// most. Default: nothing.
    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Tells people how it is. It must answer at once. Default: that all is well.
    fn status(&self) -> ExtensionStatus {
        ExtensionStatus::default()
    }
}

/// How an extension is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExtensionStatus {
    /// What does not work, and why, in words for people. Empty: all is well.
    pub problems: Vec<String>,
    /// More, in a form of its own.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

impl ExtensionStatus {
    /// Says what does not work.
    #[must_use]
    pub fn problems(mut self, problems: impl IntoIterator<Item = String>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// Says more.
    #[must_use]
    pub fn detail(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }
}
