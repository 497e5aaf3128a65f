//! The engine inside an actix system that a host already runs.

use std::sync::Arc;

use actix::{Addr, Recipient};
use tokio::sync::watch;
use toolyard_actors::{
    CatalogError, DroppedEvents, EngineError, EngineEvent, ExecuteCalls, ExecuteOptions, ExtensionError,
    Report, RunControl, SupervisorActor, Yard,
};

use crate::{
    EngineBuilder, IntoCalls,
    builder::Parts,
    extensions::OwnExtensions,
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
    #[cfg_attr(not(any(feature = "docker", feature = "mcp", feature = "python")), expect(dead_code))]
    own: OwnExtensions,
    /// What became of the extensions' start; `None` while they start.
    begun: watch::Receiver<Option<Result<(), ExtensionError>>>,
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

    /// Waits until the extensions have started (so that the tools of Python files are there), gets the providers ready that
    /// are not, and takes their tools; connects to the MCP servers, and waits for their tools: as
    /// [`Engine::start`](crate::Engine::start).
    ///
    /// # Errors
    /// When an extension cannot start, and when the engine has stopped.
    pub async fn start(&self) -> Result<Refresh, AttachError> {
        let mut begun = self.begun.clone();
        let begun = begun.wait_for(Option::is_some).await.map_err(|_| EngineError::Stopped)?.clone();
        begun.unwrap_or(Ok(()))?;
        Ok(self.providers.begin(&self.yard).await?)
    }

    /// The MCP servers of the engine.
    #[cfg(feature = "mcp")]
    pub fn mcp(&self) -> &toolyard_actors::mcp::McpPool {
        &self.own.mcp
    }

    /// The engine's sandboxes. They end with the engine.
    #[cfg(feature = "docker")]
    pub fn sandbox(&self) -> &toolyard_actors::sandbox::SandboxPool {
        &self.own.sandboxes
    }

    /// What became of the Python files that the engine was attached with; `None` before they have been imported.
    #[cfg(feature = "python")]
    pub fn python_report(&self) -> Option<&crate::PythonReport> {
        self.own.python.files.report()
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
    /// Starts the engine's actors on the current actix system, instead of on a thread of their own, and begins to start its
    /// extensions: the tools of Python files and MCP servers follow, and [`Attached::start`] waits for them.
    ///
    /// # Errors
    /// When two tools share a name, or a schema cannot be used.
    ///
    /// # Panics
    /// Outside an actix system.
    pub fn attach(self) -> Result<Attached, CatalogError> {
        let Parts { config, changes, providers, extensions, own, .. } = self.into_parts();
        let yard = Yard::start(config, changes)?;
        let (say, begun) = watch::channel(None);
        let starting = yard.clone();
        actix::spawn(async move {
            let begun = starting.start_extensions(extensions).await;
            if let Err(error) = &begun {
                tracing::warn!("{error}");
            }
            say.send_replace(Some(begun));
        });
        Ok(Attached { yard, providers, own, begun })
    }
}

/// Why an attached engine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// An extension could not start.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    /// The engine has stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
