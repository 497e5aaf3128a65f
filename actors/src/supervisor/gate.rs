//! What may run: a pure judgement of each call over one catalogue.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use compact_str::CompactString;
use futures::{StreamExt, stream::FuturesUnordered};
use toolyard_contract::{
    ActivationController, Arguments, BadCall, CallId, DecisionContext, Outcome, ParallelDecision,
    PermissionCheck, Plan, Runner, ToolCall, ToolPattern, Verdict,
    arguments::{Injected, inject, without_filled},
    canonical::with_canonical_numbers,
    names, plan,
    runner::no_state,
};

use super::catalog::{Catalog, Entry};
use crate::{
    call_end::Finished,
    messages::ExecuteOptions,
    permission::{Judged, Permissions},
};

/// The tools that one list sees: the engine's, then those declared for the list alone.
pub(crate) struct Scope {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) guests: Option<Arc<Catalog>>,
    pub(crate) activation: ActivationController,
    /// Patterns of the tools that it may call; all of these lists of them count.
    pub(crate) only: Vec<Arc<[ToolPattern]>>,
}

impl Scope {
    /// Tells whether the list may call a tool.
    fn may_call(&self, entry: &Entry) -> bool {
        let matches = |patterns: &Arc<[ToolPattern]>| {
            patterns.iter().any(|pattern| pattern.matches(&entry.spec().name))
        };
        self.only.iter().all(matches)
    }

    /// Finds the tool that a call means. A tool that has exactly this name comes before all that differ from it
    /// in their spelling.
    ///
    /// # Errors
    /// Says why there is none, or which two there are.
    fn find(&self, name: &str) -> Result<&Arc<Entry>, String> {
        let own = self.catalog.get(name);
        let Some(guests) = &self.guests else { return own.ok_or_else(|| self.unknown(name)) };
        let is_alias = || self.catalog.aliases().any(|(alias, _)| alias.trim() == name.trim());
        match (own, guests.get(name)) {
            (Some(own), Some(guest)) if !is_named(own, name) && !is_alias() => {
                if is_named(guest, name) {
                    Ok(guest)
                } else {
                    Err(ambiguous(name, own, guest))
                }
            }
            (own, guest) => own.or(guest).ok_or_else(|| self.unknown(name)),
        }
    }

    /// Finds the tool that has exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<&Arc<Entry>> {
        self.catalog.exact(name).or_else(|| self.guests.as_ref()?.exact(name))
    }

    /// Finds the tool that a call which was taken meant.
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.find(name).ok()
    }

    fn unknown(&self, name: &str) -> String {
        self.catalog.unknown(name, |entry| entry.is_active(&self.activation) && self.may_call(entry))
    }
}

/// Tells whether a call that names a tool so means that one and no other.
fn is_named(entry: &Entry, name: &str) -> bool {
    entry.spec().name.trim() == name.trim() || names::looks_suffixed(name)
}

fn ambiguous(name: &str, one: &Entry, other: &Entry) -> String {
    let (one, other) = (&one.spec().name, &other.spec().name);
    format!(
        "no tool is named {name:?} exactly, and it can mean {one:?} or {other:?}: write the one that is meant"
    )
}

/// A list at the gate: what can be told without waiting for a policy.
pub(crate) struct Gate {
    labels: Vec<Label>,
    refused: Vec<(u32, Finished)>,
    /// What fits its tool; parallel to `decisions`.
    runnable: Vec<Runnable>,
    decisions: Vec<(usize, ParallelDecision)>,
    /// What the policy says to them, in call order; nothing where there is nothing to judge.
    judged: Vec<Judged>,
}

/// A list after the gate: every item is refused, parked or planned.
pub(crate) struct Gated {
    /// Name and id of every item, for its answer.
    pub(crate) labels: Vec<Label>,
    /// The items that will not run.
    pub(crate) refused: Vec<(u32, Finished)>,
    /// The items that wait for an approval.
    pub(crate) asking: Vec<Asking>,
    /// What the policy said, in call order.
    pub(crate) judged: Vec<Judged>,
    /// The items that will, in call order; parallel to the plan's steps.
    pub(crate) runnable: Vec<Runnable>,
    /// Their order.
    pub(crate) plan: Plan,
}

