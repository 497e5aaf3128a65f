//! JSON-RPC over a child's pipes: one message a line.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ProtocolVersion, RequestId},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
    time::timeout,
};

use super::{
    exact,
    inbox::{Inbox, Incoming},
    request_error::RequestError,
    traffic::{Traffic, WENT_AWAY},
};

/// The id of the first question; all later ones are numbers.
const PROBE: &str = "probe";

/// How long a server may take nothing of what is written to it, at most: one that is up and does not work at a call reads
/// at once.
const LONGEST_STALL: Duration = Duration::from_secs(30);

/// What a server says to the revision without a handshake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Probed {
    /// It knows the question.
    Known,
    /// It does not, or says nothing.
    Unknown,
}

/// The two pipes of a server.
pub(super) struct Pipes<R, W> {
    inbox: Inbox<BufReader<R>>,
    write: Arc<Mutex<Option<W>>>,
    traffic: Arc<Traffic>,
    /// How long it may take nothing of what is written to it.
    patience: Duration,
}

impl<R: AsyncRead + Unpin, W> Pipes<R, W> {
    pub(super) fn new(
        read: R,
        write: W,
        largest: usize,
        traffic: Arc<Traffic>,
        connect_timeout: Duration,
    ) -> Self {
        let inbox = Inbox::new(BufReader::with_capacity(64 * 1024, read), largest);
        let patience = connect_timeout.min(LONGEST_STALL);
        Self { inbox, write: Arc::new(Mutex::new(Some(write))), traffic, patience }
    }

