//! What the servers of a pool may want of us, and what we know about it.
#![expect(deprecated, reason = "servers up to 2025-11-25 have logs")]

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, LoggingLevel};
use serde_json::{Value, json};

use super::{
    config::{McpLink, McpServerConfig},
    host::McpHost,
    login::{Identity, McpLogin},
    notice::{McpNoticeKind, NoticeBoard},
};

/// Where the wishes and notices of one server arrive.
pub(super) struct Desk {
    pub(super) server: Arc<str>,
    host: Arc<McpHost>,
    notices: NoticeBoard,
    pub(super) config: Arc<McpServerConfig>,
    pub(super) identity: Option<Arc<Identity>>,
}

impl Desk {
    pub(super) fn new(
        server: &str,
        host: Arc<McpHost>,
        notices: NoticeBoard,
        config: Arc<McpServerConfig>,
    ) -> Self {
        let identity = match (&config.link, &config.login) {
            // Who shows a token of their own, a caller or all, is who that says.
            (McpLink::Http { url, headers }, Some(login))
                if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) =>
            {
                Some(login.identity(url))
            }
            _ => None,
        };
        Self { server: server.into(), host, notices, config, identity }
    }

    /// What a server is told about us.
    pub(super) fn client(&self) -> ClientConfig {
        let us = Implementation::new("toolyard", env!("CARGO_PKG_VERSION"));
        let mut can = json!({"elicitation": {"form": {}, "url": {}}});
        if self.host.samples() {
            can["sampling"] = json!({});
        }
        if self.host.has_roots() || !self.config.roots.is_empty() {
            can["roots"] = json!({});
        }
        if let Some(extension) = self.config.login.as_ref().and_then(McpLogin::extension) {
            can["extensions"] = json!({extension: {}});
        }
        ClientConfig::new(serde_json::from_value(can).unwrap_or_else(|_| ClientCapabilities::default()), us)
    }

    pub(super) fn notice(&self, kind: McpNoticeKind) {
        self.notices.post(&self.server, kind);
    }

    /// Asks the host's model.
    pub(super) async fn sample(&self, params: Value) -> Result<Value, String> {
        self.host.sample(&self.server, params).await
    }

    pub(super) fn samples(&self) -> bool {
        self.host.samples()
    }

    /// The places that the server may work in, as the protocol writes them.
    pub(super) fn roots(&self) -> Value {
        let mut roots = self.config.roots.clone();
        roots.extend(self.host.roots_of(&self.server));
        json!({"roots": roots})
    }

    /// How long the server's questions are held open.
    pub(super) fn patience(&self) -> Duration {
        self.config.question_timeout
    }

    /// From which gravity on the server's log is wanted.
    pub(super) fn log_level(&self) -> Option<LoggingLevel> {
        let level = serde_json::to_value(self.config.log_level?).ok()?;
        serde_json::from_value(level).ok()
    }
}
