//! What servers say unasked, for those who watch a pool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::{self, error::RecvError};

/// How many notices are kept for a listener that is behind.
const KEPT: usize = 1_024;

/// Something that a server said unasked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpNotice {
    /// The server.
    pub server: Arc<str>,
    /// What it said.
    pub kind: McpNoticeKind,
}

/// The kinds of [`McpNotice`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum McpNoticeKind {
    /// A line of its log. Nothing of it can be trusted.
    Log {
        /// How grave it is.
        level: McpLogLevel,
        /// Which part of the server speaks.
        logger: Option<String>,
        /// What it says.
        data: Value,
    },
    /// A resource that was [subscribed](super::McpPool::subscribe_resource) to has changed.
    ResourceUpdated {
        /// The resource.
        uri: String,
    },
    /// Its list of tools has changed; the pool reads it again by itself.
    ToolsChanged,
    /// Its list of prompts has changed.
    PromptsChanged,
    /// Its list of resources has changed.
    ResourcesChanged,
}

/// How grave a line of a log is, as in syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the words of RFC 5424
pub enum McpLogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// The notices of a pool's servers for one listener.
///
/// A listener that is behind by more than 1,024 notices loses the oldest, counted by
/// [`dropped`](Self::dropped); it never slows a server down.
#[derive(Debug)]
pub struct McpNotices {
    receiver: broadcast::Receiver<McpNotice>,
    dropped: u64,
}

impl McpNotices {
    /// Waits for the next notice; `None` once the pool is gone.
    pub async fn next(&mut self) -> Option<McpNotice> {
        loop {
            match self.receiver.recv().await {
                Ok(notice) => return Some(notice),
                Err(RecvError::Lagged(lost)) => self.dropped += lost,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// How many notices were lost because this listener was behind.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Gives notices to all who listen.
#[derive(Clone)]
pub(super) struct NoticeBoard(broadcast::Sender<McpNotice>);

impl NoticeBoard {
    pub(super) fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }

    pub(super) fn listen(&self) -> McpNotices {
        McpNotices { receiver: self.0.subscribe(), dropped: 0 }
    }

    pub(super) fn post(&self, server: &Arc<str>, kind: McpNoticeKind) {
        // An error says that nobody listens.
        let _ = self.0.send(McpNotice { server: server.clone(), kind });
    }
}
