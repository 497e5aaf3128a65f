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
    model::{ClientJsonRpcMessage, JsonRpcMessage},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};

use super::{
    http_client::{Events, Headers, HttpClient, Outcome, ended},
    login::{Challenge, Identity, dpop::wants_nonce},
    request_error::RequestError,
};

/// How often somebody is sent to log in for one request.
pub(super) const MOST_LOGINS: usize = 3;

/// How often one request is sent again with a nonce that the server wants in its proof.
const MOST_NONCES: usize = 2;

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

/// Why a request was not answered: what became of it, and, where somebody was to log in for it, why nobody did.
struct Unsent {
    error: StreamableHttpError<reqwest::Error>,
    reason: Option<String>,
}

impl LoginClient {
    /// Sends a request with our token; what the server refuses for want of a better one is sent again with that. `send`
    /// gets the token, or headers that show it.
    async fn send<T, F>(
        &self,
        (method, uri): (&str, &str),
        auth: Option<String>,
        headers: Headers,
        send: impl Fn(Option<String>, Headers) -> F,
    ) -> Result<T, Unsent>
    where
        F: Future<Output = Outcome<T>>,
    {
        let lost = |error| Unsent { error, reason: None };
        let Some(entry) = &self.entry else { return send(auth, headers).await.map_err(lost) };
        let (mut logins, mut nonces) = (0, 0);
        loop {
            let shown = entry.identity.token().await;
            let (token, with_token) = entry.identity.show(shown.as_ref(), (method, uri), headers.clone());
            let error = match send(token, with_token).await {
                Ok(answer) => {
                    entry.identity.accept();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            if let Some(shown) = &shown
                && nonces < MOST_NONCES
                && wants_a_nonce(&error)
                && entry.identity.ask_for_nonce(&self.http.client, uri, shown, headers.clone()).await
            {
                nonces += 1;
                continue;
            }
            let Some(challenge) = challenge_in(&error, shown.map(|shown| shown.text)) else {
                return Err(lost(error));
            };
            if !entry.waits.load(Ordering::Relaxed) {
                *entry.wanted.lock() = Some(challenge);
                return Err(lost(error));
            }
            logins += 1;
            if logins > MOST_LOGINS {
                return Err(lost(error));
            }
            if let Err(reason) = entry.identity.log_in(challenge).await {
                tracing::warn!(reason, "MCP login");
                return Err(Unsent { error, reason: Some(reason) });
            }
        }
    }
}

fn wants_a_nonce(error: &StreamableHttpError<reqwest::Error>) -> bool {
    matches!(error, StreamableHttpError::AuthRequired(wanted) if wants_nonce(&wanted.www_authenticate_header))
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
        let post = |token, headers| {
            let (uri, message) = (uri.clone(), message.clone());
            self.http.post_message_with_response_limits(uri, message, session.clone(), token, headers, limits)
        };
        let sent = self.send(("POST", &uri), auth, headers, post).await;
        sent.or_else(|unsent| match (unsent.reason, &message) {
            (Some(reason), JsonRpcMessage::Request(request)) => {
                let not_run = RequestError::NotRun { reason, retry_after: None };
                Ok(StreamableHttpPostResponse::Json(not_run.in_place_of_answer(request.id.clone()), None))
            }
            _ => ended(&message, unsent.error),
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        let (token, headers) = match &self.entry {
            Some(entry) => {
                let shown = entry.identity.token().await;
                entry.identity.show(shown.as_ref(), ("DELETE", &uri), headers)
            }
            None => (auth, headers),
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
        let get = |token, headers| {
            let (uri, session, last_event) = (uri.clone(), session.clone(), last_event.clone());
            self.http.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, largest)
        };
        self.send(("GET", &uri), auth, headers, get).await.map_err(|unsent| unsent.error)
    }
}
