//! The actors of one engine, put together.

mod cut;
mod forget;
mod host;
mod resume;
mod staging;
mod state;
mod state_mark;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Handler, Message, Recipient};
use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::CancellationToken;
use toolyard_contract::{ActivationController, Tool};

use crate::{
    RunControl,
    activity::Activity,
    admission::{Admission, Limits},
    event::EngineEvent,
    extension::Extensions,
    messages::{CatalogChange, ChangeCatalog, EngineError, ExecuteCalls, PlanCalls, Preview, Report, Stop},
    observe::{DroppedEvents, EventStream, EventTap, Observers},
    overflow::{Overflow, OverflowConfig},
    permission::{PermissionConfig, Permissions},
    placement::Placement,
    restart::{Health, RestartPolicy},
    retry::RetryPolicy,
    rows::{StateOrigin, spread},
    supervisor::{
        Shared, SupervisorActor,
        catalog::Catalog,
        catalog_error::CatalogError,
        common::Common,
        published::{Current, Published},
        route::Route,
    },
    watch::{OnBlocked, Watch},
};

/// How the actors of an engine are set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct YardConfig {
    /// How many arbiters (threads with a mailbox loop) the engine uses. Default 1: a call to
    /// another arbiter costs several microseconds, so more pay only when tools compute.
    pub arbiters: usize,
    /// What may run at once.
    pub limits: Limits,
    /// How deep tools may submit lists from inside of calls. Default 4.
    pub child_depth: usize,
    /// How long a call may take where neither its tool nor its list says. Default 300 s; `None`: no
    /// limit.
    pub timeout: Option<Duration>,
    /// How long a whole list may take where it does not say. Default: no limit.
    pub deadline: Option<Duration>,
    /// How many bytes of one text of a result are handed on: of a longer text the first and the last
    /// half of them, of a longer JSON value a shorter one that says at each place what is left out; the
    /// whole is in a file, which `detail.full` names. Default 1,000,000: about what fits into a large
    /// context window.
    pub max_result_bytes: usize,
    /// Where results that are too large are kept whole. Default: in a temporary folder until the engine ends.
    pub overflow: OverflowConfig,
    /// When a call that ended badly is tried again.
    pub retry: RetryPolicy,
    /// Which tools are switched on. Default: all.
    pub activation: ActivationController,
    /// Who judges what calls want to do.
    pub permissions: PermissionConfig,
    /// How often a dead actor is replaced.
    pub restarts: RestartPolicy,
    /// Forgets agents that have had no list under way for so long, as [`Yard::forget`] does. They are looked for four
    /// times in that time, but once a minute at least. Default: never.
    pub forget_idle_agents: Option<Duration>,
    /// Drives tool futures that wait, so that they live where the host's connections live. Default:
    /// the arbiter of the tool's actor.
    pub tool_runtime: Option<Handle>,
}

impl Default for YardConfig {
    fn default() -> Self {
        Self {
            arbiters: 1,
            limits: Limits::default(),
            child_depth: 4,
            timeout: Some(Duration::from_mins(5)),
            deadline: None,
            max_result_bytes: 1_000_000,
            overflow: OverflowConfig::default(),
            retry: RetryPolicy::default(),
            activation: ActivationController::default(),
            permissions: PermissionConfig::default(),
            restarts: RestartPolicy::default(),
            forget_idle_agents: None,
            tool_runtime: None,
        }
    }
}

use host::Hosting;

pub use cut::StateCut;
pub use forget::{AgentTables, ForgetError, Forgotten};
pub use resume::Claim;
pub use staging::Staging;
pub use state::{StateError, ToolRows};

/// The running actors of one engine: a handle that any thread may hold.
#[derive(Clone)]
pub struct Yard {
    pub(crate) shared: Arc<Shared>,
    supervisors: Arc<[Addr<SupervisorActor>]>,
    turn: Arc<AtomicUsize>,
    hosting: Arc<Hosting>,
}

