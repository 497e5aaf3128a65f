//! What a server sends: one JSON-RPC message a line, of which none is trusted.

use std::io;

use rmcp::{RoleClient, model::RequestId, service::RxJsonRpcMessage};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::{answer_id::AnswerId, exact, request_error::RequestError};

pub(super) type Incoming = RxJsonRpcMessage<RoleClient>;

/// Reads messages. Lines that are no messages are passed over; an answer that is too large or misshapen ends its own
/// call, not the link.
pub(super) struct Inbox<R> {
    read: R,
    line: Vec<u8>,
    /// The rest of a line that is too large.
    skipping: Option<Skipped>,
    largest: usize,
}

struct Skipped {
    id: AnswerId,
    answered: bool,
}

impl<R: AsyncBufRead + Unpin> Inbox<R> {
    pub(super) fn new(read: R, largest: usize) -> Self {
        Self { read, line: Vec::new(), skipping: None, largest }
    }

    /// Takes what has arrived of the current line. An error is the end of the stream.
    ///
    /// The service drops this future whenever it has something to send, so nothing may be in it across an await.
    pub(super) async fn advance(&mut self) -> io::Result<Option<Incoming>> {
        let chunk = self.read.fill_buf().await?;
        if chunk.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |at| at + 1);
        if self.skipping.is_none() && self.line.len() + taken > self.largest {
            let mut id = AnswerId::default();
            id.feed(&std::mem::take(&mut self.line));
            self.skipping = Some(Skipped { id, answered: false });
        }
        let mut message = None;
        if let Some(skipped) = &mut self.skipping {
            skipped.id.feed(&chunk[..taken]);
            if let Some(id) = skipped.id.found()
                && !skipped.answered
            {
                skipped.answered = true;
                message = Some(refusal(id, format!("its answer is larger than {} bytes", self.largest)));
            }
            if end.is_some() {
                self.skipping = None;
            }
        } else {
            self.line.extend_from_slice(&chunk[..taken]);
            if end.is_some() {
                message = parse(&self.line);
                self.line.clear();
            }
        }
        self.read.consume(taken);
        Ok(message)
    }
}

fn parse(line: &[u8]) -> Option<Incoming> {
    let misshapen = match exact::read(line) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    tracing::debug!(%misshapen, "an MCP server sent a line that is no message");
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("method").is_some() {
        return None;
    }
    let id = serde_json::from_value(value.get("id")?.clone()).ok()?;
    Some(refusal(id, "its answer is not what the protocol allows".to_owned()))
}

/// What ends a call in the place of the answer that the server sent.
pub(super) fn refusal(id: RequestId, reason: String) -> Incoming {
    RequestError::Lost(reason).in_place_of_answer(id)
}
