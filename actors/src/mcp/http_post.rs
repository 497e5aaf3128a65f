//! One request to a server over streamable HTTP, and every way in which the server can end it.

use std::sync::Arc;

use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, JsonRpcRequest, RequestId,
        ServerJsonRpcMessage,
    },
    transport::{
        auth::WWWAuthenticateParams,
        streamable_http_client::{
            AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
            StreamableHttpPostResponse, StreamableHttpResponseLimits,
        },
    },
};

use super::{
    exact,
    http_client::{Headers, Outcome},
    http_events::Answering,
    http_head::{Head, error_body, media_type},
    http_session::SessionId,
    request_error::RequestError,
    said::said,
    send_error::{self, carried},
};

pub(super) const SESSION: &str = "mcp-session-id";

/// Where requests go and what goes with them.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) uri: Arc<str>,
    pub(super) auth: Option<String>,
    pub(super) headers: Headers,
    pub(super) limits: StreamableHttpResponseLimits,
}

/// What a server did with a request.
#[expect(clippy::large_enum_variant, reason = "it lives as shortly as the answer in it")]
pub(super) enum Posted {
    Answered(StreamableHttpPostResponse),
    /// It did nothing, as it may not know the session.
    Forgotten {
        status: StatusCode,
        refusal: RequestError,
    },
}

impl Post {
    /// The headers of a request, of which ours are ours.
    pub(super) fn headers(&self, session: &SessionId, accept: &'static str) -> HeaderMap {
        let mut headers: HeaderMap =
            self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = session.as_ref().and_then(|session| HeaderValue::from_str(session).ok()) {
            headers.insert(SESSION, session);
        }
        headers
    }

    /// Sends a request in a session and waits until the answer has begun.
    pub(super) async fn send(
        &self,
        client: &Client,
        message: &ClientJsonRpcMessage,
        request: &JsonRpcRequest<ClientRequest>,
        session: SessionId,
    ) -> Outcome<Posted> {
        let mut headers = self.headers(&session, "text/event-stream, application/json");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut sending = client.post(&*self.uri).body(exact::frame(message)?).headers(headers);
        if let Some(token) = &self.auth {
            sending = sending.bearer_auth(token);
        }
        let answer = sending.send().await?;
        let status = answer.status();
        if !status.is_success() {
            return self.refused(answer, request, session.is_some()).await;
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let status = status.as_u16();
            return Err(lost(format!(
                "it took the request and says that no answer will come (HTTP {status})"
            )));
        }
        let begun = answer.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match &*media_type(answer.headers()) {
            "text/event-stream" => {
                let answering = Answering::new(client, self, session, request.id.clone());
                Ok(Posted::Answered(StreamableHttpPostResponse::Sse(answering.events(answer), begun)))
            }
            "application/json" => {
                let text = whole(answer, self.limits.max_json_response_size).await?;
                let answer = read(&text, &request.id)?;
                Ok(Posted::Answered(StreamableHttpPostResponse::Json(answer, begun)))
            }
            _ => Err(carried(Head::of(&answer).misfit())),
        }
    }

    /// What it means that a server answered with an HTTP error.
    async fn refused(
        &self,
        answer: Response,
        request: &JsonRpcRequest<ClientRequest>,
        in_session: bool,
    ) -> Outcome<Posted> {
        if let Some(challenge) = challenge(&answer) {
            return Err(challenge);
        }
        let head = Head::of(&answer);
        let body = error_body(answer).await;
        let status = head.status;
        let error = match serde_json::from_str(&body) {
            Ok(JsonRpcMessage::Error(error)) => Some::<rmcp::model::JsonRpcError>(error),
            Ok::<ServerJsonRpcMessage, _>(_) | Err(_) => None,
        };
        let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_));
        if is_discovery && !in_session && is_unknown(status) {
            // So servers of before the revision with it say that they do not know it.
            let error = error.map_or_else(
                || ErrorData::new(ErrorCode::INVALID_REQUEST, head.refusal(&body).to_string(), None),
                |error| error.error,
            );
            let answer = JsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(Posted::Answered(StreamableHttpPostResponse::Json(answer, None)));
        }
        let own = error.filter(|error| error.id.as_ref().is_some_and(|id| is_same(id, &request.id)));
        if in_session && may_be_forgotten(status, own.as_ref().map(|own| &own.error)) {
            return Ok(Posted::Forgotten { status, refusal: head.refusal_in_session(&body) });
        }
        match own {
            Some(own) if !status.is_redirection() && !matches!(status.as_u16(), 401 | 403 | 429) => {
                let answer = JsonRpcMessage::error(own.error, Some(request.id.clone()));
                Ok(Posted::Answered(StreamableHttpPostResponse::Json(answer, None)))
            }
            _ => Err(carried(head.refusal(&body))),
        }
    }
}

