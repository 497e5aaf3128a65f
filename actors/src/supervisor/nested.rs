//! What a list inside a call has from the list around it: all of it, or less, never more.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use toolyard_contract::{InjectPolicy, RowKey, RunId, SubmitOptions, ToolPattern};

use super::{catalog::Catalog, run::Run};
use crate::messages::ExecuteOptions;

/// Where a list comes from.
#[derive(Clone, Default)]
pub(crate) struct Ancestry {
    /// How many calls it is nested in.
    pub(crate) depth: usize,
    /// The rows on which those are at work, by tool.
    pub(crate) held: Vec<(String, RowKey)>,
    /// The call that submitted it.
    pub(crate) parent: Option<(RunId, usize)>,
    /// The tools that were declared for the lists around it: the same actors and rows, not others like them.
    pub(crate) guests: Option<Arc<Catalog>>,
    /// Patterns of the tools that it may call; each list of them was set by a call around it, and all count.
    pub(crate) only: Vec<Arc<[ToolPattern]>>,
}

impl Run {
    /// How a list inside the call at `position` is run.
    pub(super) fn options_of_child(
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
        let row = |entry: &super::catalog::Entry| entry.route.row(self.agent_id());
        held.extend(entry.and_then(|entry| Some((entry.spec().name.clone(), row(entry)?))));
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
