//! The one place that polls a tool's future: panics, deadlines and cancels stop here.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use toolyard_contract::{Outcome, ToolReturn};

use crate::{call_end::Finished, moment, pulse::Pulse, supervisor::catalog::Entry};

/// The work of one call: a future that cannot panic out of its own call.
pub(crate) struct Guarded<T>(Option<BoxFuture<'static, T>>);

/// How guarded work ended by itself.
pub(crate) enum Ended<T> {
    Returned(T),
    Panicked(String),
    /// Nothing ran: it would do something else than what was permitted.
    Refused(Box<Finished>),
}

/// Runs user code that starts work; a panic in it is an end too.
pub(crate) fn start_guarded<W>(start: impl FnOnce() -> W) -> Result<W, String> {
    catch_unwind(AssertUnwindSafe(start)).map_err(|panic| message(&*panic).to_owned())
}

/// Calls code of the host that is no tool's; a panic in it is logged, and gives nothing.
pub(crate) fn call_host<T>(what: &'static str, call: impl FnOnce() -> T) -> Option<T> {
    start_guarded(call).inspect_err(|panic| tracing::warn!(panic, "{what} panicked")).ok()
}

/// As [`call_host`], for code that may wait.
pub(crate) async fn await_host<T, W: Future<Output = T>>(
    what: &'static str,
    call: impl FnOnce() -> W,
) -> Option<T> {
    let work = call_host(what, call)?;
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.inspect_err(|panic| tracing::warn!(panic = message(&**panic), "{what} panicked")).ok()
}

impl<T> Guarded<T> {
    pub(crate) fn new(work: BoxFuture<'static, T>) -> Self {
        Self(Some(work))
    }

    /// Polls once without anybody to wake: most calls of simple tools end here.
    pub(crate) fn poll_now(&mut self) -> Poll<Ended<T>> {
        Pin::new(self).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Drives the work to its end on the current thread.
    pub(crate) fn block_on(mut self) -> Ended<T> {
        // A body that blocks mostly ends in the first poll. It is polled outside the executor,
        // because one that enters an executor itself would panic inside another.
        match self.poll_now() {
            Poll::Ready(ended) => ended,
            Poll::Pending => futures::executor::block_on(self),
        }
    }

    /// Drops the work; a destructor that panics touches nobody else.
    fn drop_work(&mut self) {
        let work = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(work))) {
            tracing::warn!(panic = message(&*panic), "a tool's future panicked while being dropped");
        }
    }
}

impl<T> Future for Guarded<T> {
    type Output = Ended<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T>> {
        let Some(work) = self.0.as_mut() else { return Poll::Pending };
        let ended = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(returned)) => Ended::Returned(returned),
            Err(panic) => Ended::Panicked(message(&*panic).to_owned()),
        };
        self.drop_work();
        Poll::Ready(ended)
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        self.drop_work();
    }
}

/// Work whose turns are watched.
pub(crate) struct Turns<T> {
    pub(crate) work: Guarded<T>,
    pub(crate) pulse: Option<Arc<Pulse>>,
}

impl<T> Future for Turns<T> {
    type Output = Ended<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T>> {
        let Some(pulse) = self.pulse.clone() else { return Pin::new(&mut self.work).poll(cx) };
        pulse.begin_turn();
        let polled = Pin::new(&mut self.work).poll(cx);
        pulse.end_turn();
        polled
    }
}

impl<T> Ended<T> {
    /// Takes the tool's word out of what was returned.
    pub(crate) fn map<U>(self, take: impl FnOnce(T) -> U) -> Ended<U> {
        match self {
            Self::Returned(returned) => Ended::Returned(take(returned)),
            Self::Panicked(message) => Ended::Panicked(message),
            Self::Refused(finished) => Ended::Refused(finished),
        }
    }
}

impl Ended<ToolReturn> {
    /// Joins the end with what the tool's spec promises.
    pub(crate) fn judged_by(self, entry: &Entry) -> Finished {
        match self {
            Self::Returned(returned) => entry.judge(Finished::returned(returned)),
            Self::Panicked(message) => {
                let error = format!("tool {:?}: panicked", entry.spec().name);
                let mut finished = Finished::without_output(Outcome::Panicked, error);
                finished.detail.get_or_insert_default().traceback = Some(message);
                finished
            }
            Self::Refused(finished) => *finished,
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// The moment at which a call is stopped, and what to say then.
#[derive(Clone, Copy)]
pub(crate) enum Deadline {
    None,
    /// The call's own time-out.
    OfCall(Instant, Duration),
    /// The deadline of its list comes first.
    OfList(Instant),
}

impl Deadline {
    /// The earlier of the call's time-out, counted from now, and its list's deadline.
    pub(crate) fn earlier(now: Instant, timeout: Option<Duration>, list: Option<Instant>) -> Self {
        let own = timeout.map(|timeout| (moment::after(now, timeout), timeout));
        match (own, list) {
            (Some((at, timeout)), Some(list)) if at <= list => Self::OfCall(at, timeout),
            (_, Some(list)) => Self::OfList(list),
            (Some((at, timeout)), None) => Self::OfCall(at, timeout),
            (None, None) => Self::None,
        }
    }

    pub(crate) fn at(self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::OfCall(at, _) | Self::OfList(at) => Some(at),
        }
    }

    fn finished(self, tool: &str) -> Finished {
        let error = match self {
            Self::OfCall(_, timeout) => format!("tool {tool:?}: timed out after {} s", timeout.as_secs_f64()),
            Self::None | Self::OfList(_) => format!("tool {tool:?}: stopped at the deadline of its list"),
        };
        Finished::without_output(Outcome::TimedOut, error)
    }
}

/// Runs work until it ends or is stopped; the work is dropped when stopped.
///
/// An end that is there at the same time as a stop wins.
pub(crate) async fn run_guarded<W: Future>(
    work: W,
    cancel: &CancellationToken,
    deadline: Deadline,
    tool: &str,
) -> Result<W::Output, Finished> {
    let late = async {
        match deadline.at() {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        ended = work => Ok(ended),
        () = cancel.cancelled() => {
            Err(Finished::without_output(Outcome::Cancelled, format!("tool {tool:?}: cancelled")))
        }
        () = late => Err(deadline.finished(tool)),
    }
}
