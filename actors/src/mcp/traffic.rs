//! What is under way over a link, in both directions, and how much of it there may be.
//!
//! The protocol's library has a task for each request of the server and for each message that is being written, and counts
//! neither. So a server that asks and never reads would fill the memory: past the bounds here its link ends.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        ClientNotification, ClientRequest, JsonRpcMessage, RequestId, ServerNotification, ServerRequest,
    },
    service::TxJsonRpcMessage,
};
use serde::Serialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{exact::Incoming, request_error::RequestError};

/// How many requests of a server may wait for their answers: some hundred agents may be asked something at once, and each
/// request has a task.
const MOST_ASKED: usize = 1_000;

/// How many answers to a server may wait to be written: as many as it may have requests.
const MOST_ANSWERS: usize = 1_000;

/// How large the requests of a server that wait may be together, and our answers that are not written yet, in bytes of
/// JSON: some images for a model, and in memory several times that.
const MOST_BYTES: usize = 16 << 20;

/// Said where nothing else is known.
pub(super) const WENT_AWAY: &str = "the connection went away";

/// What is under way over one link, and why the link has ended.
#[derive(Default)]
pub(super) struct Traffic {
    book: Mutex<Book>,
    has_begun: AtomicBool,
    ended: CancellationToken,
    reason: OnceLock<String>,
    /// How many messages have come.
    heard: AtomicU64,
    given_up: Notify,
    all_sent: Notify,
}

#[derive(Default)]
struct Book {
    next: u64,
    /// Our requests without an answer.
    asked: HashMap<RequestId, Asked>,
    /// How many messages are being written.
    sending: usize,
    /// The requests of the server that wait: how many have this id, and how large they are together.
    asks: HashMap<RequestId, (usize, usize)>,
    asks_count: usize,
    asks_bytes: usize,
    /// Our answers that are not written yet.
    answers: usize,
    answers_bytes: usize,
}

struct Asked {
    /// Counts our requests.
    number: u64,
    is_call: bool,
    sent: Sent,
}

/// How far a request has come.
enum Sent {
    Sending,
    Whole,
    Failed(Option<RequestError>),
}

/// A message of ours on its way.
pub(super) struct Sending {
    traffic: Arc<Traffic>,
    what: What,
    is_done: bool,
}

enum What {
    Request(RequestId),
    Answer { id: Option<RequestId>, bytes: usize },
    Other,
}

impl Traffic {
    /// The link is open: from now on requests hear what becomes of them at its end.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Notes a message that is about to be written.
    pub(super) fn sends(self: &Arc<Self>, message: &TxJsonRpcMessage<RoleClient>) -> Sending {
        let mut book = self.book.lock();
        book.sending += 1;
        let what = match message {
            JsonRpcMessage::Request(request) => {
                let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
                let asked = Asked { number: book.next, is_call, sent: Sent::Sending };
                book.next += 1;
                book.asked.insert(request.id.clone(), asked);
                What::Request(request.id.clone())
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                let id = match message {
                    JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
                    JsonRpcMessage::Error(error) => error.id.clone(),
                    _ => None,
                };
                let bytes = size(message);
                book.answers += 1;
                book.answers_bytes = book.answers_bytes.saturating_add(bytes);
                What::Answer { id, bytes }
            }
            JsonRpcMessage::Notification(notice) => {
                if let ClientNotification::CancelledNotification(given_up) = &notice.notification
                    && let Some(id) = &given_up.params.request_id
                    && book.asked.remove(id).is_some_and(|asked| asked.is_call)
                {
                    self.given_up.notify_one();
                }
                What::Other
            }
        };
        let over = book.answers > MOST_ANSWERS || book.answers_bytes > MOST_BYTES;
        drop(book);
        if over {
            self.end("it asked more than it reads the answers of".to_owned());
        }
        Sending { traffic: self.clone(), what, is_done: false }
    }

