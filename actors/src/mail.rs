//! Answers on their way to the task that drives their list.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{call_end::Finished, supervisor::catalog::Entry};

/// One call that may start.
#[derive(Debug)]
pub(crate) struct ReadyCall {
    pub(crate) position: u32,
    pub(crate) arguments: String,
    /// 1 for the first try.
    pub(crate) attempt: u32,
}

/// One or many answers.
pub(crate) enum Filed {
    One(u32, Finished),
    Many(Vec<(u32, Finished)>),
    /// Calls to one tool that have not begun: the row that they work on is taken.
    Back(Arc<Entry>, Vec<ReadyCall>),
}

/// Calls that have ended, with their positions; mostly one or many.
pub(crate) type Answers = SmallVec<[(u32, Finished); 1]>;

/// What has been filed and not been taken yet; mostly one thing at most.
pub(crate) type Letters = SmallVec<[Filed; 1]>;

/// Where a list's answers are filed: by anybody, without waiting. The list's driver alone takes them.
///
/// A part of the list itself, because a channel would cost more than the way of a trivial call.
#[derive(Default)]
pub(crate) struct Mail(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    filed: Letters,
    driver: Option<Waker>,
}

impl Mail {
    pub(crate) fn file(&self, filed: Filed) {
        let driver = {
            let mut inside = self.0.lock();
            inside.filed.push(filed);
            inside.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().filed.is_empty()
    }

    /// Takes what has been filed, if anything.
    pub(crate) fn take(&self) -> Letters {
        std::mem::take(&mut self.0.lock().filed)
    }

    /// Tells whether calls to a tool came back.
    pub(crate) fn has_back(&self, to: &Arc<Entry>) -> bool {
        let is_it = |filed: &Filed| matches!(filed, Filed::Back(entry, _) if Arc::ptr_eq(entry, to));
        self.0.lock().filed.iter().any(is_it)
    }

    /// Takes the calls that came back alone, in the order in which they came.
    pub(crate) fn take_back(&self) -> Letters {
        let mut inside = self.0.lock();
        let is_back = |filed: &Filed| matches!(filed, Filed::Back(..));
        if !inside.filed.iter().any(is_back) {
            return Letters::new();
        }
        let (back, others) = std::mem::take(&mut inside.filed).into_iter().partition(is_back);
        inside.filed = others;
        back
    }

    /// Waits until something has been filed.
    ///
    /// # Cancellation
    /// Nothing is lost: what has been filed stays until it is taken.
    pub(crate) async fn filled(&self) {
        poll_fn(|cx| {
            let mut inside = self.0.lock();
            if !inside.filed.is_empty() {
                return Poll::Ready(());
            }
            match &mut inside.driver {
                Some(driver) => driver.clone_from(cx.waker()),
                driver => *driver = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await;
    }
}
