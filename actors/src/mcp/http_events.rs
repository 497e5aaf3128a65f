//! The events in the answer to a request over streamable HTTP. They end with the answer, or with what ends the request in
//! its place.

use std::time::Duration;

use futures::{StreamExt, stream};
use reqwest::{Client, Response, StatusCode};
use rmcp::{
    model::{RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::SseError,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio::time::sleep;

use super::{
    event_size::EventSize,
    exact,
    http_client::Events,
    http_head::{Head, media_type},
    http_post::{Post, foreign, is_same},
    http_session::SessionId,
    request_error::RequestError,
    said::said,
    send_error,
};

/// How often a stream that broke off is resumed in a row, without an event meanwhile.
const MOST_RESUMES: u32 = 5;

/// The pause before a stream is resumed, where the server asks for none; it doubles.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The events of one request.
pub(super) struct Answering {
    client: Client,
    post: Post,
    session: SessionId,
    id: RequestId,
    events: Option<Events>,
    /// Where a stream goes on that has broken off.
    last: Option<String>,
    pause: Option<Duration>,
    resumes: u32,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Waiting,
    /// The answer was passed on.
    Answered,
    /// And what ends the request if the library could not read the answer.
    Ending,
    Ended,
}

/// As much of a message as says what it is.
#[derive(Deserialize)]
struct Kind {
    id: Option<Value>,
    method: Option<IgnoredAny>,
    error: Option<Told>,
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    message: Value,
}

impl Answering {
    pub(super) fn new(client: &Client, post: &Post, session: SessionId, id: RequestId) -> Self {
        Self {
            client: client.clone(),
            post: post.clone(),
            session,
            id,
            events: None,
            last: None,
            pause: None,
            resumes: 0,
            state: State::Waiting,
        }
    }

    pub(super) fn events(mut self, answer: Response) -> Events {
        self.events = Some(self.read(answer));
        stream::unfold(self, |mut answering| async move {
            let event = answering.next().await?;
            Some((Ok(event), answering))
        })
        .boxed()
    }

    fn read(&self, answer: Response) -> Events {
        let largest = self.post.limits.max_sse_event_size;
        let mut size = EventSize::default();
        let pieces = answer.bytes_stream().map(move |piece| {
            let piece = piece.map_err(ReadError::Broken)?;
            if size.after(&piece) > largest { Err(ReadError::TooLarge) } else { Ok(piece) }
        });
        SseStream::from_bytes_stream(pieces).boxed()
    }

    async fn next(&mut self) -> Option<Sse> {
        match self.state {
            State::Waiting => {}
            State::Answered => {
                // Whoever asks for more could not read it.
                self.state = State::Ending;
                return Some(self.end("its answer is not what the protocol allows".to_owned()));
            }
            State::Ending => {
                // Read to its end, a connection can be used again.
                let events = self.events.as_mut()?;
                while let Some(Ok(_)) = events.next().await {}
                self.state = State::Ended;
                return None;
            }
            State::Ended => return None,
        }
        let mut broke = "the event stream ended before the answer came".to_owned();
        loop {
            let Some(events) = &mut self.events else {
                match self.resume(&broke).await {
                    Ok(events) => self.events = Some(events),
                    Err(reason) => return Some(self.give_up(RequestError::Lost(reason))),
                }
                continue;
            };
            match events.next().await {
                Some(Ok(event)) => {
                    if let Some(event) = self.judge(event) {
                        return Some(event);
                    }
                }
                Some(Err(SseError::Body(error))) => match error.downcast_ref() {
                    Some(ReadError::TooLarge) => {
                        let largest = self.post.limits.max_sse_event_size;
                        let reason = format!("its answer is larger than {largest} bytes");
                        return Some(self.give_up(RequestError::Lost(reason)));
                    }
                    Some(ReadError::Broken(error)) => {
                        let cause = send_error::cause(error);
                        broke = format!("the connection broke before the answer came{cause}");
                        self.events = None;
                    }
                    None => self.events = None,
                },
                Some(Err(error)) => {
                    let reason = format!("its events cannot be read: {}", said(&error.to_string()));
                    return Some(self.give_up(RequestError::Lost(reason)));
                }
                None => self.events = None,
            }
        }
    }

    /// Looks at an event. What comes back is passed on.
    fn judge(&mut self, mut event: Sse) -> Option<Sse> {
        if let Some(id) = event.id.take() {
            (self.last, self.resumes) = (Some(id), 0);
        }
        if let Some(millis) = event.retry.take() {
            self.pause = Some(Duration::from_millis(millis).min(LONGEST_PAUSE));
        }
        if !matches!(event.event.as_deref(), None | Some("" | "message")) {
            return None;
        }
        let data = event.data.as_deref().filter(|data| !data.trim().is_empty())?;
        let event = match exact::rewritten(data) {
            Some(data) => Sse { data: Some(data), ..event },
            None => event,
        };
        let data = event.data.as_deref()?;
        let kind: Kind = match serde_json::from_str(data) {
            Ok(kind) => kind,
            // Noise is passed over; the answer, which there is one of, is not.
            Err(_) if !data.trim_start().starts_with('{') || data.contains("\"method\"") => return None,
            Err(error) => {
                let reason = super::http_post::unreadable(data.as_bytes(), &error);
                return Some(self.give_up(RequestError::Lost(reason)));
            }
        };
        if kind.method.is_some() {
            return Some(event);
        }
        let id = kind.id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        match (id, kind.error) {
            (Some(id), _) if is_same(&id, &self.id) => {
                self.state = State::Answered;
                Some(event)
            }
            (Some(id), _) => Some(self.give_up(foreign(&id))),
            (None, Some(Told { message })) => {
                let words = message.as_str().map(said).unwrap_or_default();
                Some(self.give_up(RequestError::Refused(words)))
            }
            (None, None) => {
                Some(self.give_up(RequestError::Lost("its answer does not say to which request".to_owned())))
            }
        }
    }

    /// Asks for the events after the last one.
    async fn resume(&mut self, broke: &str) -> Result<Events, String> {
        let Some(last) = self.last.clone() else { return Err(broke.to_owned()) };
        loop {
            if self.resumes == MOST_RESUMES {
                return Err(format!("{broke}, and could not be had again"));
            }
            let pause = self.pause.unwrap_or(PAUSE.saturating_mul(2_u32.saturating_pow(self.resumes)));
            self.resumes += 1;
            sleep(pause).await;
            let mut headers = self.post.headers(&self.session, "text/event-stream");
            let Ok(last) = reqwest::header::HeaderValue::from_str(&last) else {
                return Err(broke.to_owned());
            };
            headers.insert("last-event-id", last);
            let mut asking = self.client.get(&*self.post.uri).headers(headers);
            if let Some(token) = &self.post.auth {
                asking = asking.bearer_auth(token);
            }
            let Ok(answer) = asking.send().await else { continue };
            let status = answer.status();
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                continue;
            }
            if status.is_success() && media_type(answer.headers()) == "text/event-stream" {
                return Ok(self.read(answer));
            }
            let refusal = Head::of(&answer).refusal("");
            return Err(format!("{broke}, and cannot be had again: {refusal}"));
        }
    }

    fn give_up(&mut self, error: RequestError) -> Sse {
        self.state = State::Ended;
        event_of(&error.in_place_of_answer(self.id.clone()))
    }

    fn end(&self, reason: String) -> Sse {
        event_of(&RequestError::Lost(reason).in_place_of_answer(self.id.clone()))
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("an event is too large")]
    TooLarge,
    #[error(transparent)]
    Broken(reqwest::Error),
}

fn event_of(message: &ServerJsonRpcMessage) -> Sse {
    Sse { data: serde_json::to_string(message).ok(), ..Sse::default() }
}
