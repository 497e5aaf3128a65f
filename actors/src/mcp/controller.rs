//! One server's session, as people hold it: of a pool, or alone.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Weak, mpsc},
    thread,
};

use actix::{Arbiter, ArbiterHandle, System};
use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::Serialize;
use serde_json::Value;
use toolyard_contract::SharedTool;

use super::{
    config::McpServerConfig,
    desk::Desk,
    host::McpHost,
    listing::list,
    notice::NoticeBoard,
    pool::check_name,
    requests::{filled_in, in_time, list_of, not_connected, resource},
    session::Session,
    status::{McpError, McpServerStatus},
    tool::McpTool,
};
use crate::{extension::Place, placement::runtime};

/// How many threads the blocking work of a session that is alone may take: name look-ups, files.
const BLOCKING: usize = 4;

/// The session of one MCP server: its connection is opened, used and closed by hand, and can be looked at. Clones share
/// one session.
///
/// One that is made here stands alone: without an engine, and without a pool. [`McpPool::session`](super::McpPool::session)
/// gives those of a pool.
///
/// All futures need a tokio runtime.
///
/// ```no_run
/// use toolyard_actors::mcp::{McpServerConfig, McpSession};
///
/// # async fn run() -> Result<(), toolyard_actors::mcp::McpError> {
/// let session = McpSession::new("time", McpServerConfig::stdio("mcp-server-time", Vec::<String>::new()))?;
/// let tools = session.scoped(async |session| session.tools().await).await?;
/// assert!(!session.is_connected());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpSession {
    session: Arc<Session>,
    persistent: bool,
    _home: Option<Arc<Home>>,
}

/// What is seen of an open connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct McpSessionInfo {
    /// The protocol revision in use, such as `2025-11-25`.
    pub era: String,
    /// Counts the session's connections, from 1.
    pub generation: u64,
    /// The process group of a server that is a program.
    pub pid: Option<i32>,
    /// How many requests wait for answers.
    pub in_flight: usize,
    /// What the server said about itself: name, version, capabilities, instructions, as the protocol writes them.
    pub server: Value,
}

impl McpSession {
    /// Makes the session of one server. Nothing is connected yet.
    ///
    /// Inside an actix system it lives there, elsewhere on a thread of its own, which ends with the last clone; the
    /// server's process does too.
    ///
    /// # Errors
    /// When the name cannot be a server's, or there is no thread.
    pub fn new(server: impl Into<String>, config: McpServerConfig) -> Result<Self, McpError> {
        Self::with_host(server, config, McpHost::default())
    }

