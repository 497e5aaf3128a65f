//! One call of one tool, without an engine.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use toolyard_contract::{
    ArgumentError, Arguments, CallContext, Failure, InjectPolicy, IntoTool, Invocation, Outcome, Reply,
    RowKey, Runner, ShardWork, StatePart, StateScope, Tool, ToolFuture, ToolReturn, ToolSet,
    arguments::inject, name, runner::no_state,
};

use crate::{
    call_end::Finished,
    guard::{Ended, Guarded, start_guarded},
    state::begin_elsewhere,
    supervisor::catalog::Entry,
};

/// One call that runs without an engine: no permits, no order, no permission, no time-out, no state that stays, no
/// second try. What holds of a call in an engine otherwise holds here too: its arguments are checked against the
/// schema, values of the runtime are merged in before, a panic is a failure, and a body that blocks runs on a thread of
/// the current tokio runtime, where there is one.
///
/// ```
/// use toolyard_actors::{DirectCall, ExecuteTool};
/// # use std::sync::Arc;
/// # use toolyard_contract::{Invocation, Tool, ToolFuture, ToolSpec};
/// # struct Echo(ToolSpec);
/// # impl Tool for Echo {
/// #     fn spec(&self) -> &ToolSpec { &self.0 }
/// #     fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
/// #         ToolFuture::ready(Ok(invocation.arguments.into()))
/// #     }
/// # }
/// # let tool = Echo(ToolSpec::new("echo").injected(["tenant"]));
///
/// let call = DirectCall::new(serde_json::json!({"text": "hi"})).inject("tenant", "acme");
/// # futures::executor::block_on(async move {
/// let reply = tool.execute(call).await?;
/// assert_eq!(reply.output.unwrap().to_text(), r#"{"tenant":"acme","text":"hi"}"#);
/// # Ok::<_, toolyard_contract::Failure>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Default)]
#[must_use = "it does nothing unless it is given to a tool"]
pub struct DirectCall {
    arguments: Arguments,
    injected: Map<String, Value>,
    policy: InjectPolicy,
    runner: Option<Arc<dyn Runner>>,
    context: Option<CallContext>,
}

impl DirectCall {
    /// Makes a call with these arguments: JSON, or plain text for a tool that takes it.
    pub fn new(arguments: impl Into<Arguments>) -> Self {
        Self { arguments: arguments.into(), ..Self::default() }
    }

    /// Gives a value for a parameter that the tool declares as injected.
    pub fn inject(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.injected.insert(name.into(), value.into());
        self
    }

