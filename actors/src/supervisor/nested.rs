//! What a list inside a call has from the list around it: all of it, or less, never more.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::time::Instant;
use toolyard_contract::{InjectPolicy, SubmitError, SubmitOptions, ToolCall, ToolResult};

use super::{
    Shared,
    ancestry::Ancestry,
    route::Routes,
    run::{Run, RunsNested},
};
use crate::messages::{ExecuteCalls, ExecuteOptions};

impl RunsNested for Shared {
    fn run_nested(
        self: Arc<Self>,
        run: Arc<Run>,
        position: usize,
        deadline: Option<std::time::Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        Box::pin(async move { self.run_child(&run, position, deadline, calls, options, None).await })
    }
}

/// What runs the lists inside of a list that brought tools along: those have them too.
pub(super) struct WithGuests {
    pub(super) shared: Arc<Shared>,
    pub(super) guests: Arc<Routes>,
}

impl RunsNested for WithGuests {
    fn run_nested(
        self: Arc<Self>,
        run: Arc<Run>,
        position: usize,
        deadline: Option<std::time::Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        Box::pin(async move {
            let guests = Some(self.guests.clone());
            self.shared.run_child(&run, position, deadline, calls, options, guests).await
        })
    }
}

impl Shared {
    async fn run_child(
        self: &Arc<Self>,
        run: &Run,
        position: usize,
        deadline: Option<std::time::Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
        guests: Option<Arc<Routes>>,
    ) -> Result<Vec<ToolResult>, SubmitError> {
        let options = run.options_of_child(position, deadline, options);
        let report = self.run_here(ExecuteCalls::new(calls, options), guests).await;
        let report = report.map_err(|error| SubmitError { reason: error.to_string() })?;
        Ok(report.without_requests().results)
    }
}

impl Run {
    /// How a list inside the call at `position` is run.
    fn options_of_child(
        &self,
        position: usize,
        deadline: Option<std::time::Instant>,
        narrowed: SubmitOptions,
    ) -> ExecuteOptions {
        let mut options = ExecuteOptions::new();
        options.agent = self.agent_id().cloned();
        options.node = self.node().cloned();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now().into_std()));
        options.deadline = shorter(left, narrowed.deadline);
        options.timeout = shorter(self.timeout(), narrowed.timeout);
        options.stop_on_failure = narrowed.stop_on_failure;
        options.injected = self.injected().cloned();
        options.inject_policy =
            if narrowed.injected_wins { InjectPolicy::InjectedWins } else { self.inject_policy() };
        options.runner = self.runner().cloned();
        options.ancestry = self.ancestry_of_child(position);
        if narrowed.without_guests {
            options.ancestry.guests = None;
        }
        options.ancestry.only.extend(narrowed.only.map(Arc::from));
        options
    }

    fn ancestry_of_child(&self, position: usize) -> Ancestry {
        let (around, scope) = (self.ancestry(), self.scope());
        let mut held = around.held.clone();
        let entry = self.labels().get(position).and_then(|label| scope.get(&label.tool));
        held.extend(entry.and_then(|entry| Some((entry.spec().name.clone(), entry.row(self.agent_id())?))));
        Ancestry {
            depth: around.depth + 1,
            held,
            parent: Some((self.id(), position)),
            guests: scope.guests.clone(),
            only: around.only.clone(),
        }
    }
}

/// The shorter of two times; one that is not said has no end.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
