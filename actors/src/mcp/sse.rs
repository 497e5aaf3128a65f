//! Servers that are reached by HTTP with server-sent events, as the protocol had it before streamable HTTP: one long
//! answer carries what the server says, and each message to it is a request of its own.

use std::{
    io::{self, Cursor},
    sync::Arc,
    time::Duration,
};

use futures::{Stream, StreamExt, stream::BoxStream};
use reqwest::{
    Response, Url,
    header::{ACCEPT, CONTENT_TYPE, LOCATION},
};
use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt},
    time::timeout_at,
};
use tokio_util::io::StreamReader;

use super::{
    exact,
    http::{Address, MOST_REDIRECTS},
    http_head::{self, Head, media_type},
    inbox::{Inbox, Incoming},
    request_error::RequestError,
    said::said,
    send_error,
};
use crate::moment;

/// What is said of a server that may be of the other kind.
const NEWER: &str = "if it speaks streamable HTTP, configure it with the type `http`";

/// The longest address for messages that a server may give, in bytes, with its type.
const LONGEST_ADDRESS: u64 = 8 * 1024;

type Lines = StreamReader<BoxStream<'static, io::Result<Cursor<Vec<u8>>>>, Cursor<Vec<u8>>>;

/// The long answer of a server, and where messages to it go.
pub(super) struct EventLink {
    inbox: Inbox<Lines>,
    address: Arc<Address>,
    messages: Url,
}

impl EventLink {
    /// Asks for the long answer and waits until it says where messages go, both for at most `patience`.
    pub(super) async fn open(
        address: Address,
        largest: usize,
        patience: Duration,
    ) -> Result<Self, RequestError> {
        let until = moment::from_now(patience);
        let answer = events(&address).await?;
        let mut lines = lines(answer.bytes_stream());
        let (mut to, mut kind) = (String::new(), String::new());
        let reading = async {
            let mut first = (&mut lines).take(LONGEST_ADDRESS);
            first.read_line(&mut to).await?;
            first.read_line(&mut kind).await
        };
        let not_said = |text: &str| {
            RequestError::NotSent(format!(
                "it opened an event stream, but {text} where messages go, which older servers with server-sent \
                 events say first, in an event of the type `endpoint`"
            ))
        };
        match timeout_at(until, reading).await {
            Err(_) => return Err(not_said(&format!("did not say within {} s", patience.as_secs_f64()))),
            Ok(Err(_)) => return Err(not_said("it broke before it said")),
            Ok(Ok(_)) if !to.ends_with('\n') => return Err(not_said("it ended before it said")),
            Ok(Ok(_)) if !kind.ends_with('\n') => return Err(not_said("did not say in few bytes")),
            Ok(Ok(_)) => {}
        }
        let (to, kind) = (to.trim(), kind.trim());
        if kind != "endpoint" {
            let kind =
                if kind.is_empty() { "no type".to_owned() } else { format!("the type `{}`", said(kind)) };
            return Err(not_said(&format!("its first event has {kind} and does not say")));
        }
        let messages = address.url.join(to).map_err(|_| {
            RequestError::NotSent(format!("it says that messages go to {:?}, which is no address", said(to)))
        })?;
        // Messages carry the headers, which are for this server alone.
        if messages.origin() != address.url.origin() {
            let other = messages.origin().ascii_serialization();
            let reason = format!("it sends messages to another server, {}, which gets none", said(&other));
            return Err(RequestError::NotSent(reason));
        }
        Ok(Self { inbox: Inbox::new(lines, largest), address: Arc::new(address), messages })
    }
}

/// Asks for the long answer. Nothing but a question is sent, so every redirect to the same server is followed.
async fn events(address: &Address) -> Result<Response, RequestError> {
    let mut url = address.url.clone();
    for _ in 0..MOST_REDIRECTS {
        let request = address.client.get(url.clone()).headers(address.headers.clone());
        let answer = request.header(ACCEPT, "text/event-stream").send().await;
        let answer = answer.map_err(|error| send_error::of(&error))?;
        let next = answer.headers().get(LOCATION).and_then(|to| answer.url().join(to.to_str().ok()?).ok());
        match next.filter(|next| answer.status().is_redirection() && next.origin() == url.origin()) {
            Some(next) => url = next,
            None if !answer.status().is_success() => {
                let may_be_newer = matches!(answer.status().as_u16(), 400 | 404..=406);
                let refusal = http_head::refusal(answer).await;
                return Err(if may_be_newer {
                    RequestError::NotSent(format!("{refusal} ({NEWER})"))
                } else {
                    refusal
                });
            }
            None if media_type(answer.headers()) != "text/event-stream" => {
                let misfit = Head::of(&answer).misfit();
                return Err(RequestError::NotSent(format!("{misfit} ({NEWER})")));
            }
            None => return Ok(answer),
        }
    }
    Err(RequestError::NotSent("it redirects in circles".to_owned()))
}