/// A call that the policy wants to be asked about.
pub(crate) struct Asking {
    pub(crate) position: u32,
    pub(crate) entry: Arc<Entry>,
    /// The model's own arguments.
    pub(crate) arguments: String,
    pub(crate) check: PermissionCheck,
    pub(crate) rule: String,
}

/// What an answer echoes.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) tool: CompactString,
    pub(crate) id: CallId,
}

/// A call that may run.
pub(crate) struct Runnable {
    pub(crate) entry: Arc<Entry>,
    pub(crate) arguments: String,
}

/// Judges every item of a list.
pub(crate) fn gate(
    scope: &Scope,
    calls: Vec<Result<ToolCall, BadCall>>,
    options: &ExecuteOptions,
    permissions: &Permissions,
) -> Gate {
    let must_permit = permissions.config.policy.is_some() || !options.resumed.is_empty();
    let mut judged = Vec::new();
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
                let passed = fit(scope, &name, arguments, position, options).and_then(|mut fit| {
                    if must_permit {
                        judged.extend(permit(&mut fit, position, options, permissions)?);
                    }
                    Ok(fit)
                });
                match passed {
                    Ok(Fit { run, decision, .. }) => {
                        runnable.push(run);
                        decisions.push((position as usize, decision));
                    }
                    Err(finished) => refused.push((position, finished)),
                }
                labels.push(Label { tool: name, id });
            }
        }
    }
    Gate { labels, refused, runnable, decisions, judged }
}

impl Gate {
    /// Tells whether a policy must be waited for.
    pub(crate) fn waits(&self) -> bool {
        self.judged.iter().any(|judged| judged.waits.is_some())
    }

    /// Waits for all that the policy has not decided, each with its own deadline.
    pub(crate) async fn decide(&mut self, options: &ExecuteOptions) {
        let waiting = self.judged.iter_mut().filter(|judged| judged.waits.is_some());
        let deciding = waiting.map(|judged| {
            let standing = options.standing(judged.position as usize);
            judged.decided(standing)
        });
        deciding.collect::<FuturesUnordered<_>>().collect::<()>().await;
    }

    /// Plans what may run.
    pub(crate) fn plan(self) -> Gated {
        let Self { labels, mut refused, runnable, decisions, mut judged } = self;
        if judged.iter().all(|judged| judged.decision.verdict == Verdict::Allow) {
            return Gated { labels, refused, asking: Vec::new(), judged, runnable, plan: plan(decisions) };
        }
        let mut asking = Vec::new();
        let (mut may_run, mut planned) =
            (Vec::with_capacity(runnable.len()), Vec::with_capacity(runnable.len()));
        let mut said = judged.iter_mut().peekable();
        for (run, (position, decision)) in runnable.into_iter().zip(decisions) {
            let said = said.next_if(|judged| judged.position as usize == position);
            match said {
                Some(judged) if judged.decision.verdict == Verdict::Ask => asking.push(Asking {
                    position: judged.position,
                    entry: run.entry,
                    arguments: judged.arguments.take().unwrap_or(run.arguments),
                    check: judged.check.clone(),
                    rule: judged.decision.rule.clone(),
                }),
                Some(judged) if judged.decision.verdict == Verdict::Deny => {
                    let error = format!("tool {:?}: not permitted: {}", labels[position].tool, judged.check);
                    refused.push((judged.position, Finished::without_output(Outcome::Denied, error)));
                }
                _ => {
                    may_run.push(run);
                    planned.push((position, decision));
                }
            }
        }
        refused.sort_by_key(|(position, _)| *position);
        Gated { labels, refused, asking, judged, runnable: may_run, plan: plan(planned) }
    }
}

/// A call that fits its tool.
struct Fit {
    run: Runnable,
    decision: ParallelDecision,
    /// The model's own arguments, where the runtime has filled some in.
    own_arguments: Option<String>,
    /// The parameters that it has filled in.
    filled: Vec<String>,
}

