//! The HTTP client under streamable HTTP. Requests are ours, so that each ends with what became of it, its numbers go out
//! and come back as they were written, and a session that the server has forgotten is begun anew; the rest is the
//! library's.

use std::{collections::HashMap, future::Future, sync::Arc};

use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use reqwest::{
    Client, StatusCode,
    header::{HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcRequest},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        StreamableHttpResponseLimits,
    },
};
use sse_stream::Sse;

use super::{
    exact,
    http_post::{Post, Posted},
    http_session::{HttpSession, SessionId},
    request_error::RequestError,
    send_error::{carried, of_posting},
};

pub(super) type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) client: Client,
    pub(super) session: HttpSession,
    /// Whether the server is told that a session has ended.
    pub(super) terminates: bool,
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: SessionId,
        auth: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Outcome<StreamableHttpPostResponse>> + Send + '_ {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, auth, headers, limits)
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: SessionId,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Outcome<StreamableHttpPostResponse> {
        let post = Post { uri, auth, headers, limits };
        if let JsonRpcMessage::Request(request) = &message {
            return self.ask(&post, &message, request, session).await;
        }
        let (_, session) = self.session.now(session);
        self.notify(&post, message, session).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        match self.session.now(Some(session)) {
            (_, Some(session)) if self.terminates => {
                self.client.delete_session(uri, session, auth, headers).await
            }
            _ => Ok(()),
        }
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session: SessionId,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Outcome<Events>> + Send + '_ {
        let largest = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest)
    }

    /// Opens the stream on which the server says what belongs to no request. Streams of requests are resumed where they
    /// are read.
    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: SessionId,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Outcome<Events> {
        let over = self.session.over();
        let (number, session) = self.session.now(session);
        // Another session has other events.
        let last_event = last_event.filter(|_| self.session.is_listened_to(number));
        let opened =
            self.client.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest);
        let events = opened.await?;
        self.session.listens(number);
        Ok(events.map_ok(kept_exact).take_until(over).boxed())
    }
}

impl HttpClient {
    /// Sends a request. Where the server refuses it and may not know the session, one is begun anew, and the request sent
    /// again, once.
    async fn ask(
        &self,
        post: &Post,
        message: &ClientJsonRpcMessage,
        request: &JsonRpcRequest<ClientRequest>,
        session: SessionId,
    ) -> Outcome<StreamableHttpPostResponse> {
        if matches!(request.request, ClientRequest::InitializeRequest(_)) {
            self.session.note_start(message);
        }
        let (number, now) = self.session.now(session.clone());
        let (status, refusal) = match post.send(&self.client, message, request, now).await? {
            Posted::Answered(answer) => return Ok(answer),
            Posted::Forgotten { status, refusal } => (status, refusal),
        };
        if let Err(error) = self.session.renew(number, self, post).await {
            return Err(carried(not_renewed(status, &refusal, &error)));
        }
        let (_, now) = self.session.now(session);
        match post.send(&self.client, message, request, now).await? {
            Posted::Answered(answer) => Ok(answer),
            Posted::Forgotten { refusal, .. } => Err(carried(refusal)),
        }
    }

    /// Sends the message with which a session begins.
    pub(super) async fn begin(
        &self,
        post: &Post,
        start: &ClientJsonRpcMessage,
    ) -> Outcome<StreamableHttpPostResponse> {
        let JsonRpcMessage::Request(request) = start else {
            return Err(carried(RequestError::NotSent("it has no session".to_owned())));
        };
        match post.send(&self.client, start, request, None).await? {
            Posted::Answered(answer) => Ok(answer),
            Posted::Forgotten { refusal, .. } => Err(carried(refusal)),
        }
    }

    /// Sends what is no request.
    pub(super) async fn notify(
        &self,
        post: &Post,
        message: ClientJsonRpcMessage,
        session: SessionId,
    ) -> Outcome<StreamableHttpPostResponse> {
        let is_ready = matches!(
            &message,
            JsonRpcMessage::Notification(notification)
                if matches!(notification.notification, ClientNotification::InitializedNotification(_))
        );
        let Post { uri, auth, headers, limits } = post.clone();
        let told =
            self.client.post_message_with_response_limits(uri, message, session, auth, headers, limits);
        match told.await {
            // It would end the connection. The first request says better whether the server can be used.
            Ok(_) if is_ready => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) if is_ready && !wants_login(&error) => {
                let reason = of_posting(&error);
                tracing::debug!(%reason, "an MCP server does not take note that its client is ready");
                Ok(StreamableHttpPostResponse::Accepted)
            }
            told => told,
        }
    }
}

/// Ends a request with the error that kept it from being answered. What opens a connection fails as a whole.
pub(super) fn ended(
    message: &ClientJsonRpcMessage,
    error: StreamableHttpError<reqwest::Error>,
) -> Outcome<StreamableHttpPostResponse> {
    match message {
        JsonRpcMessage::Request(request)
            if !matches!(
                request.request,
                ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
            ) =>
        {
            let answer = of_posting(&error).in_place_of_answer(request.id.clone());
            Ok(StreamableHttpPostResponse::Json(answer, None))
        }
        _ => Err(error),
    }
}

fn wants_login(error: &StreamableHttpError<reqwest::Error>) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => true,
        StreamableHttpError::HttpStatus(error) => error.status == StatusCode::UNAUTHORIZED.as_u16(),
        StreamableHttpError::Client(error) => error.status() == Some(StatusCode::UNAUTHORIZED),
        _ => false,
    }
}

/// What became of a request that a server refused, and that could not be sent again in a new session.
fn not_renewed(status: StatusCode, refusal: &RequestError, error: &RequestError) -> RequestError {
    let reason = format!("{refusal}; a new session could not be begun: {error}");
    match error {
        RequestError::NotSent(_) => RequestError::NotSent(reason),
        // A session that is gone needs a new connection.
        _ if status == StatusCode::NOT_FOUND => RequestError::NotSent(reason),
        RequestError::NotRun { retry_after, .. } => {
            RequestError::NotRun { reason, retry_after: *retry_after }
        }
        RequestError::Lost(_) | RequestError::Refused(_) => {
            RequestError::NotRun { reason, retry_after: None }
        }
    }
}

/// Lets numbers through that the library would not keep.
fn kept_exact(event: Sse) -> Sse {
    match event.data.as_deref().and_then(exact::rewritten) {
        Some(data) => Sse { data: Some(data), ..event },
        None => event,
    }
}