impl Transport<RoleClient> for EventLink {
    type Error = RequestError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), RequestError>> + Send + 'static {
        let (address, messages) = (self.address.clone(), self.messages.clone());
        async move {
            let body = exact::frame(&message).map_err(|error| RequestError::NotSent(error.to_string()))?;
            let request = address.client.post(messages).headers(address.headers.clone());
            let sent = request.header(CONTENT_TYPE, "application/json").body(body).send().await;
            match sent {
                Ok(answer) if answer.status().is_success() => Ok(()),
                Ok(answer) => Err(http_head::refusal(answer).await),
                Err(error) => Err(send_error::of(&error)),
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            match self.inbox.advance().await {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), RequestError> {
        // The long answer ends with this link.
        Ok(())
    }
}

/// The data of events, one event a line.
fn lines<C: AsRef<[u8]>>(chunks: impl Stream<Item = reqwest::Result<C>> + Send + 'static) -> Lines {
    let mut events = Events::default();
    let lines = chunks.map(move |chunk| match chunk {
        Ok(chunk) => Ok(Cursor::new(events.feed(chunk.as_ref()))),
        Err(error) => Err(io::Error::other(error)),
    });
    // An empty piece would read as the end.
    let pieces = lines.filter(|piece| {
        let is_some = piece.as_ref().map_or(true, |piece| !piece.get_ref().is_empty());
        async move { is_some }
    });
    StreamReader::new(pieces.boxed())
}

/// How much of a line is kept that says the type of the first event.
const LONGEST_KIND: usize = 256;

/// Takes events apart, piece by piece, and keeps nothing of them: the first one says where messages go, and its type
/// follows on a line; the data of all others are messages, or are passed over by whoever reads them.
#[derive(Default)]
struct Events {
    line: Line,
    /// The event has data already.
    has_data: bool,
    after_return: bool,
    first: First,
}

/// What is known of the first event with data.
#[derive(Default)]
struct First {
    is_over: bool,
    line: Vec<u8>,
    kind: Vec<u8>,
}

impl First {
    fn feed(&mut self, byte: u8) {
        if !self.is_over && self.line.len() < LONGEST_KIND {
            self.line.push(byte);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(kind) = line.strip_prefix(b"event:") {
            self.kind = kind.trim_ascii().to_vec();
        }
    }

    /// Ends an event, which had data or had none.
    fn end_event(&mut self, had_data: bool, data: &mut Vec<u8>) {
        let kind = std::mem::take(&mut self.kind);
        if had_data && !std::mem::replace(&mut self.is_over, true) {
            data.extend_from_slice(&kind);
            data.push(b'\n');
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Line {
    /// So many bytes of the line are like a field of data.
    Field(usize),
    #[default]
    Begin,
    /// After the colon.
    Colon,
    Data,
    Other,
}

impl Events {
    fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut data = Vec::with_capacity(chunk.len());
        chunk.iter().for_each(|byte| self.step(*byte, &mut data));
        data
    }

    fn step(&mut self, byte: u8, data: &mut Vec<u8>) {
        const FIELD: &[u8] = b"data";
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        if !matches!(byte, b'\r' | b'\n') {
            self.first.feed(byte);
        }
        match (byte, self.line) {
            (b'\n', _) if after_return => {}
            (b'\r' | b'\n', Line::Begin) => {
                let had_data = std::mem::take(&mut self.has_data);
                if had_data {
                    data.push(b'\n');
                }
                self.first.end_event(had_data, data);
            }
            (b'\r' | b'\n', _) => {
                self.line = Line::Begin;
                self.first.end_line();
            }
            (b'd', Line::Begin) => self.line = Line::Field(1),
            (b':', Line::Field(4)) => {
                // Several lines of data make one text; in JSON, a space does as well as a line end.
                if std::mem::replace(&mut self.has_data, true) {
                    data.push(b' ');
                }
                self.line = Line::Colon;
            }
            (_, Line::Field(at)) if FIELD.get(at) == Some(&byte) => self.line = Line::Field(at + 1),
            (b' ', Line::Colon) => self.line = Line::Data,
            (_, Line::Colon | Line::Data) => {
                self.line = Line::Data;
                data.push(byte);
            }
            (_, Line::Field(_) | Line::Begin | Line::Other) => self.line = Line::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_each_event_becomes_a_line_however_it_is_cut() {
        let stream = concat!(
            "event: endpoint\r\ndata: /messages?id=1\r\n\r\n",
            ": ping - 2026\r\n\r\n",
            "event: message\ndata: {\"a\": \"data: x\"}\n\n",
            "data:{\"b\":\ndata: 1}\rid: 7\rretry: 10\r\r",
            "database: no\ndat\n\nevent: cut\ndata: half"
        );
        let expected = "/messages?id=1\nendpoint\n{\"a\": \"data: x\"}\n{\"b\": 1}\nhalf";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let read: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|chunk| events.feed(chunk)).collect();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "in pieces of {size}");
        }
    }
}
