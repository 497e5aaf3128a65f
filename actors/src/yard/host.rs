//! What an engine does for its extensions, and when they start.

use std::sync::Arc;

use actix::Addr;
use futures::future::BoxFuture;
use toolyard_contract::{ActivationController, PermissionCheck, PermissionDecision, SharedTool};

use super::Yard;
use crate::{
    extension::{Extension, ExtensionError, ExtensionStatus, HostHandle, HostOps, Place},
    messages::{CatalogChange, ChangeCatalog, EngineError},
    supervisor::{Shared, SupervisorActor},
};

/// What extensions have a weak hand on. All clones of a [`Yard`] share one, and it goes with the last.
pub(super) struct Hosting {
    shared: Arc<Shared>,
    first: Addr<SupervisorActor>,
}

impl Hosting {
    pub(super) fn new(shared: Arc<Shared>, first: Addr<SupervisorActor>) -> Self {
        Self { shared, first }
    }
}

impl HostOps for Hosting {
    fn tools(&self) -> Vec<SharedTool> {
        self.shared.published.current().catalog.entries().iter().map(|entry| entry.tool().clone()).collect()
    }

    fn activation(&self) -> &ActivationController {
        &self.shared.common.activation
    }

    fn place(&self) -> Place {
        Place::new(self.shared.placement.lock().least())
    }

    fn change_catalog(&self, changes: Vec<CatalogChange>) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async {
            tokio::select! {
                biased;
                done = self.first.send(ChangeCatalog(changes)) => {
                    Ok(done.map_err(|_| EngineError::Stopped)??)
                }
                () = self.shared.gone.cancelled() => Err(EngineError::Stopped),
            }
        })
    }

    fn judge<'a>(
        &'a self,
        check: &'a PermissionCheck,
        agent: Option<&'a str>,
        effects: Option<&'a [String]>,
    ) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(self.shared.common.permissions.judge_more(check, agent, effects))
    }
}

impl Yard {
    /// Starts extensions, one after the other. They are closed with the engine.
    ///
    /// # Errors
    /// The first that cannot start; those after it are not started.
    pub async fn start_extensions(&self, extensions: Vec<Arc<dyn Extension>>) -> Result<(), ExtensionError> {
        for extension in extensions {
            self.shared.extensions.start(extension, HostHandle::new(&self.hosting)).await?;
        }
        Ok(())
    }

    /// Brings the extensions up and waits for them; gives what could not be brought up, with the reason.
    pub async fn extensions_ready(&self) -> Vec<(String, String)> {
        self.shared.extensions.ready().await
    }

    /// How each extension is, by its name, in the order in which they started.
    pub fn extensions(&self) -> Vec<(String, ExtensionStatus)> {
        self.shared.extensions.status()
    }
}
