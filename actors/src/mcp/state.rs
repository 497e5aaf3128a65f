//! What the session of one server is at.

use std::sync::Arc;

use actix::SpawnHandle;
use tokio::{task::AbortHandle, time::Instant};

use super::{link::Link, status::McpState};

/// How far the connection is.
pub(super) enum State {
    Idle,
    Connecting(AbortHandle),
    /// Since then.
    Ready(Arc<Link>, Instant),
    /// The next try is then.
    Backoff(Instant, SpawnHandle),
    /// There is no try until then, and none before a call comes.
    Failed(Instant),
    Closing(Arc<Link>),
}

impl State {
    pub(super) fn name(&self) -> McpState {
        match self {
            Self::Idle => McpState::Idle,
            Self::Connecting(_) => McpState::Connecting,
            Self::Ready(..) => McpState::Ready,
            Self::Backoff(..) => McpState::Backoff,
            Self::Failed(_) => McpState::Failed,
            Self::Closing(_) => McpState::Closing,
        }
    }
}

/// How far the list of tools is.
#[derive(PartialEq)]
pub(super) enum Listing {
    No,
    Soon,
    Now,
    /// The list changed while it was read.
    NowAndAgain,
}
