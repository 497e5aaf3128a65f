//! What is seen of a server from outside.

use std::time::SystemTime;

use serde::Serialize;

/// Where a server's connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpState {
    /// Nothing is connected; the next call connects.
    #[default]
    Idle,
    /// A connection is being opened.
    Connecting,
    /// Calls go out.
    Ready,
    /// The last try failed, or the connection broke; the next try follows by itself.
    Backoff,
    /// Too many tries failed; a call after a while begins anew.
    Failed,
    /// The connection is being closed.
    Closing,
}

/// What is known of a server.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct McpServerStatus {
    /// Its name in the pool.
    pub name: String,
    /// Where its connection stands.
    pub state: McpState,
    /// The protocol revision in use, such as `2025-11-25`.
    pub era: Option<String>,
    /// The process group of a server that is a program.
    pub pid: Option<i32>,
    /// How many connections there have been.
    pub generation: u64,
    /// How many tools its last good list has; `None` before the first.
    pub tools: Option<usize>,
    /// How many requests wait for answers.
    pub in_flight: usize,
    /// How many callers have connections of their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub callers: usize,
    /// What went wrong last, for the operator.
    pub last_error: Option<String>,
    /// Tools of its list that cannot be offered, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// When the state was entered, in seconds since 1970.
    #[serde(serialize_with = "seconds")]
    pub since: SystemTime,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn seconds<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(since.as_secs())
}

/// Why something asked of the pool was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// No server has this name.
    #[error("no MCP server is named {name:?}; there is: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    UnknownServer {
        /// What was asked for.
        name: String,
        /// The servers that there are.
        known: Vec<String>,
    },
    /// The name cannot be a server's.
    #[error(
        "{name:?} cannot be the name of an MCP server: it must have 1 to 200 bytes, none a control character"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Another server has this name.
    #[error("an MCP server named {name:?} is there already")]
    NameInUse {
        /// The name.
        name: String,
    },
    /// There is no engine for servers to live with, or none any more.
    #[error("the engine has stopped")]
    Stopped,
    /// The server has no connection.
    #[error("MCP server {server:?}: not connected: {reason}")]
    NotConnected {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The request brought no answer that can be used.
    #[error("MCP server {server:?}: {reason}")]
    NoAnswer {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
}
