//! The tools that an engine offers now.

use std::sync::Arc;

use parking_lot::RwLock;

use super::{catalog::Catalog, route::Routes};

/// A catalogue, and where its calls go.
#[derive(Clone, Default)]
pub(crate) struct Current {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) routes: Arc<Routes>,
}

/// The place where supervisors find the current catalogue and the first one publishes the next.
#[derive(Default)]
pub(crate) struct Published(RwLock<Current>);

impl Published {
    pub(crate) fn current(&self) -> Current {
        self.0.read().clone()
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.0.read().catalog.clone()
    }

    pub(crate) fn publish(&self, catalog: Catalog, routes: Routes) {
        let current = Current { catalog: Arc::new(catalog), routes: Arc::new(routes) };
        let before = std::mem::replace(&mut *self.0.write(), current);
        drop(before); // it may be the last to know an actor: not under the lock
    }
}
