//! The engine: what most people hold.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use toolyard_actors::{
    CatalogChange, DroppedEvents, EngineError, EngineEvent, EventStream, EventTap, ExecuteCalls,
    ExecuteOptions, ExtensionStatus, OnBlocked, PlanCalls, Preview, Report, RunControl, Yard,
};
use toolyard_contract::{ActivationController, BadCall, ToolCall, ToolSpec};

use crate::{
    builder::EngineBuilder,
    config::{Settings, WrittenConfig},
    extensions::OwnExtensions,
    providers::Providers,
    system::SystemThread,
};

/// Runs lists of calls. Clones share one engine; any thread and any tokio runtime may use it.
///
/// The actors live on a thread of the engine's own. Dropping the last clone tells it to stop and
/// does not wait; [`shutdown`](Self::shutdown) waits.
///
/// ```
/// use toolyard::{Arguments, Engine, ToolCall, builtin::calculator::CalculatorTool};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder().tool(CalculatorTool::default()).build()?;
/// let calls = vec![ToolCall::new("calculator", Arguments::from_text("6*7".into()))];
/// let report = engine.execute_blocking(calls, Default::default())?;
/// assert_eq!(report.results[0].output.as_ref().and_then(|o| o.as_text()), Some("42"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    yard: Yard,
    thread: SystemThread,
    settings: Settings,
    providers: Arc<Providers>,
    #[cfg_attr(not(any(feature = "docker", feature = "mcp", feature = "python")), expect(dead_code))]
    own: OwnExtensions,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Joining here would deadlock when a tool holds the last clone.
        self.yard.close();
        self.thread.signal_stop(Duration::ZERO);
    }
}

/// A list for an engine: calls, or items some of which could not be read as calls.
pub trait IntoCalls {
    /// Gives the items in order.
    fn into_calls(self) -> Vec<Result<ToolCall, BadCall>>;
}

impl IntoCalls for Vec<ToolCall> {
    fn into_calls(self) -> Vec<Result<ToolCall, BadCall>> {
        self.into_iter().map(Ok).collect()
    }
}

impl IntoCalls for Vec<Result<ToolCall, BadCall>> {
    fn into_calls(self) -> Vec<Result<ToolCall, BadCall>> {
        self
    }
}

