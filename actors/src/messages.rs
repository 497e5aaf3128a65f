//! What can be sent to the actors of an engine.

use std::{fmt, sync::Arc, time::Duration};

use actix::Message;
use serde_json::{Map, Value};
use toolyard_contract::{
    BadCall, Batch, CallId, EffectTags, InjectPolicy, NextStep, Outcome, ParkedCall, PermissionCheck,
    PermissionDecision, Plan, Refusal, Request, Resumption, RunId, Runner, Standing, SuspendedList, Tool,
    ToolCall, ToolResult,
};

use crate::supervisor::{ancestry::Ancestry, catalog_error::CatalogError, control::RunControl};

/// Runs a list of calls. Sent to a [`SupervisorActor`](crate::SupervisorActor).
///
/// # Cancellation
/// Dropping the reply does not stop the list; cancelling through [`RunControl`] does.
#[derive(Message)]
#[rtype(result = "Result<Report, EngineError>")]
pub struct ExecuteCalls {
    /// The items, readable or not; each gets one result.
    pub calls: Vec<Result<ToolCall, BadCall>>,
    /// How to run them.
    pub options: ExecuteOptions,
    /// The caller's hand on the list.
    pub control: RunControl,
}

impl ExecuteCalls {
    /// Makes a message without a hand on the list.
    pub fn new(calls: Vec<ToolCall>, options: ExecuteOptions) -> Self {
        Self { calls: calls.into_iter().map(Ok).collect(), options, control: RunControl::default() }
    }
}

/// Judges and plans a list without running anything. Sent to a [`SupervisorActor`](crate::SupervisorActor).
#[derive(Message)]
#[rtype(result = "Result<Preview, EngineError>")]
pub struct PlanCalls {
    /// The items, readable or not.
    pub calls: Vec<Result<ToolCall, BadCall>>,
    /// How they would be run.
    pub options: ExecuteOptions,
}

/// A list judged and planned, but not run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Preview {
    /// The tool that each item names.
    pub tools: Vec<String>,
    /// What the tools of those that would run say about their effects; parallel to the plan's steps.
    pub effects: Vec<EffectTags>,
    /// The items that would not run.
    pub problems: Vec<Problem>,
    /// The order of those that would.
    pub plan: Plan,
    /// What the permission policy says to those that fit their tools, in call order.
    pub permissions: Vec<Permission>,
    /// The version of the policy; empty without one.
    pub policy_version: String,
}

/// What the permission policy says to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The call's position.
    pub index: usize,
    /// What it wants to do.
    pub check: PermissionCheck,
    /// What the policy says, and why.
    pub decision: PermissionDecision,
}

/// An item that would not run.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its position.
    pub index: usize,
    /// What it would get.
    pub outcome: Outcome,
    /// Why.
    pub error: String,
}

/// Ends the engine's actors, and nothing else of the system. Sent to any supervisor of an engine.
///
/// Lists to come are refused; those under way may take up to `patience`, then they are cancelled.
/// The reply comes when all of them have been answered.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop {
    /// How long lists under way may take.
    pub patience: Duration,
}

/// Changes the catalogue. Sent to the first supervisor of an engine.
///
/// All or nothing: when one change cannot be made, none is.
#[derive(Message)]
#[rtype(result = "Result<(), CatalogError>")]
pub struct ChangeCatalog(pub Vec<CatalogChange>);

/// One change of the catalogue.
#[derive(Clone)]
#[non_exhaustive]
pub enum CatalogChange {
    /// Adds a tool; its name must be free.
    Add(Arc<dyn Tool>),
    /// Puts a tool in the place of the one with the same name.
    Replace(Arc<dyn Tool>),
    /// Adds a tool, or puts it in the place of the one with the same name; a name that differs in its
    /// spelling alone is taken.
    Put(Arc<dyn Tool>),
    /// Takes a tool out.
    Remove(String),
    /// Lets the first name stand for the tool with the second.
    Alias(String, String),
    /// Says of a tool that could be there how to switch it on: its calls are `inactive` and told that, while no tool has
    /// the name.
    Off {
        /// The tool.
        name: String,
        /// How to switch it on.
        remedy: String,
    },
}

/// How a list is run.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ExecuteOptions {
    /// On whose behalf. Default: nobody's.
    pub agent: Option<Arc<str>>,
    /// How long one call may take from the start of its work, where its tool does not say. Default:
    /// the engine's.
    pub timeout: Option<Duration>,
    /// How long the whole list may take. Default: the engine's.
    pub deadline: Option<Duration>,
    /// Skips what has not begun once a call has ended other than `ok`. Default: false.
    pub stop_on_failure: bool,
    /// Values of the runtime for parameters that tools declare as injected. Default: none.
    pub injected: Option<Arc<Map<String, Value>>>,
    /// Which value wins when the model gave one too. Default: the runtime's.
    pub inject_policy: InjectPolicy,
    /// Runs the tools' bodies somewhere else, in lists inside of calls too; a tool that keeps state goes there only
    /// if the runner takes such tools, and is `not_started` otherwise. Default: here.
    pub runner: Option<Arc<dyn Runner>>,
    /// Tools for this list alone; the engine's own tools win over them. Default: none.
    pub guests: Vec<Arc<dyn Tool>>,
    /// The node of a behaviour tree that submits the list: events about its calls name it. Default: none.
    pub node: Option<Arc<str>>,
    /// The span that the list's own span is to be in. Default: the current one where the list begins.
    pub caller: Option<tracing::Span>,
    /// The calls that go on after they waited, by position.
    pub(crate) resumed: Vec<Resumption>,
    /// The calls that this list is nested in.
    pub(crate) ancestry: Ancestry,
}