impl Yard {
    /// Starts the actors on the current actix system.
    ///
    /// # Errors
    /// When two tools share a name, or a schema cannot be used.
    ///
    /// # Panics
    /// Outside an actix system.
    pub fn start(config: YardConfig, changes: Vec<CatalogChange>) -> Result<Self, CatalogError> {
        let placement = Placement::new(config.arbiters.max(1), config.limits.max_blocking);
        let arbiters: Vec<_> = placement.arbiters().cloned().collect();
        let shared = Arc::new(Shared {
            published: Published::default(),
            common: Arc::new(Common {
                admissions: Admission::for_depths(&config.limits, config.child_depth + 1),
                keys: Arc::default(),
                observers: Arc::new(Observers::new()),
                overflow: Overflow::new(config.max_result_bytes, config.overflow),
                timeout: config.timeout,
                deadline: config.deadline,
                retry: config.retry,
                activation: config.activation,
                permissions: Permissions::new(config.permissions),
                origin: StateOrigin::new(),
                shutdown: CancellationToken::new(),
            }),
            activity: Arc::new(Activity::new(config.forget_idle_agents.is_some())),
            tool_runtime: config.tool_runtime,
            restarts: config.restarts,
            watch: Watch::new(),
            runs: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            gone: CancellationToken::new(),
            placement: Mutex::new(placement),
            extensions: Extensions::new(),
        });
        if let Err(error) = shared.change_catalog(changes) {
            shared.placement.lock().stop();
            return Err(error);
        }
        let start = |arbiter| {
            let shared = shared.clone();
            SupervisorActor::start_in_arbiter(arbiter, move |_| SupervisorActor::new(shared))
        };
        let supervisors: Arc<[_]> = arbiters.iter().map(start).collect();
        let hosting = Arc::new(Hosting::new(shared.clone(), supervisors[0].clone()));
        let yard = Self { shared, supervisors, turn: Arc::default(), hosting };
        if let Some(age) = config.forget_idle_agents {
            yard.forget_idle(age);
        }
        Ok(yard)
    }

    /// The supervisor that takes this agent's lists: always the same one for one agent.
    pub fn supervisor(&self, agent: Option<&str>) -> &Addr<SupervisorActor> {
        let many = self.supervisors.len();
        let index = match agent {
            Some(_) => spread(agent, many),
            None => self.turn.fetch_add(1, Ordering::Relaxed) % many,
        };
        &self.supervisors[index]
    }

    /// The supervisor that changes the catalogue.
    pub fn first_supervisor(&self) -> &Addr<SupervisorActor> {
        &self.supervisors[0]
    }

    /// Runs a list.
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub async fn execute(&self, message: ExecuteCalls) -> Result<Report, EngineError> {
        if self.is_closed() {
            return Err(EngineError::Stopped);
        }
        let cancel = CancelOnDrop(Some(message.control.clone()));
        let supervisor = self.supervisor(message.options.agent.as_deref());
        let report = self.ask(supervisor, message).await?;
        cancel.keep();
        report
    }

    /// Runs a list as part of the calling task, without a message to a supervisor. For tasks on the
    /// system of the actors, which saves half the way there and back.
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers, and for a list with tools of its own outside an actix system.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub async fn execute_here(&self, message: ExecuteCalls) -> Result<Report, EngineError> {
        self.shared.run_here(message, None).await
    }

    /// Judges and plans a list over the current catalogue without running anything.
    ///
    /// # Errors
    /// When the engine has stopped, or the list's own tools clash.
    pub async fn plan(&self, message: PlanCalls) -> Result<Preview, EngineError> {
        let supervisor = self.supervisor(message.options.agent.as_deref());
        self.ask(supervisor, message).await?
    }

