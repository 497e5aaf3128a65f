//! MCP servers: their tools are tools of the engine, under the names `server_tool`.
//!
//! [`Engine::mcp`](crate::Engine::mcp) is the pool of an engine: servers come and go while it runs.
//! [`read_servers`] reads the `{"mcpServers": {…}}` files of desktop clients and editors.

mod check;
pub(crate) mod description;
mod servers;
pub(crate) mod setup;
mod unreachable;

pub use check::{ServerCheck, check_servers};
pub use servers::{ServersError, ServersFile, read_servers};
pub use toolyard_actors::mcp::{
    Backoff, Credentials, HealthCheck, HealthProbe, IdentityProvider, InProcess, Isolation, LinkMode,
    McpChanges, McpError, McpHost, McpLink, McpLogLevel, McpLogin, McpNotice, McpNoticeKind, McpNotices,
    McpPool, McpReference, McpRoot, McpSecret, McpServerConfig, McpServerStatus, McpSession, McpSessionInfo,
    McpSigningAlgorithm, McpSigningKey, McpState, PromptRequest, ProtocolEra, ResourceRequest,
    SamplingRequest, ServerAnswer,
};
pub use unreachable::stand_ins;
