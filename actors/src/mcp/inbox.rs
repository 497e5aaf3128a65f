//! What a server sends: one JSON-RPC message a line, of which none is trusted.

use std::io;

use rmcp::model::RequestId;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt},
    task::consume_budget,
};

pub(super) use super::exact::Incoming;
use super::{answer_id::AnswerId, exact, frames::Frames, request_error::RequestError};

/// How long a line that is too large may become before it counts as one without end, in bytes: twice the usual bound of a
/// message. To pass over it takes a fraction of a second.
const LONGEST: usize = 128 << 20;

/// How large the room for a line may stay when the line is read: few are larger.
const KEPT: usize = 256 * 1024;

/// Reads messages. Lines that are no messages are passed over; an answer that is too large or cannot be read ends its own
/// call, not the link.
pub(super) struct Inbox<R> {
    read: R,
    line: Vec<u8>,
    /// What is left of a line that was no single message.
    frames: Option<Frames>,
    /// The rest of a line that is too large.
    skipping: Option<Skipped>,
    largest: usize,
}

struct Skipped {
    id: AnswerId,
    answered: bool,
    bytes: usize,
}

impl<R: AsyncBufRead + Unpin> Inbox<R> {
    pub(super) fn new(read: R, largest: usize) -> Self {
        Self { read, line: Vec::new(), frames: None, skipping: None, largest }
    }

    /// Takes what has arrived of the current line. An error is the end of the stream: of the kind `InvalidData`, when
    /// it sends a line without end.
    ///
    /// The service drops this future whenever it has something to send, so nothing may be in it across an await.
    pub(super) async fn advance(&mut self) -> io::Result<Option<Incoming>> {
        if self.frames.is_some() {
            // There may be millions of objects in a line.
            consume_budget().await;
        }
        if let Some(frames) = &mut self.frames {
            let message = frames.next();
            if message.is_none() {
                self.frames = None;
            }
            return Ok(message.flatten());
        }
        let chunk = self.read.fill_buf().await?;
        if chunk.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |at| at + 1);
        if self.skipping.is_none() && self.line.len() + taken > self.largest {
            let mut id = AnswerId::default();
            let line = std::mem::take(&mut self.line);
            id.feed(&line);
            self.skipping = Some(Skipped { id, answered: false, bytes: line.len() });
        }
        let mut message = None;
        if let Some(skipped) = &mut self.skipping {
            skipped.bytes = skipped.bytes.saturating_add(taken);
            if !skipped.answered {
                skipped.id.feed(&chunk[..taken]);
                let reason = || format!("its answer is larger than {} bytes", self.largest);
                message = skipped.id.found().map(|id| refusal(id, reason()));
                skipped.answered = message.is_some();
            }
            if end.is_some() {
                self.skipping = None;
            } else if skipped.bytes > self.largest.max(LONGEST) && message.is_none() {
                let endless = format!("it sent {} bytes without the end of a line", skipped.bytes);
                return Err(io::Error::new(io::ErrorKind::InvalidData, endless));
            }
        } else {
            self.line.extend_from_slice(&chunk[..taken]);
            if end.is_some() {
                match exact::read(&self.line) {
                    Ok(read) => message = Some(read),
                    Err(_) => self.frames = Some(Frames::new(std::mem::take(&mut self.line))),
                }
                self.line.clear();
                self.line.shrink_to(KEPT);
            }
        }
        self.read.consume(taken);
        Ok(message)
    }
}

/// What ends a call in the place of the answer that the server sent.
pub(super) fn refusal(id: RequestId, reason: String) -> Incoming {
    RequestError::Lost(reason).in_place_of_answer(id)
}