    /// Sets which value wins where the arguments have one too. Default: the injected one.
    pub fn inject_policy(mut self, policy: InjectPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Lets `runner` do the work, in place of the tool's own body.
    pub fn runner(mut self, runner: Arc<dyn Runner>) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Sets where the call comes from: its agent, its deadline, who hears of its progress. Default: nowhere.
    pub fn context(mut self, context: CallContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Runs the call on `tool`.
    fn on(self, tool: Arc<dyn Tool>) -> ToolFuture {
        let entry = Entry::detached(tool);
        let arguments = match self.checked(&entry) {
            Ok(arguments) => arguments,
            Err(error) => return ToolFuture::ready(Err(refused(&entry, error))),
        };
        let context = self.context.unwrap_or_else(CallContext::detached);
        let invocation = Invocation { arguments, context };
        let tool = entry.tool().clone();
        let runner = self.runner;
        let is_blocking = entry.is_blocking() && runner.is_none();
        let start = move || match runner {
            Some(runner) => elsewhere(&*runner, tool, invocation),
            None => tool.call(invocation),
        };
        if is_blocking && let Ok(runtime) = Handle::try_current() {
            let name = entry.spec().name.clone();
            let work = runtime.spawn_blocking(move || match start_guarded(start) {
                Ok(work) => judged(Guarded::new(Box::pin(work)).block_on(), &entry),
                Err(panic) => judged(Ended::Panicked(panic), &entry),
            });
            return ToolFuture::new(async move {
                work.await
                    .unwrap_or_else(|_| Err(Failure::lost(format!("tool {name:?}: its thread went away"))))
            });
        }
        match start_guarded(start) {
            Ok(work) => ToolFuture::new(async move { judged(Guarded::new(Box::pin(work)).await, &entry) }),
            Err(panic) => ToolFuture::ready(judged(Ended::Panicked(panic), &entry)),
        }
    }

    fn checked(&self, entry: &Entry) -> Result<String, ArgumentError> {
        let text = self.arguments.clone().into_object_text(entry.spec())?;
        let injected = inject(text, entry.spec(), Some(&self.injected), self.policy)?;
        entry.check_arguments(injected.text, false)
    }
}

impl std::fmt::Debug for DirectCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Injected values may be secrets: only their names are shown.
        f.debug_struct("DirectCall")
            .field("arguments", &self.arguments)
            .field("injected", &self.injected.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Starts the work where a runner does it.
fn elsewhere(runner: &dyn Runner, tool: Arc<dyn Tool>, invocation: Invocation) -> ToolFuture {
    let Some(StatePart { scope, mut shard, .. }) = tool.state() else { return runner.run(tool, invocation) };
    if !runner.takes_state(&*tool) {
        return ToolFuture::ready(Err(Failure::not_started(no_state(&tool.spec().name))));
    }
    let key = match invocation.context.agent() {
        Some(agent) if scope == StateScope::Agent => RowKey::Agent(agent.into()),
        _ => RowKey::Engine,
    };
    match begin_elsewhere(&mut *shard, &key, runner, &tool, invocation) {
        ShardWork::Done(returned) => ToolFuture::ready(returned),
        ShardWork::Waits(waits) => ToolFuture::new(async move { waits.await.0 }),
        ShardWork::Blocks(blocks) => ToolFuture::ready(blocks().0),
    }
}

fn refused(entry: &Entry, error: ArgumentError) -> Failure {
    let (error, by_schema) = entry.refusal(error);
    let failure = Failure::bad_arguments(error);
    match by_schema {
        Some(reason) => failure.detail(|detail| detail.schema_error = Some(reason)),
        None => failure,
    }
}

fn judged(ended: Ended<ToolReturn>, entry: &Entry) -> ToolReturn {
    let Finished { outcome, output, error, detail, .. } = ended.judged_by(entry);
    match outcome {
        Outcome::Ok => Ok(Reply { output, detail }),
        _ => Err(Failure { outcome, error: error.unwrap_or_default(), output, detail }),
    }
}

/// Runs a tool without an engine.
pub trait ExecuteTool {
    /// Runs one call of the tool. A tool with inner state works on its initial state, which is then forgotten.
    ///
    /// # Cancellation
    /// Dropping the future drops the work; a body that blocks goes on.
    fn execute(self, call: DirectCall) -> ToolFuture;
}

impl<T: IntoTool> ExecuteTool for T {
    fn execute(self, call: DirectCall) -> ToolFuture {
        call.on(self.into_tool())
    }
}

/// Runs a tool of a set without an engine.
pub trait ExecuteIn {
    /// Runs one call of the tool with this name. A name that no tool of the set has is a failure `unknown_tool`.
    ///
    /// # Cancellation
    /// As [`ExecuteTool::execute`].
    fn execute(&self, name: &str, call: DirectCall) -> ToolFuture;
}

impl ExecuteIn for ToolSet {
    fn execute(&self, wanted: &str, call: DirectCall) -> ToolFuture {
        if let Some(tool) = self.get(wanted) {
            return call.on(tool.clone());
        }
        let hint = name::alternatives(wanted, self.names());
        let there_is =
            if hint.is_empty() { "the set has no tools".to_owned() } else { format!("there is: {hint}") };
        let error = format!("no tool is named {:?}; {there_is}", name::shown(wanted));
        ToolFuture::ready(Err(Failure { outcome: Outcome::UnknownTool, ..Failure::failed(error) }))
    }
}
