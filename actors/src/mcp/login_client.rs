//! The HTTP client of a server at which somebody may have to log in.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use reqwest::StatusCode;
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};

use super::{
    http_client::{Events, Headers, HttpClient, Outcome, ended},
    login::{Challenge, Identity},
};

/// How often somebody is sent to log in for one request.
pub(super) const MOST_LOGINS: usize = 3;

/// A connection's hold on who we are.
#[derive(Clone)]
pub(super) struct Entry {
    identity: Arc<Identity>,
    /// Requests wait for a login. Not while a connection is opened: the protocol's library takes silence for an old
    /// server.
    waits: Arc<AtomicBool>,
    /// What the server wanted meanwhile.
    wanted: Arc<Mutex<Option<Challenge>>>,
}

impl Entry {
    pub(super) fn new(identity: Arc<Identity>) -> Self {
        Self { identity, waits: Arc::default(), wanted: Arc::default() }
    }

    /// The connection is open.
    pub(super) fn wait_from_now_on(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }

    /// Logs in, if that is why there is no connection; tells whether it was.
    pub(super) async fn log_in(&self) -> Result<bool, String> {
        let wanted = self.wanted.lock().take();
        match wanted {
            Some(challenge) => self.identity.log_in(challenge).await.map(|()| true),
            None => Ok(false),
        }
    }
}

#[derive(Clone)]
pub(super) struct LoginClient {
    pub(super) http: HttpClient,
    pub(super) entry: Option<Entry>,
}

impl LoginClient {
    /// Sends a request with our token; what the server refuses for want of a better one is sent again with that.
    async fn send<T, F>(&self, auth: Option<String>, send: impl Fn(Option<String>) -> F) -> Outcome<T>
    where
        F: Future<Output = Outcome<T>>,
    {
        let Some(entry) = &self.entry else { return send(auth).await };
        let mut logins = 0;
        loop {
            let token = entry.identity.token().await;
            let error = match send(token.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(challenge) = challenge_in(&error, token) else { return Err(error) };
            if !entry.waits.load(Ordering::Relaxed) {
                *entry.wanted.lock() = Some(challenge);
                return Err(error);
            }
            logins += 1;
            if logins > MOST_LOGINS {
                return Err(error);
            }
            if let Err(reason) = entry.identity.log_in(challenge).await {
                tracing::warn!(reason, "MCP login");
                return Err(error);
            }
        }
    }
}

fn challenge_in(error: &StreamableHttpError<reqwest::Error>, refused: Option<String>) -> Option<Challenge> {
    let unknown = Some(StatusCode::UNAUTHORIZED);
    match error {
        StreamableHttpError::AuthRequired(wanted) => {
            Some(Challenge { header: Some(wanted.www_authenticate_header.clone()), scope: None, refused })
        }
        StreamableHttpError::InsufficientScope(wanted) => Some(Challenge {
            header: Some(wanted.www_authenticate_header.clone()),
            scope: Some(wanted.required_scope.clone()?),
            refused,
        }),
        StreamableHttpError::HttpStatus(error) if StatusCode::from_u16(error.status).ok() == unknown => {
            Some(Challenge { header: None, scope: None, refused })
        }
        StreamableHttpError::Client(error) if error.status() == unknown => {
            Some(Challenge { header: None, scope: None, refused })
        }
        _ => None,
    }
}

impl StreamableHttpClient for LoginClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        let posting = self.post_message_with_response_limits(uri, message, session, auth, headers, limits);
        Box::pin(posting).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Outcome<StreamableHttpPostResponse> {
        let post = |token| {
            let (uri, message, headers) = (uri.clone(), message.clone(), headers.clone());
            self.http.post_message_with_response_limits(uri, message, session.clone(), token, headers, limits)
        };
        self.send(auth, post).await.or_else(|error| ended(&message, error))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        let token = match &self.entry {
            Some(entry) => entry.identity.token().await,
            None => auth,
        };
        self.http.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<Events> {
        let largest = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Outcome<Events> {
        let get = |token| {
            let (uri, session, last_event) = (uri.clone(), session.clone(), last_event.clone());
            let headers = headers.clone();
            self.http.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, largest)
        };
        self.send(auth, get).await
    }
}