/// Asks the policy about a call. From here on its numbers are written as they are judged, so that the tool gets
/// the very ones.
fn permit(
    fit: &mut Fit,
    position: u32,
    options: &ExecuteOptions,
    permissions: &Permissions,
) -> Result<Option<Judged>, Finished> {
    let Runnable { entry, arguments } = &mut fit.run;
    if let Some(same) = with_canonical_numbers(arguments) {
        *arguments = same;
    }
    let standing = options.standing(position as usize);
    let (agent, filled) = (options.agent.as_deref(), std::mem::take(&mut fit.filled));
    let judged = permissions.judge(&*entry.tool, position, arguments, filled, agent, standing)?;
    Ok(judged.map(|judged| Judged { arguments: fit.own_arguments.take(), ..judged }))
}

fn fit(
    scope: &Scope,
    name: &str,
    arguments: Arguments,
    position: u32,
    options: &ExecuteOptions,
) -> Result<Fit, Finished> {
    // A call that goes on is one of exactly the tool that it waited for.
    let found = match options.standing(position as usize) {
        Some(_) => scope.exact(name).ok_or_else(|| scope.unknown(name)),
        None => scope.find(name),
    };
    let entry = found.map_err(|error| match scope.catalog.off(name) {
        Some(off) => Finished::without_output(Outcome::Inactive, off),
        None => Finished::without_output(Outcome::UnknownTool, error),
    })?;
    if !entry.is_active(&scope.activation) {
        return Err(Finished::without_output(Outcome::Inactive, entry.inactive()));
    }
    if !scope.may_call(entry) {
        let error =
            format!("tool {name:?}: the call that submitted this list does not let it call this tool");
        return Err(Finished::without_output(Outcome::Inactive, error));
    }
    if let Some(runner) = &options.runner
        && entry.keeps_state()
        && !takes_state(&**runner, entry)
    {
        return Err(Finished::without_output(Outcome::NotStarted, no_state(&entry.spec().name)));
    }
    if let Some(row) = entry.row(options.agent.as_ref())
        && options.ancestry.held.iter().any(|(tool, held)| *tool == entry.spec().name && *held == row)
    {
        let error = format!("tool {name:?}: it is at work on this state and cannot call itself on it");
        return Err(Finished::without_output(Outcome::Denied, error));
    }
    let spec = entry.spec();
    let bad = |error| {
        let (error, by_schema) = entry.refusal(error);
        let mut finished = Finished::without_output(Outcome::BadArguments, error);
        if by_schema.is_some() {
            finished.detail.get_or_insert_default().schema_error = by_schema;
        }
        finished
    };
    let is_plain = matches!(arguments, Arguments::Plain(_));
    let text = arguments.into_object_text(spec).map_err(bad)?;
    if spec.injected.is_empty() {
        let text = entry.check_arguments(text, is_plain).map_err(bad)?;
        let decision = decide(entry, &text, &DecisionContext::default())?;
        let run = Runnable { entry: entry.clone(), arguments: text };
        return Ok(Fit { run, decision, own_arguments: None, filled: Vec::new() });
    }
    let own = text.clone();
    let injected = inject(text, spec, options.injected.as_deref(), options.inject_policy).map_err(bad)?;
    let Injected { text, filled } = injected;
    let text = entry.check_arguments(text, is_plain && filled.is_empty()).map_err(bad)?;
    let given = options.injected.as_ref();
    let context = DecisionContext {
        injected: given.is_some_and(|given| spec.injected.iter().any(|name| given.contains_key(name))),
    };
    let decision = decide(entry, &text, &context)?;
    // What the runtime has replaced is not kept either: it will not be executed.
    let own_arguments = (!filled.is_empty()).then(|| without_filled(&own, &filled).into_owned());
    Ok(Fit { run: Runnable { entry: entry.clone(), arguments: text }, decision, own_arguments, filled })
}

/// Asks a runner, whose code may panic, whether it takes a tool that keeps state.
fn takes_state(runner: &dyn Runner, entry: &Entry) -> bool {
    catch_unwind(AssertUnwindSafe(|| runner.takes_state(&*entry.tool))).unwrap_or(false)
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
