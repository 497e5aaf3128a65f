//! The engine inside an actix system that a host already runs.

use std::sync::Arc;

use actix::{Addr, Recipient};
use toolyard_actors::{
    CatalogError, DroppedEvents, EngineError, EngineEvent, ExecuteCalls, ExecuteOptions, Report, RunControl,
    SupervisorActor, Yard,
};

use crate::{
    EngineBuilder, IntoCalls,
    providers::{Providers, Refresh},
};

/// An engine's actors on the host's own system.
///
/// Send [`ExecuteCalls`](toolyard_actors::ExecuteCalls) and
/// [`PlanCalls`](toolyard_actors::PlanCalls) to a [`supervisor`](Self::supervisor), and
/// [`ChangeCatalog`](toolyard_actors::ChangeCatalog) to the [first](Self::first_supervisor).
/// [`Stop`](toolyard_actors::Stop) ends the engine's actors and leaves the host's alone.
#[derive(Clone, Debug)]
pub struct Attached {
    yard: Yard,
    providers: Arc<Providers>,
}

impl Attached {
    /// Runs a list as part of the calling task, which spares the way to a supervisor and back that comes with sending
    /// [`ExecuteCalls`](toolyard_actors::ExecuteCalls) to a [`supervisor`](Self::supervisor).
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    ///
    /// # Panics
    /// Outside the actix system.
    ///
    /// # Cancellation
    /// Dropping the future cancels the list.
    pub async fn execute(
        &self,
        calls: impl IntoCalls,
        options: ExecuteOptions,
    ) -> Result<Report, EngineError> {
        let calls = calls.into_calls();
        self.yard.execute_here(ExecuteCalls { calls, options, control: RunControl::new() }).await
    }

    /// The supervisor that takes this agent's lists: always the same one for one agent.
    pub fn supervisor(&self, agent: Option<&str>) -> &Addr<SupervisorActor> {
        self.yard.supervisor(agent)
    }

    /// The supervisor that changes the catalogue.
    pub fn first_supervisor(&self) -> &Addr<SupervisorActor> {
        self.yard.first_supervisor()
    }

    /// Sends the engine's events to an actor; what its mailbox has no room for is lost and counted.
    pub fn subscribe_actor(&self, recipient: Recipient<EngineEvent>) -> DroppedEvents {
        self.yard.subscribe_actor(recipient)
    }

    /// The engine's actors, for everything else that can be asked of them.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Gets the providers ready that are not, and takes their tools: as
    /// [`Engine::start`](crate::Engine::start).
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn start(&self) -> Result<Refresh, EngineError> {
        self.providers.refresh(&self.yard, true).await
    }

    /// Asks the providers for the tools that they have now: as
    /// [`Engine::refresh`](crate::Engine::refresh).
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn refresh(&self) -> Result<Refresh, EngineError> {
        self.providers.refresh(&self.yard, false).await
    }

    /// Ends the engine's actors, as sending a [`Stop`](toolyard_actors::Stop) does, and closes the
    /// providers.
    pub async fn stop(&self, patience: std::time::Duration) {
        self.yard.stop(patience).await;
        // That a connection did not close well is nobody's business any more.
        let _ = self.providers.close(&self.yard).await;
        self.yard.retire();
    }
}

impl EngineBuilder {
    /// Starts the engine's actors on the current actix system, instead of on a thread of their own.
    ///
    /// # Errors
    /// When two tools share a name, or a schema cannot be used.
    ///
    /// # Panics
    /// Outside an actix system.
    pub fn attach(self) -> Result<Attached, CatalogError> {
        #[cfg(feature = "docker")]
        let sandboxes = self.sandboxes.clone();
        let (config, changes, providers) = self.into_parts();
        let providers = Arc::new(providers);
        let yard = Yard::start(config, changes)?;
        #[cfg(feature = "docker")]
        crate::sandbox::host(&yard, &sandboxes);
        Ok(Attached { yard, providers })
    }
}
