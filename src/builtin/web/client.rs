//! Makes requests: judges, pins, follows, tries again, and stops in time.

use std::{fmt, net::IpAddr};

use futures::future::BoxFuture;
use jiff::Timestamp;
use reqwest::Url;
use tokio::time::{Instant, sleep, timeout_at};
use toolyard_actors::moment;
use toolyard_contract::Failure;

use super::{
    Body, WebConfig, WebError, WebRequest, WebResponse,
    canonical::shown,
    pinned::{PinnedClients, Place},
    redirect::follow,
    retry,
};

/// Asked before each redirect whether it may be followed, with the URL that it leads to.
pub type MayFollow<'a> = &'a (dyn Fn(&Url) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync);

/// Makes requests as a [`WebConfig`] says. Connections are kept for later requests to the same host.
pub struct WebClient {
    config: WebConfig,
    clients: PinnedClients,
}

impl WebClient {
    /// Makes a client; nothing is sent yet.
    pub fn new(config: WebConfig) -> Self {
        Self { config, clients: PinnedClients::default() }
    }

    /// How requests are made.
    pub fn config(&self) -> &WebConfig {
        &self.config
    }

    /// Sends a request and gives the answer, whatever its status. `attempts` takes the place of the configured number.
    ///
    /// # Errors
    /// When there is no whole answer. Nothing was sent where the error says so.
    ///
    /// # Cancellation
    /// Dropping the future closes the connection; the server may have got the request.
    pub async fn send(&self, request: WebRequest, attempts: Option<u32>) -> Result<WebResponse, WebError> {
        self.send_asking(request, attempts, &|_| Box::pin(std::future::ready(Ok(())))).await
    }

    /// Sends a request as [`send`](Self::send) does, and asks before it follows a redirect.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`WebError::NotPermitted`] when a redirect may not be followed: the server that
    /// redirects has had the request then.
    ///
    /// # Cancellation
    /// As [`send`](Self::send).
    pub async fn send_asking(
        &self,
        mut request: WebRequest,
        attempts: Option<u32>,
        may_follow: MayFollow<'_>,
    ) -> Result<WebResponse, WebError> {
        for (name, value) in &self.config.headers {
            if !request.headers.contains_key(name) {
                request.headers.append(name.clone(), value.clone());
            }
        }
        let attempts = attempts.unwrap_or(self.config.attempts);
        let until = moment::from_now(self.config.timeout);
        let all_tries = self.try_until(&request, attempts, until, may_follow);
        timeout_at(until, all_tries).await.unwrap_or_else(|_| {
            let seconds = self.config.timeout.as_secs_f64();
            Err(WebError::TimedOut { host: host_of(&request.url), seconds })
        })
    }

    async fn try_until(
        &self,
        request: &WebRequest,
        attempts: u32,
        until: Instant,
        may_follow: MayFollow<'_>,
    ) -> Result<WebResponse, WebError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut answer = self.try_once(request, may_follow).await;
            let (passes, asked) = match &mut answer {
                Ok(response) => {
                    response.tries = tries;
                    response.retry_after = retry::asked_pause(&response.headers, Timestamp::now());
                    (request.may_repeat() && retry::may_pass(response.status), response.retry_after)
                }
                Err(error) => (error.nothing_was_sent() || request.may_repeat() && error.may_pass(), None),
            };
            let pause = retry::pause(tries).max(asked.unwrap_or_default());
            // What cannot be tried in time is better said now.
            if !passes || tries >= attempts || moment::from_now(pause) >= until {
                return answer;
            }
            sleep(pause).await;
        }
    }

    /// Sends a request once to each server on its way.
    async fn try_once(
        &self,
        request: &WebRequest,
        may_follow: MayFollow<'_>,
    ) -> Result<WebResponse, WebError> {
        let mut hop = request.clone();
        for redirects in 0.. {
            let redirected = redirects > 0;
            let mut response = self.exchange(&hop, redirected).await?;
            let Some(next) = follow(&hop, response.status(), response.headers())? else {
                return self.finish(&hop, &mut response).await;
            };
            if redirects >= self.config.max_redirects {
                let limit = self.config.max_redirects;
                return Err(WebError::TooManyRedirects { limit, url: shown(&next.url).into() });
            }
            may_follow(&shown(&next.url)).await.map_err(|refused| WebError::NotPermitted {
                host: host_of(&hop.url),
                reason: refused.error,
            })?;
            hop = next;
        }
        unreachable!("the number of redirects is limited")
    }

    async fn exchange(&self, hop: &WebRequest, redirected: bool) -> Result<reqwest::Response, WebError> {
        let place = self.place(&hop.url, redirected).await?;
        let client = self.clients.get(place, self.config.proxy.as_ref())?;
        let mut builder = client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
        if !hop.body.is_empty() {
            builder = builder.body(hop.body.clone());
        }
        builder.send().await.map_err(|error| WebError::of(&host_of(&hop.url), &error, redirected))
    }

    async fn finish(
        &self,
        hop: &WebRequest,
        response: &mut reqwest::Response,
    ) -> Result<WebResponse, WebError> {
        let mut answer = WebResponse {
            url: shown(&hop.url),
            status: response.status(),
            headers: response.headers().clone(),
            body: Body::default(),
            tries: 1,
            retry_after: None,
        };
        match answer.body.read(response, self.config.max_response_bytes).await {
            Ok(()) => Ok(answer),
            Err(error) => {
                answer.body.cut = true;
                let reason = format!(
                    "the answer broke off after {} bytes: {}",
                    answer.body.bytes.len(),
                    super::error::cause(&error)
                );
                Err(WebError::Broken { host: host_of(&hop.url), reason, partial: Some(Box::new(answer)) })
            }
        }
    }

    /// Resolves a URL's host once and keeps the addresses that may be reached.
    async fn place(&self, url: &Url, redirected: bool) -> Result<Place, WebError> {
        let host = host_of(url);
        let port = url.port_or_known_default().unwrap_or_default();
        let bare = host.trim_matches(['[', ']']);
        let literal = bare.parse::<IpAddr>().ok();
        let mut addresses = match literal {
            Some(address) => vec![address],
            None if self.config.proxy.is_some() => Vec::new(),
            None => self.config.resolver.resolve(bare).await.unwrap_or_default(),
        };
        if addresses.is_empty() && self.config.proxy.is_none() {
            return Err(WebError::UnknownHost { host });
        }
        let found = addresses.len();
        addresses.retain(|address| self.config.policy.allows(bare, *address, port));
        if addresses.len() < found && addresses.is_empty() {
            return Err(WebError::Refused { host, redirected });
        }
        addresses.sort_unstable();
        addresses.dedup();
        Ok(Place { https: url.scheme() == "https", host, port, addresses })
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

impl fmt::Debug for WebClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebClient").field("config", &self.config).finish_non_exhaustive()
    }
}
