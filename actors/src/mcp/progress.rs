//! Progress of calls: from a server's notices to the engine's events, in order.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use serde_json::json;
use toolyard_contract::CallContext;

/// How many tokens may have notices before their call is known, and how many notices each. A notice can overtake the
/// news that its request is out; those of calls that have ended stay here until the place is needed.
const EARLY: usize = 64;

/// The longest message of a notice that is kept for a call that is not known yet, in bytes.
const LONGEST_EARLY: usize = 4_096;

/// Who waits for the notices of a link.
#[derive(Default)]
pub(super) struct ProgressBook(Mutex<Book>);

#[derive(Default)]
struct Book {
    calls: HashMap<ProgressToken, Listener>,
    early: HashMap<ProgressToken, Vec<ProgressNotificationParam>>,
}

struct Listener {
    context: CallContext,
    /// Notices are handled by tasks of their own and can overtake each other; what is behind is dropped.
    reached: f64,
}

impl Listener {
    fn tell(&mut self, notice: &ProgressNotificationParam) {
        if notice.progress > self.reached {
            self.reached = notice.progress;
            let ProgressNotificationParam { progress, total, message, .. } = notice;
            self.context.progress(json!({"progress": progress, "total": total, "message": message}));
        }
    }
}

impl ProgressBook {
    /// Sends the notices of `token` to a call until the returned hand is dropped.
    pub(super) fn listen(self: &Arc<Self>, token: &ProgressToken, context: CallContext) -> Listening {
        let mut listener = Listener { context, reached: f64::NEG_INFINITY };
        let mut book = self.0.lock();
        let mut early = book.early.remove(token).unwrap_or_default();
        early.sort_by(|one, other| one.progress.total_cmp(&other.progress));
        early.iter().for_each(|notice| listener.tell(notice));
        book.calls.insert(token.clone(), listener);
        Listening { book: self.clone(), token: token.clone() }
    }

    pub(super) fn notice(&self, notice: ProgressNotificationParam) {
        let mut book = self.0.lock();
        if let Some(listener) = book.calls.get_mut(&notice.progress_token) {
            return listener.tell(&notice);
        }
        if book.early.len() >= EARLY {
            book.early.clear();
        }
        let early = book.early.entry(notice.progress_token.clone()).or_default();
        let is_long = notice.message.as_ref().is_some_and(|message| message.len() > LONGEST_EARLY);
        if early.len() < EARLY && !is_long {
            early.push(notice);
        }
    }
}

/// A call that hears of its progress.
pub(super) struct Listening {
    book: Arc<ProgressBook>,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.book.0.lock().calls.remove(&self.token);
    }
}
