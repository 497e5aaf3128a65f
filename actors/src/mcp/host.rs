//! What the host does for servers.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::guard::{await_host, call_host};

/// A folder or another place that a server may work in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpRoot {
    /// Where it is; a `file://` URI.
    pub uri: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl McpRoot {
    /// Makes a root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Sets what people call it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// A server's wish that the host's model writes something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The server.
    pub server: Arc<str>,
    /// What it wants, as the protocol writes the parameters of `sampling/createMessage`. Nothing of it can be
    /// trusted.
    pub params: Value,
}

type Sampling = dyn Fn(SamplingRequest) -> BoxFuture<'static, Result<Value, String>> + Send + Sync;
type Roots = dyn Fn(&str) -> Vec<McpRoot> + Send + Sync;

/// What the host does for the servers of a pool. By default nothing: servers are told so. What panics is logged and
/// answers nothing; the connection goes on.
#[derive(Clone, Default)]
pub struct McpHost {
    sampling: Option<Arc<Sampling>>,
    roots: Option<Arc<Roots>>,
}

impl McpHost {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets servers ask the host's model: `handler` gives the result of `sampling/createMessage` as the protocol
    /// writes it, or says in words, which the server gets, why there is none. Whoever answers should let a human see
    /// what is asked.
    #[must_use]
    pub fn sampling<F>(mut self, handler: impl Fn(SamplingRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        self.sampling = Some(Arc::new(move |request| Box::pin(handler(request))));
        self
    }

    /// Names the places that a server may work in, beside those of its settings; `handler` gets the server's name.
    #[must_use]
    pub fn roots(mut self, handler: impl Fn(&str) -> Vec<McpRoot> + Send + Sync + 'static) -> Self {
        self.roots = Some(Arc::new(handler));
        self
    }

    pub(super) fn samples(&self) -> bool {
        self.sampling.is_some()
    }

    pub(super) fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    pub(super) fn roots_of(&self, server: &str) -> Vec<McpRoot> {
        let roots =
            self.roots.as_ref().and_then(|roots| call_host("the host's list of roots", || roots(server)));
        roots.unwrap_or_default()
    }

    pub(super) async fn sample(&self, server: &Arc<str>, params: Value) -> Result<Value, String> {
        match &self.sampling {
            Some(sampling) => {
                let request = SamplingRequest { server: server.clone(), params };
                let answered = await_host("the host's model", || sampling(request)).await;
                answered.unwrap_or_else(|| Err("the model here broke while it was asked".to_owned()))
            }
            None => Err("there is no model here for servers to ask".to_owned()),
        }
    }
}

impl fmt::Debug for McpHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHost")
            .field("sampling", &self.samples())
            .field("roots", &self.has_roots())
            .finish()
    }
}