    /// Notes a message that has come.
    pub(super) fn came(&self, message: &Incoming) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        match message {
            JsonRpcMessage::Response(answer) => {
                self.book.lock().asked.remove(&answer.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.book.lock().asked.remove(id);
                }
            }
            JsonRpcMessage::Request(request) => {
                let bytes = match &request.request {
                    ServerRequest::PingRequest(_) => 0,
                    request => size(request),
                };
                self.asked_by_server(request.id.clone(), bytes);
            }
            JsonRpcMessage::Notification(notice) => {
                if let ServerNotification::CancelledNotification(given_up) = &notice.notification
                    && let Some(id) = &given_up.params.request_id
                {
                    // Nothing will be answered.
                    self.book.lock().answered(id, true);
                }
            }
        }
    }

    fn asked_by_server(&self, id: RequestId, bytes: usize) {
        let mut book = self.book.lock();
        let (count, size) = book.asks.entry(id).or_default();
        *count += 1;
        *size = size.saturating_add(bytes);
        book.asks_count += 1;
        book.asks_bytes = book.asks_bytes.saturating_add(bytes);
        let (many, large) = (book.asks_count > MOST_ASKED, book.asks_bytes > MOST_BYTES);
        drop(book);
        if many {
            self.end(format!("it asked more than {MOST_ASKED} things without waiting for an answer"));
        } else if large {
            self.end(format!(
                "what it asked without waiting for an answer is larger than {MOST_BYTES} bytes"
            ));
        }
    }

    /// Ends the link; the first reason counts.
    pub(super) fn end(&self, reason: String) {
        let _ = self.reason.set(reason);
        self.ended.cancel();
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Why it has ended, in words.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// What becomes of one of our requests that has no answer at the end: first waits until nothing is being written.
    pub(super) async fn next_unanswered(&self) -> Option<Incoming> {
        if !self.has_begun.load(Ordering::Relaxed) {
            return None;
        }
        let why = || self.reason().unwrap_or(WENT_AWAY).to_owned();
        loop {
            let all_sent = self.all_sent.notified();
            if self.book.lock().sending > 0 {
                all_sent.await;
                continue;
            }
            let (id, sent) = self.book.lock().any_asked()?;
            let error = match sent {
                Sent::Failed(Some(error)) => error,
                Sent::Sending => RequestError::NotSent(why()),
                Sent::Whole => RequestError::Lost(why()),
                // Its sender has been told.
                Sent::Failed(None) => continue,
            };
            return Some(error.in_place_of_answer(id));
        }
    }

    /// How many messages have come; so that two looks show whether any came between.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// Waits until a call has been given up: cancelled, or out of time.
    pub(super) async fn given_up(&self) {
        self.given_up.notified().await;
    }

    /// The number of the next request.
    pub(super) fn now(&self) -> u64 {
        self.book.lock().next
    }

    /// Tells whether the server has a call whole that is older than the request `number`: it may be at work.
    pub(super) fn is_at_work(&self, number: u64) -> bool {
        let book = self.book.lock();
        let has_it =
            |asked: &Asked| asked.is_call && matches!(asked.sent, Sent::Whole) && asked.number < number;
        book.asked.values().any(has_it)
    }
}

impl Book {
    fn any_asked(&mut self) -> Option<(RequestId, Sent)> {
        let id = self.asked.keys().next()?.clone();
        self.asked.remove(&id).map(|asked| (id, asked.sent))
    }

    /// One request of the server under this id, or all, will not be answered any more.
    fn answered(&mut self, id: &RequestId, all: bool) {
        let Some((count, bytes)) = self.asks.get_mut(id) else { return };
        let (gone, freed) = if all || *count == 1 { (*count, *bytes) } else { (1, 0) };
        *count -= gone;
        self.asks_count -= gone;
        self.asks_bytes -= freed;
        if *count == 0 {
            self.asks.remove(id);
        }
    }
}

impl Sending {
    /// Notes how it went. An error that is none of ours is known to the sender alone.
    pub(super) fn done(mut self, sent: Result<(), Option<RequestError>>) {
        self.settle(match sent {
            Ok(()) => Sent::Whole,
            Err(error) => Sent::Failed(error),
        });
    }

    fn settle(&mut self, sent: Sent) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let mut book = self.traffic.book.lock();
        book.sending -= 1;
        match &self.what {
            What::Request(id) => {
                if let Some(asked) = book.asked.get_mut(id) {
                    asked.sent = sent;
                }
            }
            What::Answer { id, bytes } => {
                book.answers -= 1;
                book.answers_bytes = book.answers_bytes.saturating_sub(*bytes);
                if let Some(id) = id {
                    book.answered(id, false);
                }
            }
            What::Other => {}
        }
        if book.sending == 0 {
            self.traffic.all_sent.notify_waiters();
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.settle(Sent::Failed(None));
    }
}

