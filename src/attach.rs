//! The engine inside an actix system that a host already runs.

use actix::{Addr, Recipient};
use toolyard_actors::{CatalogError, DroppedEvents, EngineEvent, SupervisorActor, Yard};

use crate::EngineBuilder;

/// An engine's actors on the host's own system.
///
/// Send [`ExecuteCalls`](toolyard_actors::ExecuteCalls) and
/// [`PlanCalls`](toolyard_actors::PlanCalls) to a [`supervisor`](Self::supervisor), and
/// [`ChangeCatalog`](toolyard_actors::ChangeCatalog) to the [first](Self::first_supervisor).
/// [`Stop`](toolyard_actors::Stop) ends the engine's actors and leaves the host's alone.
#[derive(Clone, Debug)]
pub struct Attached(Yard);

impl Attached {
    /// The supervisor that takes this agent's lists: always the same one for one agent.
    pub fn supervisor(&self, agent: Option<&str>) -> &Addr<SupervisorActor> {
        self.0.supervisor(agent)
    }

    /// The supervisor that changes the catalogue.
    pub fn first_supervisor(&self) -> &Addr<SupervisorActor> {
        self.0.first_supervisor()
    }

    /// Sends the engine's events to an actor; what its mailbox has no room for is lost and counted.
    pub fn subscribe_actor(&self, recipient: Recipient<EngineEvent>) -> DroppedEvents {
        self.0.subscribe_actor(recipient)
    }

    /// The engine's actors, for everything else that can be asked of them.
    pub fn yard(&self) -> &Yard {
        &self.0
    }

    /// Ends the engine's actors: as sending a [`Stop`](toolyard_actors::Stop).
    pub async fn stop(&self, patience: std::time::Duration) {
        self.0.stop(patience).await;
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
        let (config, changes) = self.into_parts();
        Yard::start(config, changes).map(Attached)
    }
}
