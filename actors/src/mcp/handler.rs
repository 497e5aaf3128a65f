//! What a server may say unasked.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam},
    service::NotificationContext,
};

use super::progress::ProgressBook;

/// Called when a server says that its tools have changed.
pub(super) type OnToolsChanged = Arc<dyn Fn() + Send + Sync>;

/// Our side of a link.
pub(super) struct LinkHandler {
    pub(super) progress: Arc<ProgressBook>,
    pub(super) on_tools_changed: OnToolsChanged,
}

impl ClientHandler for LinkHandler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("toolyard", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_progress(&self, notice: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.notice(notice);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.on_tools_changed)();
    }
}
