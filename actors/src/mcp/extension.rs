//! The servers as an extension of an engine.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{
    pool::McpPool,
    status::{McpServerStatus, McpState},
};
use crate::extension::{Extension, ExtensionStatus, HostHandle};

/// The servers' tools are the engine's, and their connections end with it.
impl Extension for McpPool {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        let _ = self.0.engine.set(host);
        let first = std::mem::take(&mut *self.0.first.lock());
        let added = first.into_iter().try_for_each(|(name, config)| self.add_new(name, config));
        Box::pin(async { added.map_err(|error| error.to_string()) })
    }

    fn ready(self: Arc<Self>) -> BoxFuture<'static, Vec<(String, String)>> {
        Box::pin(async move {
            let connected = self.connect_each().await.into_iter();
            connected.filter_map(|(server, outcome)| Some((server, outcome.err()?.to_string()))).collect()
        })
    }

    fn release(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.disconnect_all().await })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.0.close_sessions().await })
    }

    fn status(&self) -> ExtensionStatus {
        let servers = Self::status(self);
        let problem = |server: &McpServerStatus| {
            let error = server.last_error.as_ref().filter(|_| server.state != McpState::Ready)?;
            Some(format!("server {:?}: {error}", server.name))
        };
        let detail = serde_json::to_value(&servers).unwrap_or_default();
        ExtensionStatus::default().problems(servers.iter().filter_map(problem)).detail(detail)
    }
}
