//! Servers that are reached by HTTP with server-sent events, as the protocol had it before streamable HTTP: one long
//! answer carries what the server says, and each message to it is a request of its own.

use std::{
    io::{self, Cursor},
    sync::Arc,
};

use futures::{Stream, StreamExt, stream::BoxStream};
use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE},
};
use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use tokio::io::{AsyncBufReadExt, AsyncReadExt};
use tokio_util::io::StreamReader;

use super::{
    exact,
    http::Address,
    inbox::{Inbox, Incoming},
    request_error::RequestError,
    send_error,
    traffic::Traffic,
};

/// The longest address for messages that a server may give, in bytes.
const LONGEST_ADDRESS: u64 = 8 * 1024;

type Lines = StreamReader<BoxStream<'static, io::Result<Cursor<Vec<u8>>>>, Cursor<Vec<u8>>>;

/// The long answer of a server, and where messages to it go.
pub(super) struct EventLink {
    inbox: Inbox<Lines>,
    address: Arc<Address>,
    messages: Url,
    traffic: Arc<Traffic>,
}

impl EventLink {
    /// Asks for the long answer and waits until it says where messages go.
    pub(super) async fn open(
        address: Address,
        largest: usize,
        traffic: Arc<Traffic>,
    ) -> Result<Self, String> {
        let request = address.client.get(address.url.clone()).headers(address.headers.clone());
        let answer = request.header(ACCEPT, "text/event-stream").send().await;
        let answer = answer.map_err(|error| send_error::of(&error).to_string())?;
        if !answer.status().is_success() {
            return Err(send_error::of_status(answer.status()).to_string());
        }
        let mut lines = lines(answer.bytes_stream());
        let mut first = String::new();
        let read = (&mut lines).take(LONGEST_ADDRESS).read_line(&mut first).await;
        if read.is_err() || !first.ends_with('\n') {
            return Err("it does not say where messages go".to_owned());
        }
        let messages = address.url.join(first.trim()).ok();
        // Messages carry the headers, which are for this server alone.
        let messages = messages.filter(|messages| messages.origin() == address.url.origin());
        let messages = messages.ok_or("it sends messages to another server")?;
        Ok(Self { inbox: Inbox::new(lines, largest), address: Arc::new(address), messages, traffic })
    }
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
                Ok(answer) => Err(send_error::of_status(answer.status())),
                Err(error) => Err(send_error::of(&error)),
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            match self.inbox.advance().await {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(error) => {
                    if error.kind() == io::ErrorKind::InvalidData {
                        self.traffic.end(error.to_string());
                    }
                    return None;
                }
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

/// Takes events apart, piece by piece, and keeps nothing of them: the first one says where messages go, and the data
/// of all others are messages, or are passed over by whoever reads them.
#[derive(Default)]
struct Events {
    line: Line,
    /// The event has data already.
    has_data: bool,
    after_return: bool,
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
        match (byte, self.line) {
            (b'\n', _) if after_return => {}
            (b'\r' | b'\n', Line::Begin) => {
                if std::mem::take(&mut self.has_data) {
                    data.push(b'\n');
                }
            }
            (b'\r' | b'\n', _) => self.line = Line::Begin,
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
        let expected = "/messages?id=1\n{\"a\": \"data: x\"}\n{\"b\": 1}\nhalf";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let read: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|chunk| events.feed(chunk)).collect();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "in pieces of {size}");
        }
    }
}
