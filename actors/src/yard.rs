//! The actors of one engine, put together.

mod state;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr};
use parking_lot::Mutex;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;
use toolyard_contract::Tool;

use crate::{
    RunControl,
    admission::{Admission, Limits},
    messages::{CatalogChange, ChangeCatalog, EngineError, ExecuteCalls, PlanCalls, Preview, Report},
    observe::{EventStream, Observers},
    placement::Placement,
    restart::{Health, RestartPolicy},
    supervisor::{
        Shared, SupervisorActor,
        catalog::{Catalog, CatalogError, Published, spread},
    },
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
    /// How long a call may take where neither its tool nor its list says. Default 300 s; `None`: no
    /// limit.
    pub timeout: Option<Duration>,
    /// How often a dead actor is replaced.
    pub restarts: RestartPolicy,
    /// Drives tool futures that wait, so that they live where the host's connections live. Default:
    /// the arbiter of the tool's actor.
    pub tool_runtime: Option<Handle>,
}

impl Default for YardConfig {
    fn default() -> Self {
        Self {
            arbiters: 1,
            limits: Limits::default(),
            timeout: Some(Duration::from_mins(5)),
            restarts: RestartPolicy::default(),
            tool_runtime: None,
        }
    }
}

pub use state::{StateError, ToolRows};

/// The running actors of one engine: a handle that any thread may hold.
#[derive(Clone)]
pub struct Yard {
    pub(crate) shared: Arc<Shared>,
    supervisors: Arc<[Addr<SupervisorActor>]>,
    turn: Arc<AtomicUsize>,
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
            admission: Arc::new(Admission::new(config.limits)),
            observers: Arc::new(Observers::new()),
            timeout: config.timeout,
            tool_runtime: config.tool_runtime,
            restarts: config.restarts,
            runs: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            shutdown: CancellationToken::new(),
            placement: Mutex::new(placement),
            #[cfg(feature = "python")]
            python: Mutex::default(),
        });
        if let Err(error) = shared.change_catalog(changes) {
            shared.placement.lock().stop();
            return Err(error);
        }
        let start = |arbiter| {
            let shared = shared.clone();
            SupervisorActor::start_in_arbiter(arbiter, move |_| SupervisorActor::new(shared))
        };
        let supervisors = arbiters.iter().map(start).collect();
        Ok(Self { shared, supervisors, turn: Arc::default() })
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

    /// Runs a list.
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub async fn execute(&self, message: ExecuteCalls) -> Result<Report, EngineError> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(EngineError::Stopped);
        }
        let cancel = CancelOnDrop(Some(message.control.clone()));
        let supervisor = self.supervisor(message.options.agent.as_deref());
        let report = supervisor.send(message).await.map_err(|_| EngineError::Stopped)?;
        cancel.keep();
        report
    }

    /// Judges and plans a list over the current catalogue without running anything.
    ///
    /// # Errors
    /// When the engine has stopped, or the list's own tools clash.
    pub async fn plan(&self, message: PlanCalls) -> Result<Preview, EngineError> {
        let supervisor = self.supervisor(message.options.agent.as_deref());
        supervisor.send(message).await.map_err(|_| EngineError::Stopped)?
    }

    /// The current catalogue.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.published.current()
    }

    /// Changes the catalogue for the lists to come.
    ///
    /// # Errors
    /// When one change cannot be made; then none is.
    pub async fn change_catalog(&self, changes: Vec<CatalogChange>) -> Result<(), EngineError> {
        let reply = self.supervisors[0].send(ChangeCatalog(changes)).await;
        Ok(reply.map_err(|_| EngineError::Stopped)??)
    }

    /// How a tool's actors have fared; `None` when there is no such tool.
    pub fn health(&self, tool: &str) -> Option<Health> {
        self.catalog().get(tool).map(|entry| entry.route.health())
    }

    /// Makes the actor that serves an agent's calls of a tool panic, to see how a host lives with
    /// that. Tells whether there is such a tool.
    pub fn crash(&self, tool: &str, agent: Option<&str>) -> bool {
        self.catalog().get(tool).map(|entry| entry.route.crash(agent)).is_some()
    }

    /// Listens to the engine's events, with room for `capacity` that wait.
    pub fn subscribe(&self, capacity: usize) -> EventStream {
        self.shared.observers.subscribe(capacity)
    }

    /// Takes no more lists, from now on.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
    }

    /// Takes no more lists, waits up to `patience` for those under way, then cancels what is left
    /// and waits for its answers.
    pub async fn drain(&self, patience: Duration) {
        self.close();
        let all = u32::try_from(self.shared.admission.limits.max_lists).unwrap_or(u32::MAX);
        let lists = || self.shared.admission.lists.acquire_many(all);
        if timeout(patience, lists()).await.is_err() {
            self.shared.shutdown.cancel();
            // Every list answers within its grace; the bound is for a starved arbiter.
            let _ = timeout(Duration::from_secs(10), lists()).await;
        }
    }

    /// Ends the arbiters that the engine started. The current system goes on.
    pub fn stop_arbiters(&self) {
        self.shared.placement.lock().stop();
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