/// How large a value is as JSON.
pub(super) fn size(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // What cannot be written is not sent either.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams, EmptyResult, PingRequest};
    use serde_json::json;

    use super::*;

    fn asks(id: usize, text: &str) -> Incoming {
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        let params = json!({"messages": [message], "maxTokens": 5});
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": params});
        serde_json::from_value(request).unwrap()
    }

    fn cancels(id: usize) -> Incoming {
        let notice =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        serde_json::from_value(notice).unwrap()
    }

    fn answer(id: usize) -> TxJsonRpcMessage<RoleClient> {
        JsonRpcMessage::response(EmptyResult {}.into(), RequestId::Number(id.try_into().unwrap()))
    }

    fn call(id: i64) -> TxJsonRpcMessage<RoleClient> {
        let call = CallToolRequest::new(CallToolRequestParams::new("t"));
        JsonRpcMessage::request(ClientRequest::CallToolRequest(call), RequestId::Number(id))
    }

    #[test]
    fn so_many_requests_may_wait_and_no_more_however_often_others_were_answered() {
        let traffic = Arc::new(Traffic::default());
        for id in 0..3 * MOST_ASKED {
            traffic.came(&asks(id, ""));
            if id % 2 == 0 {
                traffic.sends(&answer(id)).done(Ok(()));
            } else {
                traffic.came(&cancels(id));
            }
        }
        for id in 0..MOST_ASKED {
            traffic.came(&asks(id, ""));
        }
        assert!(!traffic.has_ended());
        traffic.came(&asks(MOST_ASKED, ""));
        assert_eq!(traffic.reason(), Some("it asked more than 1000 things without waiting for an answer"));
    }

    #[test]
    fn requests_under_one_id_are_counted_one_by_one() {
        let traffic = Arc::new(Traffic::default());
        for _ in 0..=MOST_ASKED {
            assert!(!traffic.has_ended());
            traffic.came(&asks(7, ""));
        }
        assert!(traffic.has_ended());
    }

    #[test]
    fn requests_that_wait_are_bounded_by_their_size_too() {
        let traffic = Arc::new(Traffic::default());
        let large = "x".repeat(MOST_BYTES / 2);
        traffic.came(&asks(1, &large));
        traffic.sends(&answer(1)).done(Ok(()));
        traffic.came(&asks(2, &large));
        assert!(!traffic.has_ended());
        traffic.came(&asks(3, &large));
        let reason = "what it asked without waiting for an answer is larger than 16777216 bytes";
        assert_eq!(traffic.reason(), Some(reason));
    }

    #[test]
    fn answers_that_are_not_read_are_bounded() {
        let traffic = Arc::new(Traffic::default());
        let sending: Vec<_> = (0..MOST_ANSWERS).map(|_| traffic.sends(&answer(1))).collect();
        assert!(!traffic.has_ended());
        drop(sending);
        let sending: Vec<_> = (0..=MOST_ANSWERS).map(|_| traffic.sends(&answer(1))).collect();
        assert_eq!(traffic.reason(), Some("it asked more than it reads the answers of"));
        drop(sending);
    }

    #[tokio::test]
    async fn at_the_end_each_request_hears_what_became_of_it() {
        let traffic = Arc::new(Traffic::default());
        traffic.begin();
        traffic.sends(&call(1)).done(Ok(()));
        traffic.sends(&call(2)).done(Err(Some(RequestError::NotSent("half".to_owned()))));
        traffic.sends(&call(3)).done(Ok(()));
        traffic.came(&serde_json::from_value(json!({"jsonrpc": "2.0", "id": 3, "result": {}})).unwrap());
        let late = traffic.sends(&call(4));
        traffic.end("the reason".to_owned());
        traffic.end("another".to_owned());
        let told = async {
            let mut told = Vec::new();
            while let Some(JsonRpcMessage::Error(error)) = traffic.next_unanswered().await {
                told.push((error.id.unwrap().to_string(), RequestError::from(error.error)));
            }
            told.sort_by(|one, other| one.0.cmp(&other.0));
            told
        };
        let (told, ()) = tokio::join!(told, async { late.done(Ok(())) });
        let lost = || RequestError::Lost("the reason".to_owned());
        let expected = [("1", lost()), ("2", RequestError::NotSent("half".to_owned())), ("4", lost())];
        assert_eq!(told, expected.map(|(id, error)| (id.to_owned(), error)));
    }

    #[tokio::test]
    async fn a_server_is_at_work_as_long_as_it_has_an_older_call_whole() {
        let traffic = Arc::new(Traffic::default());
        let sending = traffic.sends(&call(1));
        assert!(!traffic.is_at_work(u64::MAX));
        sending.done(Ok(()));
        let now = traffic.now();
        let ping = ClientRequest::PingRequest(PingRequest::default());
        traffic.sends(&JsonRpcMessage::request(ping, RequestId::Number(2))).done(Ok(()));
        assert!(traffic.is_at_work(now) && !traffic.is_at_work(now - 1));
        let given_up = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
        let notice: ClientNotification = serde_json::from_value(given_up).unwrap();
        traffic.sends(&JsonRpcMessage::notification(notice)).done(Ok(()));
        assert!(!traffic.is_at_work(now));
        traffic.given_up().await;
    }
}
