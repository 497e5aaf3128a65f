//! Which call of a link asks, where the protocol does not say.
//!
//! A server with a session asks by a request of its own that names no call. So a question waits until it can only
//! come from one call: until there are no more calls that were under way when it arrived than there are questions.
//!
//! What a call leaves behind must not be taken for a question of the next one. So the moment at which a question arrives
//! is when it is read ([`arrived`](Asking::arrived)), and a call that begins after a question first has the server
//! answer a ping: what it had written before has been read then.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, RequestId};
use serde_json::Value;
use tokio::sync::oneshot;

/// A server's question, and where its answer goes. Dropping it is an answer too: nobody is there.
#[derive(Debug)]
pub(super) struct Question {
    params: ElicitRequestParams,
    reply: oneshot::Sender<ElicitResult>,
}

impl Question {
    pub(super) fn new(params: ElicitRequestParams) -> (Self, oneshot::Receiver<ElicitResult>) {
        let (reply, answer) = oneshot::channel();
        (Self { params, reply }, answer)
    }

    /// What is asked, as the protocol writes it.
    pub(super) fn params(&self) -> Value {
        serde_json::to_value(&self.params).unwrap_or_default()
    }

    /// Answers; tells whether the server still waits.
    pub(super) fn answer(self, result: ElicitResult) -> bool {
        self.reply.send(result).is_ok()
    }

    /// Says that nobody answers this.
    pub(super) fn decline(self) {
        self.answer(ElicitResult::new(ElicitationAction::Decline));
    }
}

/// The calls and questions of a link.
#[derive(Default)]
pub(super) struct Asking(Mutex<Book>);

#[derive(Default)]
struct Book {
    next: u64,
    /// The requests under way, oldest first.
    calls: Vec<(u64, oneshot::Sender<Question>)>,
    /// The questions that no call has yet, oldest first, each with the number of the first call that came after it.
    questions: Vec<(u64, Question)>,
    /// The questions that were read and are not here yet, each with that number.
    arrived: VecDeque<(RequestId, u64)>,
    /// Questions have come, of which more may be on their way.
    unsettled: bool,
}

/// How many questions may be on their way from where they are read to here.
const MOST_ARRIVED: usize = 16_384;

impl Book {
    /// Hands out the questions that can only come from the calls that are left.
    fn settle(&mut self) {
        let mut at = 0;
        while at < self.questions.len() {
            let came = self.questions[at].0;
            let may_ask = self.calls.partition_point(|(call, _)| *call < came);
            if may_ask > at + 1 {
                at += 1;
                continue;
            }
            let askers = self.calls.drain(..may_ask);
            let mut questions = self.questions.drain(..=at).map(|(_, question)| question);
            for ((_, asker), question) in askers.zip(questions.by_ref()) {
                // A call that ends at this moment asks no more.
                let _ = asker.send(question);
            }
            questions.for_each(Question::decline);
            at = 0;
        }
    }
}

impl Asking {
    /// Notes a request that is about to be sent.
    pub(super) fn begin(self: &Arc<Self>) -> Asker {
        let (send, asked) = oneshot::channel();
        let mut book = self.0.lock();
        let number = book.next;
        book.next += 1;
        book.calls.push((number, send));
        Asker { asking: self.clone(), number, asked }
    }

    /// Notes that a question was read.
    pub(super) fn arrived(&self, id: RequestId) {
        let mut book = self.0.lock();
        let came = book.next;
        book.unsettled = true;
        if book.arrived.len() >= MOST_ARRIVED {
            book.arrived.pop_front();
        }
        book.arrived.push_back((id, came));
    }

    /// Takes a question in that was read before. One that was not noted belongs to no call.
    pub(super) fn ask(&self, id: &RequestId, question: Question) {
        let mut book = self.0.lock();
        let noted = book.arrived.iter().position(|(noted, _)| noted == id);
        let came = noted.and_then(|at| book.arrived.remove(at)).map_or(0, |(_, came)| came);
        let after = book.questions.partition_point(|(other, _)| *other <= came);
        book.questions.insert(after, (came, question));
        book.settle();
    }

