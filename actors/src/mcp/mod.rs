//! MCP servers: connections that stay up, and their tools as tools of the engine.
//!
//! What holds for every server:
//!
//! - One session actor owns its connection. Every wait on it has a deadline, and several callers share one try to
//!   connect and its outcome.
//! - A connection that breaks comes back by itself, with growing, scattered pauses; calls under way over it are
//!   `lost` and never sent again, calls that could not be sent are `not_started`.
//! - Its tools appear when they have been listed, change when the server says so, and stay as they were when a list
//!   cannot be read.
//! - What it asks people suspends the call that asks, and the answer goes back to it when the call goes on. A server
//!   with a session waits meanwhile, in this process alone and for a time: when the answer comes too late, or in another
//!   process, the call is repeated only where its tool is idempotent or a setting allows it, and is `lost` elsewhere. A
//!   server without sessions is asked again, with the answer and its own state, which stand in the list's record.
//!   A server with a session does not say which call asks, so a question waits until it can only come from one.
//! - Nothing it sends is trusted: sizes and pages are bounded, hints count only where a setting says so.

mod actor;
mod answer;
mod answer_id;
mod asking;
mod callers;
mod completion;
mod config;
mod controller;
mod desk;
mod event_size;
mod exact;
mod extension;
mod handler;
mod health;
mod held;
mod host;
mod http;
mod http_client;
mod http_events;
mod http_head;
mod http_post;
mod http_session;
mod in_process;
mod inbox;
mod isolation;
mod link;
mod listing;
mod login;
mod login_client;
mod names;
mod notice;
mod noting;
mod odd;
mod pending;
mod pool;
mod progress;
mod question;
mod reload;
mod request_error;
mod requests;
mod rounds;
mod said;
mod scope;
mod send_error;
mod session;
mod sse;
mod state;
mod status;
mod subscription;
mod telling;
mod tool;
mod tries;
mod wire;

pub use self::{
    completion::McpReference,
    config::{Backoff, LinkMode, McpLink, McpServerConfig, ProtocolEra},
    controller::{McpSession, McpSessionInfo},
    health::{HealthCheck, HealthProbe},
    host::{McpHost, McpRoot, SamplingRequest},
    in_process::InProcess,
    isolation::{Credentials, Isolation},
    login::McpLogin,
    notice::{McpLogLevel, McpNotice, McpNoticeKind, McpNotices},
    pool::{McpPool, check_name},
    reload::McpChanges,
    requests::{PromptRequest, ResourceRequest, ServerAnswer},
    status::{McpError, McpServerStatus, McpState},
};
