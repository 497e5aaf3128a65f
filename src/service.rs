//! The engine as a [`tower_service::Service`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use toolyard_actors::{EngineError, ExecuteOptions, Report};
use toolyard_contract::{BadCall, ToolCall};

use crate::Engine;

/// A list for the service.
#[derive(Debug, Default)]
pub struct ListRequest {
    /// The items, readable or not.
    pub calls: Vec<Result<ToolCall, BadCall>>,
    /// How to run them.
    pub options: ExecuteOptions,
}

/// Runs lists; ready at all times, because the engine itself bounds what it takes and says so in its
/// error.
impl tower_service::Service<ListRequest> for Engine {
    type Response = Report;
    type Error = EngineError;
    type Future = Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), EngineError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, ListRequest { calls, options }: ListRequest) -> Self::Future {
        self.submit(calls, options).into_future()
    }
}
