//! Where the work of calls goes on that does not end at once.

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::{
    guard::{Guarded, Turns},
    pulse::Pulse,
};

/// Where what waits or blocks is driven: on the host's runtime, or on the actor's arbiter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spawner(pub(crate) Option<Handle>);

impl Spawner {
    /// Lets the turns of work be watched, where they are turns of the actor's arbiter.
    pub(crate) fn watched<T>(&self, work: Guarded<T>, pulse: &Arc<Pulse>) -> Turns<T> {
        Turns { work, pulse: self.0.is_none().then(|| pulse.clone()) }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Some(runtime) => drop(runtime.spawn(task)),
            None => drop(tokio::task::spawn_local(task)),
        }
    }

    pub(crate) fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        match &self.0 {
            Some(runtime) => drop(runtime.spawn_blocking(body)),
            None => drop(tokio::task::spawn_blocking(body)),
        }
    }
}
