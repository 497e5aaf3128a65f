//! One request that is out.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, ServerResult},
    service::{RequestHandle, ServiceError},
};
use tokio::runtime::Handle;
use toolyard_contract::CallContext;

use super::{
    asking::{Asker, Question},
    progress::{Listening, ProgressBook},
    request_error::RequestError,
    send_error,
};

/// A request that is out. Dropping it before its answer tells the server that it is given up.
pub(super) struct Pending {
    handle: RequestHandle<RoleClient>,
    answered: bool,
    /// The server is a child of ours.
    is_child: bool,
    asker: Asker,
    progress: Arc<ProgressBook>,
    listening: Option<Listening>,
    _counted: Counted,
}

/// What came of waiting for a request.
pub(super) enum Step {
    Answer(Result<ServerResult, RequestError>),
    /// The server asks something first; the call goes on after [`Pending::goes_on`].
    Asks(Question),
}

impl Pending {
    pub(super) fn new(
        handle: RequestHandle<RoleClient>,
        is_child: bool,
        asker: Asker,
        progress: &Arc<ProgressBook>,
        counted: Counted,
    ) -> Self {
        let progress = progress.clone();
        Self { handle, answered: false, is_child, asker, progress, listening: None, _counted: counted }
    }

    /// Sends the progress of the request to a call.
    pub(super) fn tell(&mut self, context: CallContext) {
        // The one before ends first: it would take the new one with it.
        self.listening = None;
        self.listening = Some(self.progress.listen(&self.handle.progress_token, context));
    }

    /// Waits for what comes next.
    pub(super) async fn step(&mut self) -> Step {
        let answer = tokio::select! {
            biased;
            answer = &mut self.handle.rx => answer,
            question = self.asker.asked() => return Step::Asks(question),
        };
        self.answered = true;
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        Step::Answer(answer.map_err(|error| judge(error, self.is_child)))
    }

    /// The question of this request is answered; it may ask again.
    pub(super) fn goes_on(&mut self) {
        self.asker.begin_again();
    }

    /// Waits for the answer of a request that is not there to ask anything.
    pub(super) async fn answer(mut self) -> Result<ServerResult, RequestError> {
        loop {
            match self.step().await {
                Step::Answer(answer) => return answer,
                Step::Asks(question) => {
                    question.decline();
                    self.goes_on();
                }
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.answered {
            return;
        }
        let (peer, id) = (self.handle.peer.clone(), self.handle.id.clone());
        runtime.spawn(async move {
            let reason = "the call was given up".to_owned();
            let notice = CancelledNotification::new(CancelledNotificationParam::new(Some(id), Some(reason)));
            // A server that is gone needs no notice.
            let _ = peer.send_notification(notice.into()).await;
        });
    }
}

/// What an error of the protocol's library means.
pub(super) fn judge(error: ServiceError, is_child: bool) -> RequestError {
    match error {
        ServiceError::McpError(error) => error.into(),
        // A line is written as a whole or the server cannot read it.
        ServiceError::TransportSend(_) if is_child => {
            RequestError::NotSent("the connection is broken".to_owned())
        }
        ServiceError::TransportSend(error) => send_error::found(&error),
        ServiceError::Cancelled { .. } => RequestError::Lost("the server cancelled it".to_owned()),
        ServiceError::UnexpectedResponse => {
            RequestError::Lost("its answer is not what the protocol allows".to_owned())
        }
        _ => RequestError::Lost("the connection went away".to_owned()),
    }
}

/// One more request in a count, as long as it lives.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(super) fn one_more(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
