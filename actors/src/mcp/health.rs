//! Asks whether a server is still there.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientRequest, PaginatedRequestParams, PingRequest, ProtocolVersion, Tool};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::{link::Link, listing::Listed, request_error::RequestError};

/// How long a server may say nothing while requests wait before it is asked: networks drop what is silent for a minute.
const SILENT: Duration = Duration::from_mins(1);

/// How long a server may take to answer where there is doubt, at most.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// How many checks in a row it must leave unanswered.
const MOST_MISSED: u32 = 2;

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
///
/// Without this a server is asked where there is doubt alone: after a call to it was given up (out of time, or cancelled),
/// and when a minute goes by without a word from it while requests wait. Each time it has the `connect_timeout` to answer, at
/// most 30 s. An error ends the connection; silence does after a call was given up, twice in a row, and only when
/// no other call is under way that the server had before: it may work at that, and be unable to do two things at once.
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

/// Asks over `link` as it is set, or where there is doubt, until the server is found not to be there, and tells why; `None`
/// when the link has been closed. `patience` is how long it may take to answer where nothing is set.
pub(super) async fn failure(
    check: Option<HealthCheck>,
    link: Arc<Link>,
    patience: Duration,
) -> Option<String> {
    match check {
        Some(check) => check.failure(link).await,
        None => doubted(link, patience).await,
    }
}

async fn doubted(link: Arc<Link>, patience: Duration) -> Option<String> {
    let traffic = link.traffic();
    let within = patience.min(LONGEST_SILENCE);
    loop {
        let heard = traffic.heard();
        let was_given_up = tokio::select! {
            () = link.closing() => return None,
            () = traffic.given_up() => true,
            () = sleep(SILENT) => false,
        };
        if !was_given_up && (link.in_flight() == 0 || traffic.heard() != heard) {
            continue;
        }
        let doubt = Doubt { link: &link, asked: traffic.now(), heard: traffic.heard(), within };
        let failure = tokio::select! {
            () = link.closing() => return None,
            failure = doubt.failure(was_given_up) => failure,
        };
        if failure.is_some() {
            return failure;
        }
    }
}

/// One doubt whether a server is there.
struct Doubt<'a> {
    link: &'a Link,
    /// The number of the first request that came after it.
    asked: u64,
    /// How many messages had come.
    heard: u64,
    within: Duration,
}

impl Doubt<'_> {
    /// Why the server is found not to be there.
    async fn failure(self, was_given_up: bool) -> Option<String> {
        let traffic = self.link.traffic();
        let mut missed = 0;
        loop {
            match timeout(self.within, HealthCheck::default().ask(self.link)).await {
                Ok(Ok(())) => return None,
                Ok(Err(reason)) => return Some(format!("its health check failed: {reason}")),
                Err(_) => missed += 1,
            }
            while missed >= MOST_MISSED && traffic.heard() == self.heard && traffic.is_at_work(self.asked) {
                // It may be at work at an older call, which has a time of its own.
                sleep(self.within).await;
                missed = MOST_MISSED - 1;
            }
            if traffic.heard() != self.heard || !was_given_up {
                return None;
            }
            if missed >= MOST_MISSED {
                let seconds = self.within.as_secs_f64();
                return Some(format!(
                    "after a call was given up it answered none of {MOST_MISSED} health checks within {seconds} s"
                ));
            }
        }
    }
}
