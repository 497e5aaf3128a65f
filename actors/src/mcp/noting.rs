//! What is noted of every message, whatever the link: which questions a server had asked before a call, what is under way,
//! and the link's end.

use std::{borrow::Cow, error::Error, sync::Arc};

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerRequest},
    service::TxJsonRpcMessage,
    transport::Transport,
};

use super::{
    asking::Asking,
    exact::Incoming,
    request_error::RequestError,
    traffic::{Traffic, WENT_AWAY},
};

/// A transport that notes messages when they arrive and leave. The protocol's library hands a question on in a task of its
/// own, which may run later than the beginning of the next call.
pub(super) struct Noting<T> {
    transport: T,
    asking: Arc<Asking>,
    traffic: Arc<Traffic>,
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotSent<E: Error + 'static> {
    #[error("it was not sent")]
    Failed(#[source] E),
    /// The link has ended meanwhile.
    #[error("the connection has ended")]
    Ended(#[source] RequestError),
}

impl<T> Noting<T> {
    pub(super) fn new(transport: T, asking: Arc<Asking>, traffic: Arc<Traffic>) -> Self {
        Self { transport, asking, traffic }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Noting<T> {
    type Error = NotSent<T::Error>;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let noted = self.traffic.sends(&message);
        let sending = self.transport.send(message);
        let traffic = self.traffic.clone();
        async move {
            let sent = tokio::select! {
                biased;
                sent = sending => sent.map_err(NotSent::Failed),
                () = traffic.ended() => {
                    let reason = traffic.reason().unwrap_or(WENT_AWAY).to_owned();
                    Err(NotSent::Ended(RequestError::Lost(reason)))
                }
            };
            noted.done(match &sent {
                Ok(()) => Ok(()),
                Err(NotSent::Ended(error)) => Err(Some(error.clone())),
                Err(NotSent::Failed(error)) => {
                    let error: &(dyn Error + 'static) = error;
                    Err(error.downcast_ref::<RequestError>().cloned())
                }
            });
            sent
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        let message = tokio::select! {
            biased;
            () = self.traffic.ended(), if self.traffic.has_ended() => None,
            message = self.transport.receive() => message,
            () = self.traffic.ended() => None,
        };
        let Some(message) = message else {
            // What is being written now is not written any more.
            self.traffic.end(WENT_AWAY.to_owned());
            return self.traffic.next_unanswered().await;
        };
        self.traffic.came(&message);
        if let JsonRpcMessage::Request(request) = &message
            && matches!(request.request, ServerRequest::ElicitRequest(_))
        {
            self.asking.arrived(request.id.clone());
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await.map_err(NotSent::Failed)
    }
}
