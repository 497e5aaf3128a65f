//! Servers that live in this process.

use std::{fmt, sync::Arc};

use tokio::io::DuplexStream;

use crate::guard::call_host;

/// A server in this process, or behind a transport of the host's own.
#[derive(Clone)]
pub struct InProcess(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl InProcess {
    /// Calls `connect` for each connection: it gives the client's end of a pair of streams, and serves the other one
    /// message a line.
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }

    /// The client's end of a new connection; `None` when the server broke while it was made.
    pub(super) fn connect(&self) -> Option<DuplexStream> {
        call_host("a server in this process", || (self.0)())
    }
}

impl PartialEq for InProcess {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}
