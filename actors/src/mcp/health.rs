//! Asks whether a server is still there.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientRequest, PaginatedRequestParams, PingRequest, ProtocolVersion, Tool};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::{link::Link, listing::Listed, request_error::RequestError};

/// How a server is asked whether it is still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HealthProbe {
    /// By a ping, where the protocol has one: up to 2025-11-25; else as with `List`.
    #[default]
    Ping,
    /// By its list of tools: it must give one, too.
    List,
}

/// Asks a server now and then whether it is still there, and opens the connection anew when it is not. That a program
/// ends or that a connection closes is seen without this; it is for servers that hang, and for networks that drop
/// connections without a word.
///
/// A server that answers nothing while it works at a call needs a longer time to answer than its longest call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthCheck {
    /// How long it is left alone after an answer. Default 30 s: networks drop what is silent for a minute.
    pub every: Duration,
    /// How long it may take to answer. Default 10 s: one that is busy is slow, but not that slow.
    pub within: Duration,
    /// How it is asked. Default: by a ping.
    pub by: HealthProbe,
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self { every: Duration::from_secs(30), within: Duration::from_secs(10), by: HealthProbe::default() }
    }
}

impl HealthCheck {
    /// Sets how long the server is left alone after an answer.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Sets how long it may take to answer.
    #[must_use]
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Sets how it is asked.
    #[must_use]
    pub fn by(mut self, by: HealthProbe) -> Self {
        self.by = by;
        self
    }

    /// Asks over `link` until there is no answer, and tells why; `None` when the link has been closed.
    pub(super) async fn failure(self, link: Arc<Link>) -> Option<String> {
        loop {
            sleep(self.every).await;
            if !link.is_open() {
                return None;
            }
            match timeout(self.within, self.ask(&link)).await {
                Ok(Ok(())) => {}
                Ok(Err(reason)) => return Some(format!("its health check failed: {reason}")),
                Err(_) => {
                    let seconds = self.within.as_secs_f64();
                    return Some(format!("it did not answer a health check within {seconds} s"));
                }
            }
        }
    }

    async fn ask(self, link: &Link) -> Result<(), String> {
        let has_ping = link.version < ProtocolVersion::V_2026_07_28.to_string();
        let is_ping = self.by == HealthProbe::Ping && has_ping || !Tool::is_offered(link.offers());
        let question = if is_ping {
            ClientRequest::PingRequest(PingRequest::default())
        } else {
            Tool::request(PaginatedRequestParams::default())
        };
        match link.request(question).await {
            // One that refuses is there.
            Err(RequestError::Refused(_)) if is_ping => Ok(()),
            Err(error) => Err(error.reason().to_owned()),
            Ok(_) => Ok(()),
        }
    }
}