    /// Tells whether questions have come since this was asked last, so that more may be on their way.
    pub(super) fn take_unsettled(&self) -> bool {
        std::mem::take(&mut self.0.lock().unsettled)
    }
}

/// A request that may turn out to ask something.
pub(super) struct Asker {
    asking: Arc<Asking>,
    number: u64,
    asked: oneshot::Receiver<Question>,
}

impl Asker {
    /// Waits for the request's question; for ever when it asks nothing.
    pub(super) async fn asked(&mut self) -> Question {
        match (&mut self.asked).await {
            Ok(question) => question,
            Err(_) => std::future::pending().await,
        }
    }

    /// After an answer: the request may ask again.
    pub(super) fn begin_again(&mut self) {
        *self = self.asking.begin();
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        let mut book = self.asking.0.lock();
        if let Ok(at) = book.calls.binary_search_by_key(&self.number, |(number, _)| *number) {
            book.calls.remove(at);
        }
        if !book.questions.is_empty() {
            book.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(message: &str) -> (Question, oneshot::Receiver<ElicitResult>) {
        let params = json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
        Question::new(serde_json::from_value(params).unwrap())
    }

    /// A question that is read and taken in at once.
    fn ask(asking: &Asking, question: Question) {
        asking.arrived(RequestId::Number(1));
        asking.ask(&RequestId::Number(1), question);
    }

    fn message(asker: &mut Asker) -> Option<String> {
        let question = asker.asked.try_recv().ok()?;
        Some(serde_json::to_value(&question.params).unwrap()["message"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_question_goes_to_the_only_call_that_can_have_asked() {
        let asking = Arc::new(Asking::default());
        let (mut first, mut second) = (asking.begin(), asking.begin());
        let (asked, _answer) = question("who?");
        ask(&asking, asked);
        let mut later = asking.begin();
        assert_eq!((message(&mut first), message(&mut second)), (None, None));
        drop(first);
        assert_eq!(message(&mut second).as_deref(), Some("who?"));
        assert_eq!(message(&mut later), None);
    }

    #[test]
    fn as_many_questions_as_calls_belong_to_them_all() {
        let asking = Arc::new(Asking::default());
        let (mut first, mut second) = (asking.begin(), asking.begin());
        let ((one, _one), (two, _two)) = (question("1"), question("2"));
        ask(&asking, one);
        ask(&asking, two);
        assert_eq!(message(&mut first).as_deref(), Some("1"));
        assert_eq!(message(&mut second).as_deref(), Some("2"));
    }

    #[test]
    fn a_question_that_no_call_asks_is_declined() {
        let asking = Arc::new(Asking::default());
        let (asked, mut answer) = question("anybody?");
        ask(&asking, asked);
        assert_eq!(answer.try_recv().unwrap().action, ElicitationAction::Decline);
    }

    #[test]
    fn what_a_call_leaves_behind_is_no_question_of_the_next() {
        let asking = Arc::new(Asking::default());
        let mut first = asking.begin();
        let ids: Vec<_> = (0..4).map(RequestId::Number).collect();
        ids.iter().for_each(|id| asking.arrived(id.clone()));
        assert!(asking.take_unsettled() && !asking.take_unsettled());
        let (own, _own) = question("own");
        asking.ask(&ids[0], own);
        assert_eq!(message(&mut first).as_deref(), Some("own"));
        // The others were read before the next call began, and come to be handled after that.
        let mut next = asking.begin();
        for id in &ids[1..] {
            let (late, mut answer) = question("late");
            asking.ask(id, late);
            assert_eq!(answer.try_recv().unwrap().action, ElicitationAction::Decline);
        }
        let (unknown, mut answer) = question("never read");
        asking.ask(&RequestId::Number(9), unknown);
        assert_eq!(answer.try_recv().unwrap().action, ElicitationAction::Decline);
        assert_eq!(message(&mut next), None);
        let (asked, _asked) = question("its own");
        ask(&asking, asked);
        assert_eq!(message(&mut next).as_deref(), Some("its own"));
    }
}