    /// Asks the server whether it speaks the revision without a handshake, and waits for an answer of any kind: it
    /// shows too that a server is up that takes its time to start.
    pub(super) async fn probe(&mut self, patience: Duration) -> Probed
    where
        W: AsyncWrite + Unpin,
    {
        let us = json!({
            "io.modelcontextprotocol/protocolVersion": ProtocolVersion::V_2026_07_28,
            "io.modelcontextprotocol/clientInfo": {"name": "toolyard", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let question =
            json!({"jsonrpc": "2.0", "id": PROBE, "method": "server/discover", "params": {"_meta": us}});
        let asking = async {
            if let Some(write) = &mut *self.write.lock().await {
                write.write_all(format!("{question}\n").as_bytes()).await?;
                write.flush().await?;
            }
            loop {
                match self.inbox.advance().await? {
                    Some(JsonRpcMessage::Response(answer)) if is_probe(&answer.id) => {
                        break Ok(Probed::Known);
                    }
                    Some(JsonRpcMessage::Error(error)) if error.id.as_ref().is_some_and(is_probe) => {
                        break Ok(Probed::Unknown);
                    }
                    // Nothing else is of use before the start.
                    _ => {}
                }
            }
        };
        let answered: Result<io::Result<Probed>, _> = timeout(patience, asking).await;
        answered.map_or(Probed::Unknown, |answer| answer.unwrap_or(Probed::Unknown))
    }
}

impl<R, W> Transport<RoleClient> for Pipes<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = RequestError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), RequestError>> + Send + 'static {
        let (pipe, traffic, patience) = (self.write.clone(), self.traffic.clone(), self.patience);
        async move {
            let mut line =
                exact::frame(&message).map_err(|error| RequestError::NotSent(error.to_string()))?;
            drop(message);
            line.push(b'\n');
            let mut pipe = tokio::select! {
                biased;
                pipe = pipe.lock() => pipe,
                () = traffic.ended() => return Err(RequestError::NotSent(ended(&traffic))),
            };
            let Some(write) = pipe.as_mut() else { return Err(RequestError::NotSent(ended(&traffic))) };
            let written = write_line(write, &line, &traffic, patience).await;
            if written.is_err() {
                // What follows the part of a line cannot be read.
                *pipe = None;
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            match self.inbox.advance().await {
                // It comes late when the server was slow; by now nobody waits for it.
                Ok(Some(message)) if answers_probe(&message) => {}
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
        // A writer that is stuck has been told, and ends at once.
        self.traffic.end(WENT_AWAY.to_owned());
        drop(self.write.lock().await.take());
        Ok(())
    }
}

fn ended(traffic: &Traffic) -> String {
    traffic.reason().unwrap_or("the connection is broken").to_owned()
}

/// Writes a line with its end. As long as the server takes of it, it may take its time.
async fn write_line<W: AsyncWrite + Unpin>(
    write: &mut W,
    line: &[u8],
    traffic: &Traffic,
    patience: Duration,
) -> Result<(), RequestError> {
    let mut at = 0;
    // Without the end of the line the message may be read, at the end of everything; without its last bracket never.
    let failed = |at: usize, reason: String| {
        if at + 1 < line.len() { RequestError::NotSent(reason) } else { RequestError::Lost(reason) }
    };
    while at < line.len() {
        let taken = tokio::select! {
            biased;
            taken = timeout(patience, write.write(&line[at..])) => taken,
            () = traffic.ended() => return Err(failed(at, ended(traffic))),
        };
        match taken {
            Ok(Ok(0) | Err(_)) => return Err(failed(at, ended(traffic))),
            Ok(Ok(taken)) => at += taken,
            // One that works at a call may read when it is done.
            Err(_) if traffic.is_at_work(u64::MAX) => {}
            Err(_) => {
                let seconds = patience.as_secs_f64();
                let reason =
                    format!("it stopped reading: it took nothing of what was sent to it for {seconds} s");
                traffic.end(reason.clone());
                return Err(failed(at, reason));
            }
        }
    }
    tokio::select! {
        biased;
        flushed = write.flush() => flushed.map_err(|_| RequestError::Lost(ended(traffic))),
        () = traffic.ended() => Err(RequestError::Lost(ended(traffic))),
    }
}

fn is_probe(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if **id == *PROBE)
}

fn answers_probe(message: &Incoming) -> bool {
    match message {
        JsonRpcMessage::Response(answer) => is_probe(&answer.id),
        JsonRpcMessage::Error(error) => error.id.as_ref().is_some_and(is_probe),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn pipes<R: AsyncRead + Unpin, W>(read: R, write: W, largest: usize) -> Pipes<R, W> {
        Pipes::new(read, write, largest, Arc::default(), Duration::from_mins(1))
    }

    async fn received(stream: &[u8], largest: usize) -> Vec<Incoming> {
        let mut pipes = pipes(stream, tokio::io::sink(), largest);
        let mut messages = Vec::new();
        while let Some(message) = pipes.receive().await {
            messages.push(message);
        }
        messages
    }

    fn error_of(message: &Incoming) -> (Value, String) {
        let value = serde_json::to_value(message).unwrap();
        (value["id"].clone(), value["error"]["message"].as_str().unwrap_or_default().to_owned())
    }

    #[tokio::test]
    async fn noise_between_messages_is_passed_over() {
        let stream = b"hello\n\xff\xfe\n\n{\"a\":1}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n{\"cut";
        let messages = received(stream, 1000).await;
        assert_eq!(messages.len(), 1);
        assert_eq!(serde_json::to_value(&messages[0]).unwrap()["id"], 1);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_fails_its_own_call_wherever_its_id_stands() {
        let big = "x".repeat(500);
        let first = format!("{{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{{\"id\":3,\"t\":\"{big}\"}}}}\n");
        let last = format!("{{\"result\":{{\"id\":3,\"t\":\"{big}\"}},\"jsonrpc\":\"2.0\",\"id\":\"s\"}}\n");
        let small = "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n";
        let messages = received(format!("{first}{small}{last}{small}").as_bytes(), 100).await;
        let errors: Vec<_> = messages.iter().map(error_of).collect();
        let too_large = "its answer is larger than 100 bytes".to_owned();
        assert_eq!(errors[0], (7.into(), too_large.clone()));
        assert_eq!(errors[1].0, 9);
        assert_eq!(errors[2], ("s".into(), too_large));
        assert_eq!(errors[3].0, 9);
        assert_eq!(messages.len(), 4);
    }

    #[tokio::test]
    async fn any_answer_to_the_first_question_shows_that_the_server_is_up_and_a_late_one_is_passed_over() {
        let known = b"noise\n{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"result\":{}}\n".as_slice();
        let refused =
            b"{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"error\":{\"code\":-32601,\"message\":\"\"}}\n"
                .as_slice();
        for (stream, expected) in [(known, Probed::Known), (refused, Probed::Unknown), (b"", Probed::Unknown)]
        {
            let mut pipes = pipes(stream, tokio::io::sink(), 1000);
            assert_eq!(pipes.probe(Duration::from_mins(1)).await, expected);
            assert!(received(stream, 1000).await.is_empty());
        }
    }

    #[tokio::test]
    async fn a_misshapen_answer_fails_its_own_call() {
        let messages = received(b"{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":\"boom\"}\n", 1000).await;
        assert_eq!(
            error_of(&messages[0]),
            (4.into(), "its answer is not what the protocol allows".to_owned())
        );
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_link_after_its_call() {
        let begin = "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"t\":\"";
        let endless = format!("{begin}{}", "x".repeat(1 << 20));
        let mut pipes = pipes(endless.as_bytes(), tokio::io::sink(), 100_000);
        assert_eq!(
            error_of(&pipes.receive().await.unwrap()),
            (4.into(), "its answer is larger than 100000 bytes".to_owned())
        );
        assert!(pipes.receive().await.is_none());
        let reason = pipes.traffic.reason().unwrap();
        assert!(
            reason.starts_with("it sent 2") && reason.ends_with("bytes without the end of a line"),
            "{reason}"
        );
    }

    fn ping(id: i64) -> TxJsonRpcMessage<RoleClient> {
        JsonRpcMessage::request(
            rmcp::model::ClientRequest::PingRequest(rmcp::model::PingRequest::default()),
            RequestId::Number(id),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stops_reading_is_left_and_what_it_has_not_whole_was_not_sent() {
        let ping = |id| ping(id);
        let line = exact::frame(&ping(1)).unwrap().len();
        for (room, is_whole) in [(line - 1, false), (line, true)] {
            let (ours, theirs) = tokio::io::duplex(room);
            let (read, write) = tokio::io::split(ours);
            let mut pipes = pipes(read, write, 1000);
            let (first, second) = (pipes.send(ping(1)), pipes.send(ping(2)));
            let (first, second) = tokio::join!(first, second);
            let reason = "it stopped reading: it took nothing of what was sent to it for 30 s".to_owned();
            assert_eq!(second, Err(RequestError::NotSent(reason.clone())));
            let whole = RequestError::Lost(reason.clone());
            assert_eq!(first, Err(if is_whole { whole } else { RequestError::NotSent(reason.clone()) }));
            assert_eq!(pipes.traffic.reason(), Some(&*reason));
            drop(theirs);
        }
    }
}
