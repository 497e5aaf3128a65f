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
};

/// The id of the first question; all later ones are numbers.
const PROBE: &str = "probe";

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
}

impl<R: AsyncRead + Unpin, W> Pipes<R, W> {
    pub(super) fn new(read: R, write: W, largest: usize) -> Self {
        let inbox = Inbox::new(BufReader::with_capacity(64 * 1024, read), largest);
        Self { inbox, write: Arc::new(Mutex::new(Some(write))) }
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
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = self.write.clone();
        async move {
            let mut bytes = exact::frame(&message)?;
            bytes.push(b'\n');
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&bytes).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            match self.inbox.advance().await {
                // It comes late when the server was slow; by now nobody waits for it.
                Ok(Some(message)) if answers_probe(&message) => {}
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
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

    async fn received(stream: &[u8], largest: usize) -> Vec<Incoming> {
        let mut pipes = Pipes::new(stream, tokio::io::sink(), largest);
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
            let mut pipes = Pipes::new(stream, tokio::io::sink(), 1000);
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
}
