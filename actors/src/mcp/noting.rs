//! Which questions a server had asked before a call: noted as they are read.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerRequest},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

use super::asking::Asking;

/// A transport that notes each question when it arrives. The protocol's library hands it on in a task of its own, which
/// may run later than the beginning of the next call.
pub(super) struct Noting<T> {
    transport: T,
    asking: Arc<Asking>,
}

impl<T> Noting<T> {
    pub(super) fn new(transport: T, asking: Arc<Asking>) -> Self {
        Self { transport, asking }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Noting<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await;
        if let Some(JsonRpcMessage::Request(request)) = &message
            && matches!(request.request, ServerRequest::ElicitRequest(_))
        {
            self.asking.arrived(request.id.clone());
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