impl Engine {
    /// Starts putting an engine together.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    pub(crate) fn new(
        thread: SystemThread,
        yard: Yard,
        settings: Settings,
        providers: Arc<Providers>,
        own: OwnExtensions,
    ) -> Self {
        Self(Arc::new(Inner { yard, thread, settings, providers, own }))
    }

    pub(crate) fn providers(&self) -> &Arc<Providers> {
        &self.0.providers
    }

    #[cfg(any(feature = "docker", feature = "python"))]
    pub(crate) fn own(&self) -> &OwnExtensions {
        &self.0.own
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The MCP servers of the engine.
    #[cfg(feature = "mcp")]
    pub fn mcp(&self) -> &toolyard_actors::mcp::McpPool {
        &self.0.own.mcp
    }

    /// How each extension of the engine is, by its name, in the order in which they started.
    pub fn extensions(&self) -> Vec<(String, ExtensionStatus)> {
        self.0.yard.extensions()
    }

    pub(crate) fn yard(&self) -> &Yard {
        &self.0.yard
    }

    /// Runs a list and gives one result for each of its items, in their order.
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub async fn execute(
        &self,
        calls: impl IntoCalls,
        options: ExecuteOptions,
    ) -> Result<Report, EngineError> {
        self.submit(calls, options).await
    }

    /// Makes a list ready and gives a hand on it; it runs while the returned [`Run`] is awaited.
    pub fn submit(&self, calls: impl IntoCalls, options: ExecuteOptions) -> Run {
        #[cfg(feature = "otel")]
        let options = crate::telemetry::in_current_span(options);
        let control = RunControl::new();
        let message = ExecuteCalls { calls: calls.into_calls(), options, control: control.clone() };
        let engine = self.clone();
        Run { control, work: Box::pin(async move { engine.0.yard.execute(message).await }) }
    }

    /// Runs a list from a thread outside any async runtime.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    ///
    /// # Panics
    /// Never, but inside an async runtime it blocks a thread of it; on the engine's own thread that
    /// is a deadlock.
    pub fn execute_blocking(
        &self,
        calls: impl IntoCalls,
        options: ExecuteOptions,
    ) -> Result<Report, EngineError> {
        futures::executor::block_on(self.execute(calls, options))
    }

    /// Judges and plans a list without running anything.
    ///
    /// # Errors
    /// When the engine has stopped, or the list's own tools clash.
    pub async fn plan(&self, calls: impl IntoCalls, options: ExecuteOptions) -> Result<Preview, EngineError> {
        self.0.yard.plan(PlanCalls { calls: calls.into_calls(), options }).await
    }

    /// The tools, in the order of registration.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.yard.catalog().entries().iter().map(|entry| entry.spec().clone()).collect()
    }

    /// The tools that are switched on, in the order of registration.
    pub fn active_specs(&self) -> Vec<ToolSpec> {
        self.activation().filter(self.specs())
    }

    /// Which tools are switched on; may be changed at any time.
    pub fn activation(&self) -> &ActivationController {
        self.0.yard.activation()
    }

    /// Writes the engine's settings down, for [`EngineBuilder::config`].
    pub fn to_config(&self) -> WrittenConfig {
        #[cfg_attr(not(any(feature = "python", feature = "mcp")), allow(unused_mut))]
        let mut written = self.0.settings.write(&self.0.yard);
        #[cfg(feature = "python")]
        self.0.own.python.write_to(&mut written);
        #[cfg(feature = "mcp")]
        self.settings().mcp.write_to(self.mcp(), &mut written);
        written
    }

    /// Changes the tools for the lists to come; all of it or nothing.
    ///
    /// # Errors
    /// When one change cannot be made; then none is.
    pub async fn change_tools(&self, changes: Vec<CatalogChange>) -> Result<(), EngineError> {
        let _changing = self.0.providers.changing().await;
        self.0.yard.change_catalog(changes).await
    }

    /// Listens to what happens in the engine, with room for `capacity` events that wait to be read.
    pub fn subscribe(&self, capacity: usize) -> EventStream {
        self.0.yard.subscribe(capacity)
    }

    /// Listens on a plain thread, with room for `capacity` events that wait.
    pub fn subscribe_thread(
        &self,
        capacity: usize,
    ) -> (crossbeam_channel::Receiver<EngineEvent>, DroppedEvents) {
        self.0.yard.subscribe_thread(capacity)
    }

    /// Gives every event to `tap`, where it happens: none is lost, and the calls wait for it.
    pub fn tap(&self, tap: Arc<dyn EventTap>) {
        self.0.yard.tap(tap);
    }

    /// Tells `listener` the name of a tool each time it has kept its arbiter from all other work for 2 s, because it
    /// blocks or computes without being a `blocking` tool. The first time a warning names it; [`Health::blocked`]
    /// counts. Finding out costs calls nothing: one thread of the process looks every half second.
    ///
    /// [`Health::blocked`]: crate::Health::blocked
    pub fn on_blocked(&self, listener: OnBlocked) {
        self.0.yard.on_blocked(listener);
    }

    /// Takes no more lists, waits up to `patience` for those under way, cancels the rest, closes the
    /// providers, and returns when the actors are gone.
    ///
    /// The first call sets the patience.
    ///
    /// # Cancellation
    /// Dropping the future does not take the stop back.
    pub async fn shutdown(&self, patience: Duration) {
        self.0.yard.close();
        self.0.thread.signal_stop(patience);
        self.0.thread.ended().await;
    }
}

/// A list and a hand on it. Await it for the report.
///
/// # Cancellation
/// Dropping it cancels the list.
#[must_use = "a list runs only while it is awaited"]
pub struct Run {
    control: RunControl,
    work: Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>,
}

impl Run {
    /// A hand on the list that can be kept while the list is awaited.
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }
}

impl IntoFuture for Run {
    type Output = Result<Report, EngineError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        self.work
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("control", &self.control).finish_non_exhaustive()
    }
}
