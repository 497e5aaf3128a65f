//! The HTTP client under streamable HTTP: the library's own, but for calls, whose numbers go out and come back as they
//! were written, and for lists of tools, one of which may be odd.

use std::{collections::HashMap, future::Future, sync::Arc};

use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::auth::WWWAuthenticateParams,
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
        StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};
use sse_stream::{Sse, SseStream};

use super::{exact, frames, inbox::refusal};

pub(super) type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) client: Client,
    /// Whether the server is told that a session has ended.
    pub(super) terminates: bool,
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
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
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Outcome<StreamableHttpPostResponse> {
        match &message {
            JsonRpcMessage::Request(request)
                if matches!(
                    request.request,
                    ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_)
                ) =>
            {
                let id = request.id.clone();
                let body = exact::frame(&message)?;
                let mut call = self.client.post(&*uri).body(body).headers(headers.into_iter().collect());
                if let Some(token) = auth {
                    call = call.bearer_auth(token);
                }
                self.post_call(call, id, session, limits).await
            }
            _ => {
                self.client
                    .post_message_with_response_limits(uri, message, session, auth, headers, limits)
                    .await
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        if !self.terminates {
            return Ok(());
        }
        self.client.delete_session(uri, session, auth, headers).await
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Outcome<Events>> + Send + '_ {
        let largest = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest)
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
        let opened =
            self.client.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest);
        Ok(opened.await?.map_ok(kept_exact).boxed())
    }
}

impl HttpClient {
    async fn post_call(
        &self,
        mut request: RequestBuilder,
        id: RequestId,
        session: Option<Arc<str>>,
        limits: StreamableHttpResponseLimits,
    ) -> Outcome<StreamableHttpPostResponse> {
        request = request.header(ACCEPT, "text/event-stream, application/json");
        request = request.header(CONTENT_TYPE, "application/json");
        if let Some(session) = &session {
            request = request.header("mcp-session-id", &**session);
        }
        let answer = request.send().await?;
        let status = answer.status();
        if let Some(challenge) = challenge(&answer) {
            return Err(challenge);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if status == StatusCode::ACCEPTED {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let kind = answer.headers().get(CONTENT_TYPE).cloned();
        let kind = kind.as_ref().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" if status.is_success() => {
                let events = events(answer, id, limits.max_sse_event_size);
                Ok(StreamableHttpPostResponse::Sse(events, None))
            }
            "application/json" => {
                let text = read(answer, limits.max_json_response_size).await?;
                match exact::read(&text) {
                    Ok(message) if status.is_success() => Ok(StreamableHttpPostResponse::Json(message, None)),
                    Ok(message @ JsonRpcMessage::Error(_)) => {
                        Ok(StreamableHttpPostResponse::Json(message, None))
                    }
                    Err(error) if status.is_success() => Err(error.into()),
                    _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
                }
            }
            _ if status.is_success() => {
                Err(StreamableHttpError::UnexpectedContentType(Some(kind.to_owned())))
            }
            _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }
}

/// What the server wants us to show first.
fn challenge(answer: &Response) -> Option<StreamableHttpError<reqwest::Error>> {
    let header = answer.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?.to_owned();
    match answer.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(header))),
        StatusCode::FORBIDDEN => {
            let scope = WWWAuthenticateParams::parse(&header, answer.url()).scope;
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(header, scope)))
        }
        _ => None,
    }
}

async fn read(mut answer: Response, largest: usize) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if text.len() + piece.len() > largest {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: largest });
        }
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("an event is too large")]
    TooLarge,
    #[error(transparent)]
    Broken(reqwest::Error),
}

/// The events in the answer to a call; one that is too large becomes the refusal of the call.
fn events(answer: Response, id: RequestId, largest: usize) -> Events {
    let mut size = EventSize::default();
    let pieces = answer.bytes_stream().map(move |piece| {
        let piece = piece.map_err(ReadError::Broken)?;
        if size.after(&piece) > largest { Err(ReadError::TooLarge) } else { Ok(piece) }
    });
    let events = SseStream::from_bytes_stream(pieces).map(move |event| match event {
        Ok(event) => Ok(kept_exact(event)),
        Err(SseError::Body(error)) if matches!(error.downcast_ref(), Some(ReadError::TooLarge)) => {
            Ok(event_of(&refusal(id.clone(), format!("its answer is larger than {largest} bytes"))))
        }
        Err(error) => Err(error),
    });
    events.boxed()
}

/// Lets numbers through that the library would not keep.
fn kept_exact(event: Sse) -> Sse {
    match event.data.as_deref().and_then(frames::rewritten) {
        Some(data) => Sse { data: Some(data), ..event },
        None => event,
    }
}

fn event_of(message: &ServerJsonRpcMessage) -> Sse {
    Sse { data: serde_json::to_string(message).ok(), ..Sse::default() }
}

/// How large the event under way is.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    is_in_line: bool,
    after_return: bool,
}

impl EventSize {
    /// Counts a piece and tells how large the largest event in it was so far.
    fn after(&mut self, piece: &[u8]) -> usize {
        let mut most = 0;
        for byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\r' | b'\n' => {
                    if !std::mem::take(&mut self.is_in_line) {
                        self.bytes = 0;
                    }
                }
                _ => {
                    self.is_in_line = true;
                    self.bytes += 1;
                    most = most.max(self.bytes);
                }
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_event_counts_all_its_lines_and_no_other_event() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!("data: 1{end}data: 2{end}{end}data: 3{end}{end}").repeat(3);
            for size in 1..stream.len() {
                let mut counted = EventSize::default();
                let most = stream.as_bytes().chunks(size).map(|piece| counted.after(piece)).max();
                assert_eq!(most, Some(14), "{end:?}, in pieces of {size}");
            }
        }
    }
}