    /// Makes the session of one server, for which `host` does what it asks.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_host(
        server: impl Into<String>,
        config: McpServerConfig,
        host: McpHost,
    ) -> Result<Self, McpError> {
        let server = server.into();
        check_name(&server)?;
        let desk = Desk::new(&server, Arc::new(host), NoticeBoard::new(), Arc::new(config));
        let (place, home) = match System::try_current() {
            Some(_) => (Arbiter::current(), None),
            None => match Home::new() {
                Ok(home) => (home.arbiter.clone(), Some(Arc::new(home))),
                Err(reason) => return Err(McpError::NotConnected { server, reason }),
            },
        };
        let session = Session::start(server, desk, Place::new((place, None)), Weak::new());
        Ok(Self { session: Arc::new(session), persistent: false, _home: home })
    }

    pub(super) fn of_pool(session: Arc<Session>) -> Self {
        Self { session, persistent: true, _home: None }
    }

    /// Sets whether the connection stays when [`scoped`](Self::scoped) ends. Default: false; true for a session of a
    /// pool.
    #[must_use]
    pub fn persistent(mut self, stays: bool) -> Self {
        self.persistent = stays;
        self
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.session.name
    }

    /// How the server is reached.
    pub fn config(&self) -> &McpServerConfig {
        &self.session.config
    }

    /// Tells whether there is a connection now.
    pub fn is_connected(&self) -> bool {
        self.session.open_link().is_some()
    }

    /// What is known of the server. Does not connect.
    pub fn status(&self) -> McpServerStatus {
        self.session.status()
    }

    /// What is seen of the connection that is open now. Does not connect.
    pub fn info(&self) -> Option<McpSessionInfo> {
        let link = self.session.open_link()?;
        Some(McpSessionInfo {
            era: link.version.clone(),
            generation: link.generation,
            pid: link.pid,
            in_flight: link.in_flight(),
            server: link.about(),
        })
    }

    /// Connects, if it is not connected, and waits for it. Callers at the same time share one try and its outcome.
    ///
    /// # Errors
    /// When the server cannot be reached within its connect timeout.
    pub async fn connect(&self) -> Result<(), McpError> {
        let connected = self.session.connect().await;
        connected.map(drop).map_err(|reason| not_connected(&self.session, reason))
    }

    /// Closes the connection when the requests under way have ended or their time is over, and returns when nothing of
    /// it is left. What is asked after opens it again.
    pub async fn disconnect(&self) {
        self.session.close(false).await;
    }

    /// Connects, lets `work` run, and disconnects unless the session is [persistent](Self::persistent).
    ///
    /// # Errors
    /// When the server cannot be reached; then `work` does not run. Else what `work` gives.
    ///
    /// # Cancellation
    /// Dropping the future drops `work` and leaves the connection open.
    pub async fn scoped<T>(
        &self,
        work: impl AsyncFnOnce(&Self) -> Result<T, McpError>,
    ) -> Result<T, McpError> {
        self.connect().await?;
        let done = work(self).await;
        if !self.persistent {
            self.disconnect().await;
        }
        done
    }

    /// Lists the server's tools, under the server's own names. Each goes over this session when it is called.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in its time or refuses.
    pub async fn tools(&self) -> Result<Vec<SharedTool>, McpError> {
        let link = self.session.lease().await.map_err(|reason| not_connected(&self.session, reason))?;
        let tools = in_time(&self.session, list::<Tool>(&link)).await?;
        let tool = |tool: &Tool| -> SharedTool {
            Arc::new(McpTool::new(tool.name.to_string(), tool, self.session.clone()))
        };
        Ok(tools.items.iter().map(tool).collect())
    }

    /// Lists the server's prompts, as the protocol writes them.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn prompts(&self) -> Result<Vec<Value>, McpError> {
        Ok(list_of::<Prompt>(&self.session).await?.items)
    }

    /// Lists the server's resources, as the protocol writes them.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn resources(&self) -> Result<Vec<Value>, McpError> {
        Ok(list_of::<Resource>(&self.session).await?.items)
    }

    /// Lists the server's resource templates, as the protocol writes them.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn resource_templates(&self) -> Result<Vec<Value>, McpError> {
        Ok(list_of::<ResourceTemplate>(&self.session).await?.items)
    }

    /// Reads the resource at `uri`; the answer is as the protocol writes it.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn read_resource(&self, uri: &str) -> Result<Value, McpError> {
        resource(&self.session, uri).await
    }

    /// Gets a prompt, filled in with `arguments`; the answer is as the protocol writes it.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn prompt(&self, name: &str, arguments: BTreeMap<String, String>) -> Result<Value, McpError> {
        filled_in(&self.session, name, arguments).await
    }
}

impl fmt::Debug for McpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSession")
            .field("server", &self.server())
            .field("connected", &self.is_connected())
            .finish_non_exhaustive()
    }
}

/// A thread on which a session lives that has no other place. It ends when this is dropped.
struct Home {
    arbiter: ArbiterHandle,
    system: System,
}

impl Home {
    fn new() -> Result<Self, String> {
        let (say, hear) = mpsc::sync_channel(1);
        let body = move || {
            let runner = System::with_tokio_rt(|| runtime(BLOCKING));
            // As for an engine's placement: there is always one hold more on a system than there are threads.
            std::mem::forget(System::current());
            if say.send((Arbiter::current(), System::current())).is_ok() {
                // An error is an exit code, which nobody sets.
                let _ = runner.run();
            }
        };
        let started = thread::Builder::new().name("toolyard-mcp".into()).spawn(body);
        started.map_err(|error| format!("there is no thread for its session: {error}"))?;
        let (arbiter, system) = hear.recv().map_err(|_| "the thread of its session ended while starting")?;
        Ok(Self { arbiter, system })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.system.stop();
    }
}
