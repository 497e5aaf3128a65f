//! ```text
//! SupervisorActor
//! Receives  ExecuteCalls, PlanCalls, Stop; ChangeCatalog (the first of an engine alone)
//! Sends     Invoke to tool actors, one message for the calls that may start together
//! Owns      nothing of a list: each list is driven by its own task
//! Lives on  its arbiter; one supervisor on each arbiter of the engine
//! Fails     never by a call's fault; a list whose supervisor dies is answered by EngineError::Stopped
//! ```

mod again;
pub(crate) mod ancestry;
pub(crate) mod catalog;
pub(crate) mod catalog_error;
pub(crate) mod common;
pub(crate) mod control;
mod drive;
mod exact;
mod fit;
pub(crate) mod gate;
mod judging;
mod nested;
mod off;
pub(crate) mod parking;
mod preview;
pub(crate) mod published;
pub(crate) mod route;
pub(crate) mod run;
mod waiting;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Arbiter, ArbiterHandle, Context, Handler, ResponseFuture};
use futures::{StreamExt, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;
use toolyard_contract::{StatePart, StateScope, Tool, ToolSpec};

use self::{
    catalog::{Catalog, Entry},
    catalog_error::CatalogError,
    common::Common,
    gate::{Scope, gate},
    judging::{Begun, Judging},
    published::{Current, Published},
    route::{Route, Routes, Ways},
};
use crate::{
    activity::{Activity, InUse},
    admission::{Admission, ToolGates, turnstile::Permit},
    body::Spawner,
    extension::Extensions,
    guard::{await_host, start_guarded},
    messages::{
        CatalogChange, ChangeCatalog, EngineError, ExecuteCalls, ExecuteOptions, PlanCalls, Preview, Report,
        Stop,
    },
    placement::{Placement, Seat},
    reply::MAILBOX,
    restart::{Home, RestartPolicy},
    rows::RowTable,
    state::StateActor,
    tool::ToolActor,
    watch::Watch,
};

/// What the supervisors of one engine share.
pub(crate) struct Shared {
    pub(crate) common: Arc<Common>,
    pub(crate) published: Published,
    /// Who has lists under way.
    pub(crate) activity: Arc<Activity>,
    /// Where tool futures that wait are driven; `None`: on their actor's arbiter.
    pub(crate) tool_runtime: Option<Handle>,
    pub(crate) restarts: RestartPolicy,
    /// Finds tools that block their arbiter.
    pub(crate) watch: Arc<Watch>,
    pub(crate) runs: AtomicU64,
    pub(crate) closed: AtomicBool,
    /// Cancelled when nobody drives the actors any more.
    pub(crate) gone: CancellationToken,
    pub(crate) placement: Mutex<Placement>,
    pub(crate) extensions: Extensions,
}

/// Takes lists of calls and runs them on the tools' actors.
pub struct SupervisorActor {
    shared: Arc<Shared>,
}

impl SupervisorActor {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for SupervisorActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<ExecuteCalls> for SupervisorActor {
    type Result = ResponseFuture<Result<Report, EngineError>>;

    fn handle(&mut self, message: ExecuteCalls, _: &mut Self::Context) -> Self::Result {
        match self.shared.begin_now(message, None) {
            // The common case: the first calls are on their way before this handler returns.
            Ok(Ok(begun)) => Box::pin(async move { Ok(begun.finish().await) }),
            Ok(Err(message)) => {
                let shared = self.shared.clone();
                Box::pin(async move { Ok(shared.begin_later(message, None).await?.finish().await) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl Handler<PlanCalls> for SupervisorActor {
    type Result = ResponseFuture<Result<Preview, EngineError>>;

    fn handle(&mut self, PlanCalls { calls, options }: PlanCalls, _: &mut Self::Context) -> Self::Result {
        let shared = self.shared.clone();
        Box::pin(async move {
            let permissions = &shared.common.permissions;
            let (scope, _actors) = shared.scope(&options, None)?;
            let mut gate = gate(&scope, calls, &options, permissions);
            gate.decide(&options).await;
            Ok(gate.plan().preview(permissions.version()))
        })
    }
}

impl Handler<Stop> for SupervisorActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, Stop { patience }: Stop, _: &mut Self::Context) -> Self::Result {
        let shared = self.shared.clone();
        Box::pin(async move {
            shared.drain(patience).await;
            shared.let_go(true).await;
            shared.extensions.close().await;
            // Tool and state actors end with their last address.
            shared.published.publish(Catalog::default(), Routes::default());
            shared.placement.lock().stop();
        })
    }
}

impl Handler<ChangeCatalog> for SupervisorActor {
    type Result = Result<(), CatalogError>;

    fn handle(&mut self, ChangeCatalog(changes): ChangeCatalog, _: &mut Self::Context) -> Self::Result {
        self.shared.change_catalog(changes)
    }
}

/// The agent of a list that nothing else keeps in use: one inside a call has the list around it.
fn visitor(options: &ExecuteOptions) -> Option<&Arc<str>> {
    options.agent.as_ref().filter(|_| options.ancestry.depth == 0)
}

impl Shared {
    /// Gates, plans and starts a list, or as much of that as can be done without waiting.
    fn begin(
        self: &Arc<Self>,
        message: ExecuteCalls,
        guests: Option<Arc<Routes>>,
        permit: Permit,
        in_use: InUse,
    ) -> Result<Begun, EngineError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(EngineError::Stopped);
        }
        let ExecuteCalls { calls, options, control } = message;
        let admission = self.admission(options.ancestry.depth)?.clone();
        let mut agent = admission.agent(options.agent.as_ref());
        agent.in_use = Some(in_use);
        let most = u32::MAX as usize;
        if calls.len() > most {
            return Err(EngineError::ListTooLong { most, calls: calls.len() });
        }
        let (scope, ways) = self.scope(&options, guests)?;
        let gate = gate(&scope, calls, &options, &self.common.permissions);
        let shared = self.clone();
        Ok(Judging { shared, admission, agent, scope, ways, gate, options, control, permit }.begin())
    }

    /// Begins, or gives the list back when too many are under way.
    fn begin_now(
        self: &Arc<Self>,
        message: ExecuteCalls,
        guests: Option<Arc<Routes>>,
    ) -> Result<Result<Begun, ExecuteCalls>, EngineError> {
        let admission = self.admission(message.options.ancestry.depth)?;
        let Some(in_use) = self.activity.enter(visitor(&message.options)) else { return Ok(Err(message)) };
        match admission.lists.try_take(1) {
            Some(permit) => self.begin(message, guests, permit, in_use).map(Ok),
            None => Ok(Err(message)),
        }
    }

    /// Runs a list as the task that calls this. `guests` are the ways to the tools that a list around it brought along.
    pub(crate) async fn run_here(
        self: &Arc<Self>,
        message: ExecuteCalls,
        guests: Option<Arc<Routes>>,
    ) -> Result<Report, EngineError> {
        let begun = match self.begin_now(message, guests.clone())? {
            Ok(begun) => begun,
            Err(message) => self.clone().begin_later(message, guests).await?,
        };
        Ok(begun.finish().await)
    }

    /// Waits until fewer lists are under way, then begins.
    async fn begin_later(
        self: Arc<Self>,
        message: ExecuteCalls,
        guests: Option<Arc<Routes>>,
    ) -> Result<Begun, EngineError> {
        let admission = self.admission(message.options.ancestry.depth)?;
        let limits = &admission.limits;
        let turn = admission.turn(message.options.agent.as_ref());
        let admitted = async {
            let in_use = self.activity.entered(visitor(&message.options)).await;
            (admission.lists.take(&turn).await, in_use)
        };
        match timeout(limits.admission_timeout, admitted).await {
            Ok((permit, in_use)) => self.begin(message, guests, permit, in_use),
            Err(_) => Err(EngineError::Overloaded {
                lists: limits.max_lists,
                retry_after: limits.admission_timeout,
            }),
        }
    }

    fn admission(&self, depth: usize) -> Result<&Arc<Admission>, EngineError> {
        let admissions = &self.common.admissions;
        admissions.get(depth).ok_or(EngineError::TooDeep { most: admissions.len() - 1 })
    }

    /// Takes no more lists, waits up to `patience` for those under way, then cancels what is left
    /// and waits for its answers.
    pub(crate) async fn drain(&self, patience: Duration) {
        self.closed.store(true, Ordering::Release);
        let no_lists = || self.common.admissions[0].lists.idle();
        if timeout(patience, no_lists()).await.is_err() {
            self.common.shutdown.cancel();
            // Every list answers within its grace; the bound is for a starved arbiter.
            let _ = timeout(Duration::from_secs(10), no_lists()).await;
        }
    }

    /// Lets the tools let go of what they hold, within bounds: for good, or until their next calls.
    pub(crate) async fn let_go(&self, for_good: bool) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let catalog = self.published.catalog();
        let letting_go: FuturesUnordered<_> = catalog
            .entries()
            .iter()
            .map(|entry| {
                await_host("a tool that lets go", move || {
                    if for_good { entry.tool.retire() } else { entry.tool.release() }
                })
            })
            .collect();
        // What does not let go in time is not waited for.
        let _ = timeout(PATIENCE, letting_go.collect::<Vec<_>>()).await;
    }

    /// The tools that a list sees, and the ways to them. Those that it brought along live on this arbiter.
    fn scope(
        &self,
        options: &ExecuteOptions,
        inherited: Option<Arc<Routes>>,
    ) -> Result<(Scope, Ways), CatalogError> {
        let Current { catalog, routes: own } = self.published.current();
        let activation = self.common.activation.clone();
        let only = options.ancestry.only.clone();
        if options.guests.is_empty() {
            let scope = Scope { catalog, guests: options.ancestry.guests.clone(), activation, only };
            return Ok((scope, Ways { own, guests: inherited }));
        }
        let (mut guests, mut routes, here) = (Catalog::default(), Routes::default(), Arbiter::current());
        guarded(|| {
            for tool in &options.guests {
                let gates = self.gates(tool.spec(), None);
                let (rows, route) = self.route(&**tool, &here, None, std::slice::from_ref(&here));
                let entry = Entry::new(tool.clone(), rows, gates);
                routes.add(&entry, route);
                guests.add(entry)?;
            }
            Ok(())
        })?;
        let scope = Scope { catalog, guests: Some(Arc::new(guests)), activation, only };
        Ok((scope, Ways { own, guests: Some(Arc::new(routes)) }))
    }

    /// Makes all changes, or none.
    pub(crate) fn change_catalog(&self, changes: Vec<CatalogChange>) -> Result<(), CatalogError> {
        guarded(|| self.make_changes(changes))
    }

    fn make_changes(&self, changes: Vec<CatalogChange>) -> Result<(), CatalogError> {
        let current = self.published.current();
        let (mut next, mut routes) = (Catalog::clone(&current.catalog), Routes::clone(&current.routes));
        for change in changes {
            match change {
                CatalogChange::Add(tool) => next.add(self.entry(&tool, None, &mut routes)?)?,
                CatalogChange::Replace(tool) => {
                    let old = next.own(&tool.spec().name).cloned();
                    next.replace(self.entry(&tool, old.as_deref(), &mut routes)?)?;
                }
                CatalogChange::Put(tool) => match next.own(&tool.spec().name).cloned() {
                    Some(old) if old.spec().name == tool.spec().name => {
                        next.replace(self.entry(&tool, Some(&old), &mut routes)?)?;
                    }
                    _ => next.add(self.entry(&tool, None, &mut routes)?)?,
                },
                CatalogChange::Remove(name) => next.remove(&name)?,
                CatalogChange::Alias(alias, name) => next.add_alias(&alias, &name)?,
                CatalogChange::Off { name, remedy } => next.off.add(&name, &remedy),
            }
        }
        routes.keep(&next);
        self.published.publish(next, routes);
        Ok(())
    }

    /// Gives a tool actors of its own, after a look at its schemas.
    fn entry(
        &self,
        tool: &Arc<dyn Tool>,
        replaced: Option<&Entry>,
        routes: &mut Routes,
    ) -> Result<Entry, CatalogError> {
        let placement = self.placement.lock();
        let all: Vec<_> = placement.arbiters().cloned().collect();
        let (place, seat) = placement.least();
        let gates = self.gates(tool.spec(), replaced);
        let (rows, route) = self.route(&**tool, &place, seat, &all);
        let entry = Entry::new(tool.clone(), rows, gates);
        entry.check_schemas()?;
        routes.add(&entry, route);
        Ok(entry)
    }

    /// The gates of a tool for each depth of nested lists.
    fn gates(&self, spec: &ToolSpec, replaced: Option<&Entry>) -> Vec<ToolGates> {
        let admissions = &self.common.admissions;
        ToolGates::for_depths(
            &admissions[0].limits,
            spec,
            admissions.len(),
            replaced.map_or(&[], Entry::gates),
        )
    }

    /// Starts the actors of a tool: one at `place`, or with a row for each agent one on each arbiter.
    fn route(
        &self,
        tool: &dyn Tool,
        place: &ArbiterHandle,
        mut seat: Option<Seat>,
        all: &[ArbiterHandle],
    ) -> (Option<RowTable>, Route) {
        let spawner = Spawner(self.tool_runtime.clone());
        let watched = (tool.spec().name.as_str(), &*self.watch);
        let Some(StatePart { scope, shard, .. }) = tool.state() else {
            let place = place.clone();
            let home = Home::new(self.restarts.clone(), watched, seat, move |pulse| {
                let spawner = spawner.clone();
                ToolActor::start_in_arbiter(&place, move |_| ToolActor::new(spawner, pulse))
            });
            return (None, Route::Tool(home));
        };
        let places = if scope == StateScope::Agent { all } else { std::slice::from_ref(place) };
        let shards =
            std::iter::once(shard).chain(std::iter::repeat_with(|| tool.state()).flatten().map(|s| s.shard));
        let rows = RowTable::new(scope, shards.take(places.len()));
        let homes = places.iter().cloned().zip(rows.shards()).map(|(place, shard)| {
            let (shard, spawner) = (shard.clone(), spawner.clone());
            Home::new(self.restarts.clone(), watched, seat.take(), move |pulse| {
                let (shard, spawner) = (shard.clone(), spawner.clone());
                StateActor::start_in_arbiter(&place, move |_| StateActor::new(shard, spawner, pulse))
            })
        });
        let homes = homes.collect();
        (Some(rows), Route::State(homes))
    }
}

/// Takes tools in, whose code says what they are and may panic.
fn guarded<T>(take: impl FnOnce() -> Result<T, CatalogError>) -> Result<T, CatalogError> {
    start_guarded(take).unwrap_or_else(|reason| Err(CatalogError::Panicked { reason }))
}