fn is_unknown(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 429)
}

/// Tells whether a server may have refused a request because it does not know its session. What it says of the request
/// itself is no such thing.
fn may_be_forgotten(status: StatusCode, own: Option<&ErrorData>) -> bool {
    match (status, own) {
        (StatusCode::NOT_FOUND, Some(own)) => own.code != ErrorCode::METHOD_NOT_FOUND,
        (StatusCode::BAD_REQUEST, Some(own)) => own.message.to_ascii_lowercase().contains("session"),
        (StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST, None) => true,
        _ => false,
    }
}

/// Tells whether an answer is to the request `asked`. Some servers write its number as a text.
pub(super) fn is_same(id: &RequestId, asked: &RequestId) -> bool {
    match (id, asked) {
        (RequestId::String(text), RequestId::Number(number)) => text.parse() == Ok(*number),
        _ => id == asked,
    }
}

/// What the server wants us to show first.
fn challenge(answer: &Response) -> Option<StreamableHttpError<reqwest::Error>> {
    let header = answer.headers().get(WWW_AUTHENTICATE).and_then(|header| header.to_str().ok());
    match (answer.status(), header.map(str::to_owned)) {
        (StatusCode::UNAUTHORIZED, Some(header)) => {
            Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(header)))
        }
        (StatusCode::UNAUTHORIZED, None) => Some(HttpStatusError::new(401, None).into()),
        (StatusCode::FORBIDDEN, Some(header)) => {
            let scope = WWWAuthenticateParams::parse(&header, answer.url()).scope;
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(header, scope)))
        }
        _ => None,
    }
}

async fn whole(mut answer: Response, largest: usize) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(piece)) if text.len() + piece.len() > largest => {
                return Err(lost(format!("its answer is larger than {largest} bytes")));
            }
            Ok(Some(piece)) => text.extend_from_slice(&piece),
            Ok(None) => return Ok(text),
            Err(error) => {
                let cause = send_error::cause(&error);
                return Err(lost(format!("the connection broke in the middle of its answer{cause}")));
            }
        }
    }
}

/// Reads the answer to the request `asked`.
fn read(text: &[u8], asked: &RequestId) -> Outcome<ServerJsonRpcMessage> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(lost("its answer is empty".to_owned()));
    }
    let message = exact::read(text).map_err(|error| lost(unreadable(text, &error)))?;
    judged(message, asked).map_err(carried)
}

/// Why an answer cannot be read.
pub(super) fn unreadable(text: &[u8], error: &serde_json::Error) -> String {
    if serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() {
        return "its answer is not what the protocol allows".to_owned();
    }
    format!("its answer is no JSON: {}", said(&error.to_string()))
}

/// Passes the answer to the request `asked`, with its id; all else is no answer to it.
pub(super) fn judged(
    message: ServerJsonRpcMessage,
    asked: &RequestId,
) -> Result<ServerJsonRpcMessage, RequestError> {
    match message {
        JsonRpcMessage::Response(mut answer) if is_same(&answer.id, asked) => {
            answer.id = asked.clone();
            Ok(JsonRpcMessage::Response(answer))
        }
        JsonRpcMessage::Error(mut error) => match &error.id {
            Some(id) if is_same(id, asked) => {
                error.id = Some(asked.clone());
                Ok(JsonRpcMessage::Error(error))
            }
            Some(id) => Err(foreign(id)),
            // It could not tell which request it refuses; only one was sent.
            None => Err(RequestError::Refused(said(&error.error.message))),
        },
        JsonRpcMessage::Response(answer) => Err(foreign(&answer.id)),
        _ => Err(RequestError::Lost("it sent a message of its own in the place of an answer".to_owned())),
    }
}

pub(super) fn foreign(id: &RequestId) -> RequestError {
    RequestError::Lost(format!("its answer is to another request (id {})", said(&id.to_string())))
}

pub(super) fn lost(reason: String) -> StreamableHttpError<reqwest::Error> {
    carried(RequestError::Lost(reason))
}
