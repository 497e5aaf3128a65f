//! The session at a server over streamable HTTP, which is begun anew when the server has forgotten it.
//!
//! The protocol's library would do so too, but holds back all other requests meanwhile, and forgets what the server said.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use reqwest::header::HeaderValue;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, InitializedNotification, JsonRpcMessage, ServerResult,
    },
    transport::streamable_http_client::StreamableHttpError,
};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    handler::OnToolsChanged,
    http_client::{HttpClient, Outcome},
    http_post::Post,
    request_error::RequestError,
    said::said,
    send_error,
};

/// The name of the header that says the protocol revision.
const VERSION: &str = "mcp-protocol-version";

/// How long a try that failed is taken for the next one's outcome too: of many calls one tries.
const SHARED: Duration = Duration::from_secs(3);

pub(super) type SessionId = Option<Arc<str>>;

/// What all requests over one link know of its session.
#[derive(Clone)]
pub(super) struct HttpSession(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Counts the sessions that were begun anew.
    count: watch::Sender<u64>,
    one_at_a_time: tokio::sync::Mutex<()>,
    on_renewed: OnToolsChanged,
    patience: Duration,
}

#[derive(Default)]
struct State {
    /// What the session began with.
    start: Option<ClientJsonRpcMessage>,
    /// The session in the place of the one that the protocol's library knows.
    renewed: Option<SessionId>,
    failed: Option<(Instant, RequestError)>,
    /// The number of the session whose stream was opened last.
    listened_to: Option<u64>,
}

impl HttpSession {
    /// `on_renewed` is called whenever a session was begun anew, which may take up to `patience`.
    pub(super) fn new(on_renewed: OnToolsChanged, patience: Duration) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            count: watch::Sender::new(0),
            one_at_a_time: tokio::sync::Mutex::default(),
            on_renewed,
            patience,
        }))
    }

    /// The session of now and its number, where the library knows `first`.
    pub(super) fn now(&self, first: SessionId) -> (u64, SessionId) {
        let state = self.0.state.lock();
        (*self.0.count.borrow(), state.renewed.clone().unwrap_or(first))
    }

    /// Tells whether the stream that was opened last is one of the session with this number.
    pub(super) fn is_listened_to(&self, number: u64) -> bool {
        self.0.state.lock().listened_to == Some(number)
    }

    /// Takes note that a stream of the session with this number is open.
    pub(super) fn listens(&self, number: u64) {
        self.0.state.lock().listened_to = Some(number);
    }

    /// Takes note of the message with which a session begins.
    pub(super) fn note_start(&self, message: &ClientJsonRpcMessage) {
        self.0.state.lock().start = Some(message.clone());
    }

    /// Resolves when the session of now is no more.
    pub(super) fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut count = self.0.count.subscribe();
        async move {
            // Without a session there is nothing to wait for either.
            let _ = count.changed().await;
        }
    }

    /// Begins a new session in the place of the one with this number. All who come meanwhile share one try.
    pub(super) async fn renew(
        &self,
        number: u64,
        client: &HttpClient,
        post: &Post,
    ) -> Result<(), RequestError> {
        let _turn = self.0.one_at_a_time.lock().await;
        if *self.0.count.borrow() != number {
            return Ok(());
        }
        let start = {
            let state = self.0.state.lock();
            if let Some((_, error)) = state.failed.as_ref().filter(|(at, _)| at.elapsed() < SHARED) {
                return Err(error.clone());
            }
            let none = || RequestError::NotSent("it has no session any more".to_owned());
            state.start.clone().ok_or_else(none)?
        };
        let begun = timeout(self.0.patience, begin(client, post, start)).await;
        let begun = begun.unwrap_or_else(|_| {
            let seconds = self.0.patience.as_secs_f64();
            Err(RequestError::NotSent(format!("it did not answer within {seconds} s")))
        });
        match begun {
            Ok(session) => {
                {
                    let mut state = self.0.state.lock();
                    (state.renewed, state.failed) = (Some(session), None);
                    self.0.count.send_modify(|count| *count += 1);
                }
                (self.0.on_renewed)();
                Ok(())
            }
            Err(error) => {
                self.0.state.lock().failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

/// Begins a session as the first one was begun.
async fn begin(
    client: &HttpClient,
    post: &Post,
    start: ClientJsonRpcMessage,
) -> Result<SessionId, RequestError> {
    let lost = |error: StreamableHttpError<_>| send_error::of_posting(&error);
    let mut headers = post.headers.clone();
    let version = headers.remove(VERSION);
    let begin = Post { headers, ..post.clone() };
    let answer = client.begin(&begin, &start).await.map_err(lost)?;
    let answer: Outcome<_> = answer.expect_initialized().await;
    let (answer, session) = answer.map_err(lost)?;
    let agreed = match answer {
        JsonRpcMessage::Response(answer) => match answer.result {
            ServerResult::InitializeResult(result) => result.protocol_version,
            _ => return Err(RequestError::NotSent("its answer to `initialize` is none".to_owned())),
        },
        JsonRpcMessage::Error(error) => {
            return Err(match RequestError::from(error.error) {
                RequestError::Refused(words) => RequestError::Refused(said(&words)),
                ours => ours,
            });
        }
        _ => return Err(RequestError::NotSent("its answer to `initialize` is none".to_owned())),
    };
    let session: SessionId = session.map(Arc::from);
    let agreed = HeaderValue::from_str(agreed.as_str()).ok();
    if agreed.is_none() || version.as_ref().is_some_and(|version| Some(version) != agreed.as_ref()) {
        // All that was agreed on is to be agreed on again: by a new connection.
        return Err(RequestError::NotSent("it speaks another revision of the protocol now".to_owned()));
    }
    let ready = ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(
        InitializedNotification::default(),
    ));
    client.notify(post, ready, session.clone()).await.map_err(lost)?;
    Ok(session)
}