    /// Sends a message and waits for the answer, unless the actors are gone or go.
    async fn ask<M>(&self, supervisor: &Addr<SupervisorActor>, message: M) -> Result<M::Result, EngineError>
    where
        SupervisorActor: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        tokio::select! {
            biased;
            answer = supervisor.send(message) => answer.map_err(|_| EngineError::Stopped),
            () = self.shared.gone.cancelled() => Err(EngineError::Stopped),
        }
    }

    /// The current catalogue.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.published.catalog()
    }

    /// Which tools are switched on; may be changed at any time.
    pub fn activation(&self) -> &ActivationController {
        &self.shared.common.activation
    }

    /// Changes the catalogue for the lists to come.
    ///
    /// # Errors
    /// When one change cannot be made; then none is.
    pub async fn change_catalog(&self, changes: Vec<CatalogChange>) -> Result<(), EngineError> {
        Ok(self.ask(&self.supervisors[0], ChangeCatalog(changes)).await??)
    }

    /// Drives work on the engine's side, where there are timers: on the host's runtime if the engine
    /// was given one, else on its first arbiter.
    ///
    /// # Errors
    /// When the engine has stopped, or the work panicked.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the work.
    pub async fn drive<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (send, receive) = oneshot::channel();
        let work = async move {
            // Nobody waits for it any more when the caller went away.
            let _ = send.send(work.await);
        };
        match &self.shared.tool_runtime {
            Some(runtime) => drop(runtime.spawn(work)),
            None => drop(self.shared.placement.lock().arbiters().next().map(|first| first.spawn(work))),
        }
        tokio::select! {
            biased;
            done = receive => done.map_err(|_| EngineError::Stopped),
            () = self.shared.gone.cancelled() => Err(EngineError::Stopped),
        }
    }

    /// Ends what outlives calls: Python processes with their global variables, sessions, containers. What calls under
    /// way use goes when they have ended; the next call begins anew. Committed states stay.
    pub async fn release(&self) {
        self.shared.let_go(false).await;
        self.shared.extensions.release().await;
    }

    /// How many tools have actors: those of the catalogue, and those that lists under way still use.
    pub fn tools_alive(&self) -> usize {
        self.shared.placement.lock().taken()
    }

    /// How a tool's actors have fared; `None` when there is no such tool.
    pub fn health(&self, tool: &str) -> Option<Health> {
        self.route(tool).map(|route| route.health())
    }

    /// Tells `listener`, on a thread of its own, the name of a tool each time it has kept its arbiter from all other
    /// work for 2 s; [`Health::blocked`] counts the same.
    pub fn on_blocked(&self, listener: OnBlocked) {
        self.shared.watch.listen(listener);
    }

    /// Makes the actor that serves an agent's calls of a tool panic, to see how a host lives with
    /// that. Tells whether there is such a tool.
    pub fn crash(&self, tool: &str, agent: Option<&str>) -> bool {
        self.route(tool).map(|route| route.crash(agent)).is_some()
    }

    fn route(&self, tool: &str) -> Option<Arc<Route>> {
        let Current { catalog, routes } = self.shared.published.current();
        routes.of(catalog.get(tool)?).cloned()
    }

    /// Listens to the engine's events, with room for `capacity` that wait.
    pub fn subscribe(&self, capacity: usize) -> EventStream {
        self.shared.common.observers.subscribe(capacity)
    }

    /// Sends the engine's events to an actor of the host; what its mailbox has no room for is lost
    /// and counted.
    pub fn subscribe_actor(&self, recipient: Recipient<EngineEvent>) -> DroppedEvents {
        self.shared.common.observers.subscribe_actor(recipient)
    }

    /// Listens on a plain thread, with room for `capacity` events that wait.
    pub fn subscribe_thread(
        &self,
        capacity: usize,
    ) -> (crossbeam_channel::Receiver<EngineEvent>, DroppedEvents) {
        self.shared.common.observers.subscribe_thread(capacity)
    }

    /// Gives every event to `tap`, where it happens.
    pub fn tap(&self, tap: Arc<dyn EventTap>) {
        self.shared.common.observers.tap(tap);
    }

    /// Tells whether no more lists are taken.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Takes no more lists, from now on.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
    }

    /// Says that nobody drives the actors any more, so that nobody waits for their answers, and
    /// removes the files of large results that go with the engine.
    pub fn retire(&self) {
        self.shared.gone.cancel();
        self.shared.common.overflow.remove();
    }

    /// Ends the engine's actors, and nothing else of the system: refuses new lists, waits up to
    /// `patience` for those under way, cancels the rest.
    pub async fn stop(&self, patience: Duration) {
        self.close();
        // An error means that the actors are gone already.
        let _ = self.supervisors[0].send(Stop { patience }).await;
    }
}

impl std::fmt::Debug for Yard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Yard").field("supervisors", &self.supervisors.len()).finish_non_exhaustive()
    }
}

struct CancelOnDrop(Option<RunControl>);

impl CancelOnDrop {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(control) = self.0.take() {
            control.cancel();
        }
    }
}

/// Tools as changes that add them.
impl From<Arc<dyn Tool>> for CatalogChange {
    fn from(tool: Arc<dyn Tool>) -> Self {
        Self::Add(tool)
    }
}
