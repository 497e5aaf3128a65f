//! What an extension may do with the engine that it lives with.

use std::sync::{Arc, Weak};

use actix::{Actor, Addr, ArbiterHandle, Context};
use futures::future::BoxFuture;
use toolyard_contract::{
    ActivationController, PermissionCheck, PermissionDecision, SharedTool, ToolSpec, Verdict,
};

use crate::{
    messages::{CatalogChange, EngineError},
    placement::Seat,
};

/// What an engine does for its extensions.
pub(crate) trait HostOps: Send + Sync {
    fn tools(&self) -> Vec<SharedTool>;
    fn activation(&self) -> &ActivationController;
    fn place(&self) -> Place;
    fn change_catalog(&self, changes: Vec<CatalogChange>) -> BoxFuture<'_, Result<(), EngineError>>;
    fn judge<'a>(
        &'a self,
        check: &'a PermissionCheck,
        agent: Option<&'a str>,
        effects: Option<&'a [String]>,
    ) -> BoxFuture<'a, PermissionDecision>;
}

/// A hand on the engine that an [`Extension`](super::Extension) lives with. It keeps nothing alive: when the engine has
/// gone, there are no tools, nothing can be changed, and nothing is permitted.
#[derive(Clone)]
pub struct HostHandle(Weak<dyn HostOps>);

impl HostHandle {
    pub(crate) fn new(engine: &Arc<impl HostOps + 'static>) -> Self {
        let engine: Arc<dyn HostOps> = engine.clone();
        Self(Arc::downgrade(&engine))
    }

    /// The tools of the engine, in the order of registration, also those of others and those that are switched off.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.0.upgrade().map(|engine| engine.tools()).unwrap_or_default();
        tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Which tools are switched on; `None` when the engine has gone.
    pub fn activation(&self) -> Option<ActivationController> {
        self.0.upgrade().map(|engine| engine.activation().clone())
    }

    /// Changes the catalogue for the lists to come.
    ///
    /// # Errors
    /// When one change cannot be made, then none is; and when the engine has stopped.
    pub async fn change_catalog(&self, changes: Vec<CatalogChange>) -> Result<(), EngineError> {
        self.0.upgrade().ok_or(EngineError::Stopped)?.change_catalog(changes).await
    }

    /// Finds a place for an actor: the arbiter with the fewest. `None` when the engine has gone.
    pub fn place(&self) -> Option<Place> {
        self.0.upgrade().map(|engine| engine.place())
    }

    /// Asks the engine's permission policy about something that an extension is about to do for `agent`. `effects`: what
    /// the tool says that it does, if there is one. A verdict that asks people is for the extension to refuse: only calls
    /// can wait for people.
    pub async fn judge(
        &self,
        check: &PermissionCheck,
        agent: Option<&str>,
        effects: Option<&[String]>,
    ) -> PermissionDecision {
        match self.0.upgrade() {
            Some(engine) => engine.judge(check, agent, effects).await,
            None => PermissionDecision::new(Verdict::Deny, "the engine has stopped"),
        }
    }
}

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostHandle").field("alive", &(self.0.strong_count() > 0)).finish()
    }
}

/// A place for an actor on one of the engine's arbiters. It counts as taken until it is dropped, so keep it with the actor.
#[derive(Debug)]
pub struct Place {
    arbiter: ArbiterHandle,
    _seat: Option<Seat>,
}

impl Place {
    pub(crate) fn new((arbiter, seat): (ArbiterHandle, Option<Seat>)) -> Self {
        Self { arbiter, _seat: seat }
    }

    /// The arbiter.
    pub fn arbiter(&self) -> &ArbiterHandle {
        &self.arbiter
    }

    /// Starts an actor there.
    pub fn start<A: Actor<Context = Context<A>> + Send>(
        &self,
        make: impl FnOnce(&mut Context<A>) -> A + Send + 'static,
    ) -> Addr<A> {
        A::start_in_arbiter(&self.arbiter, make)
    }
}
