//! What may run: a pure judgement of each call over one catalogue.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use toolyard_contract::{
    ActivationController, Arguments, BadCall, CallId, DecisionContext, Outcome, ParallelDecision, Plan,
    ToolCall, arguments::inject, plan,
};

use super::catalog::{Catalog, Entry};
use crate::{messages::ExecuteOptions, reply::Finished};

/// The tools that one list sees: the engine's, then those declared for the list alone.
pub(crate) struct Scope {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) guests: Option<Catalog>,
    pub(crate) activation: ActivationController,
}

impl Scope {
    fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.catalog.get(name).or_else(|| self.guests.as_ref()?.get(name))
    }
}

/// A list after the gate: every item is either refused or planned.
pub(crate) struct Gated {
    /// Name and id of every item, for its answer.
    pub(crate) labels: Vec<Label>,
    /// The items that will not run.
    pub(crate) refused: Vec<(u32, Finished)>,
    /// The items that will, in call order; parallel to the plan's steps.
    pub(crate) runnable: Vec<Runnable>,
    /// Their order.
    pub(crate) plan: Plan,
}

/// What an answer echoes.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) tool: String,
    pub(crate) id: CallId,
}

/// A call that may run.
pub(crate) struct Runnable {
    pub(crate) entry: Arc<Entry>,
    pub(crate) arguments: String,
}

/// Judges every item of a list and plans those that may run.
pub(crate) fn gate(scope: &Scope, calls: Vec<Result<ToolCall, BadCall>>, options: &ExecuteOptions) -> Gated {
    let mut labels = Vec::with_capacity(calls.len());
    let mut refused = Vec::new();
    let mut runnable = Vec::with_capacity(calls.len());
    let mut decisions = Vec::with_capacity(calls.len());
    for (item, position) in calls.into_iter().zip(0_u32..) {
        match item {
            Err(BadCall { name, id, error }) => {
                labels.push(Label { tool: name, id });
                refused.push((position, Finished::without_output(Outcome::BadArguments, error)));
            }
            Ok(ToolCall { name, arguments, id }) => {
                match judge(scope, &name, arguments, options) {
                    Ok((run, decision)) => {
                        runnable.push(run);
                        decisions.push((position as usize, decision));
                    }
                    Err(finished) => refused.push((position, finished)),
                }
                labels.push(Label { tool: name, id });
            }
        }
    }
    Gated { labels, refused, runnable, plan: plan(decisions) }
}

fn judge(
    scope: &Scope,
    name: &str,
    arguments: Arguments,
    options: &ExecuteOptions,
) -> Result<(Runnable, ParallelDecision), Finished> {
    let Some(entry) = scope.get(name) else {
        let error = scope.catalog.unknown(name, |entry| entry.is_active(&scope.activation));
        return Err(Finished::without_output(Outcome::UnknownTool, error));
    };
    if !entry.is_active(&scope.activation) {
        return Err(Finished::without_output(Outcome::Inactive, entry.inactive()));
    }
    if let Some(row) = entry.route.row(options.agent.as_ref())
        && options.ancestry.held.iter().any(|(tool, held)| *tool == entry.spec().name && *held == row)
    {
        let error = format!("tool {name:?}: it is at work on this state and cannot call itself on it");
        return Err(Finished::without_output(Outcome::Denied, error));
    }
    let spec = entry.spec();
    let bad = |error: toolyard_contract::ArgumentError| {
        let mut finished = Finished::without_output(Outcome::BadArguments, error.to_string());
        if let toolyard_contract::ArgumentError::Schema(reason) = error {
            finished.detail.get_or_insert_default().schema_error = Some(reason);
        }
        finished
    };
    let mut text = arguments.into_object_text(spec).map_err(bad)?;
    let mut context = DecisionContext::default();
    if let Some(injected) = &options.injected {
        context.injected = spec.injected.iter().any(|name| injected.contains_key(name));
        text = inject(text, spec, injected, options.inject_policy).map_err(bad)?;
    }
    let text = entry.check_arguments(text).map_err(bad)?;
    let decision = decide(entry, &text, &context)?;
    Ok((Runnable { entry: entry.clone(), arguments: text }, decision))
}

/// Asks the tool, whose code may panic, whether the call may overlap.
fn decide(entry: &Entry, arguments: &str, context: &DecisionContext) -> Result<ParallelDecision, Finished> {
    let ask = || entry.tool.parallel_decision(arguments, context);
    let decision = catch_unwind(AssertUnwindSafe(|| {
        let decision = ask();
        debug_assert_eq!(
            decision,
            ask(),
            "parallel_decision of {:?} is not deterministic",
            entry.spec().name
        );
        decision
    }));
    decision.map_err(|_| {
        let error =
            format!("tool {:?}: panicked while deciding whether the call may overlap", entry.spec().name);
        Finished::without_output(Outcome::Panicked, error)
    })
}