impl ExecuteOptions {
    /// Starts with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the agent on whose behalf the list runs.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<Arc<str>>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Names the node of a behaviour tree that submits the list.
    #[must_use]
    pub fn node(mut self, name: impl Into<Arc<str>>) -> Self {
        self.node = Some(name.into());
        self
    }

    /// Sets how long one call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long the whole list may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Skips what has not begun once a call has ended other than `ok`.
    #[must_use]
    pub fn stop_on_failure(mut self, stop: bool) -> Self {
        self.stop_on_failure = stop;
        self
    }

    /// Gives values of the runtime to the tools that declare parameters for them.
    #[must_use]
    pub fn inject(mut self, values: Map<String, Value>, policy: InjectPolicy) -> Self {
        self.injected = Some(Arc::new(values));
        self.inject_policy = policy;
        self
    }

    /// Runs the tools' bodies on `runner`.
    #[must_use]
    pub fn runner(mut self, runner: Arc<dyn Runner>) -> Self {
        self.runner = Some(runner);
        self
    }

    pub(crate) fn standing(&self, position: usize) -> Option<&Standing> {
        let found = self.resumed.binary_search_by_key(&position, |resumed| resumed.index);
        found.ok().map(|at| &self.resumed[at].standing)
    }

    /// Adds a tool for this list alone.
    #[must_use]
    pub fn guest(mut self, tool: Arc<dyn Tool>) -> Self {
        self.guests.push(tool);
        self
    }
}

impl fmt::Debug for ExecuteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Injected values may be secrets: only their names are shown.
        f.debug_struct("ExecuteOptions")
            .field("agent", &self.agent)
            .field("timeout", &self.timeout)
            .field("deadline", &self.deadline)
            .field("stop_on_failure", &self.stop_on_failure)
            .field("injected", &self.injected.as_ref().map(|values| values.keys().collect::<Vec<_>>()))
            .field("guests", &self.guests.len())
            .finish_non_exhaustive()
    }
}

/// A list that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The list's number in its engine.
    pub run: RunId,
    /// One result per item, in the items' order.
    pub results: Vec<ToolResult>,
    /// The calls that were planned, in runs that share a strategy.
    pub batches: Vec<Batch>,
    /// The calls that wait for somebody, in call order.
    pub parked: Vec<ParkedCall>,
    /// From the list's start to its last answer.
    pub elapsed: Duration,
}

impl Report {
    /// Tells whether every call worked.
    pub fn all_ok(&self) -> bool {
        self.results.iter().all(ToolResult::is_ok)
    }

    /// What must be answered before the list is whole, all at once.
    pub fn requests(&self) -> Vec<Request<'_>> {
        self.parked.iter().map(ParkedCall::request).collect()
    }

    /// Says whether the agent's loop goes on, and why not.
    pub fn next_step(&self) -> NextStep {
        NextStep::of(self.parked.len(), &self.results)
    }

    /// Refuses the calls that wait: there is nobody to answer for a list inside a call.
    pub(crate) fn without_requests(mut self) -> Self {
        for parked in self.parked.drain(..) {
            let result = &mut self.results[parked.index];
            result.outcome = Outcome::Denied;
            result.request = None;
            result.error = Some(format!(
                "tool {:?}: not permitted: it {}, and a list inside a call cannot wait",
                result.tool, parked.reason
            ));
        }
        self
    }

    /// Makes the record with which the list can go on, here or elsewhere.
    pub fn suspend(&self, document: CallId) -> SuspendedList {
        let agent = self.parked.first().and_then(|parked| parked.binding.agent.clone());
        let mut list = SuspendedList::new(document, agent, self.results.clone(), self.parked.clone());
        list.batches.clone_from(&self.batches);
        list.add_elapsed(self.elapsed);
        list
    }
}

/// Why a suspended list did not go on. Nothing of it ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// An answer cannot be taken.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The engine does not take the list.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a list was not taken at all. Nothing of it ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine has been shut down.
    #[error("the engine has stopped")]
    Stopped,
    /// Too many lists are under way.
    #[error("the engine is busy with {lists} lists; try again in {} ms", retry_after.as_millis())]
    Overloaded {
        /// How many lists are under way at most.
        lists: usize,
        /// When trying again may help.
        retry_after: Duration,
    },
    /// The list has more items than positions.
    #[error("a list may have at most {most} calls, this one has {calls}")]
    ListTooLong {
        /// The limit.
        most: usize,
        /// What was given.
        calls: usize,
    },
    /// A tool's list is nested in too many others.
    #[error("lists may be nested {most} deep")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// The catalogue cannot be changed like that.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}
