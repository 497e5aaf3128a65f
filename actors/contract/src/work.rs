//! The work of one call.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures::future::BoxFuture;

use crate::ToolReturn;

/// The work of one call: a future, or the answer itself where there is nothing to wait for.
///
/// ```
/// use toolyard_contract::ToolFuture;
///
/// let at_once = ToolFuture::ready(Ok("4".into()));
/// let later = ToolFuture::new(async { Ok("4".into()) });
/// # futures::executor::block_on(async { assert_eq!(at_once.await, later.await) });
/// ```
#[must_use = "it does nothing unless it is polled"]
pub struct ToolFuture(Work);

enum Work {
    /// Taken when it is polled.
    Answer(Option<ToolReturn>),
    Later(BoxFuture<'static, ToolReturn>),
}

impl ToolFuture {
    /// Takes a future.
    pub fn new(work: impl Future<Output = ToolReturn> + Send + 'static) -> Self {
        Self(Work::Later(Box::pin(work)))
    }

    /// Takes the answer of work that is done: it costs less than a future.
    pub fn ready(answer: ToolReturn) -> Self {
        Self(Work::Answer(Some(answer)))
    }

    /// Gives the answer if it is there, else what has to be polled for it.
    ///
    /// # Errors
    /// The future, which is not done or has been polled to its end.
    pub fn into_answer(self) -> Result<ToolReturn, BoxFuture<'static, ToolReturn>> {
        match self.0 {
            Work::Answer(Some(answer)) => Ok(answer),
            Work::Answer(None) => Err(Box::pin(std::future::pending())),
            Work::Later(work) => Err(work),
        }
    }
}

impl Future for ToolFuture {
    type Output = ToolReturn;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolReturn> {
        match &mut self.0 {
            Work::Answer(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Work::Later(work) => work.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for ToolFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFuture").finish_non_exhaustive()
    }
}
