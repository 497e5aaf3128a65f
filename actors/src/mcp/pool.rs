//! The MCP servers of one engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use actix::{Addr, WeakAddr};
use futures::{StreamExt, future::select_all, stream};
use parking_lot::Mutex;
use tokio::time::timeout;
use toolyard_contract::{SharedTool, ToolSpec};

use super::{
    actor::{Disconnect, McpSessionActor},
    config::McpServerConfig,
    controller::McpSession,
    desk::Desk,
    host::McpHost,
    link::Link,
    listing::{List, list},
    names::{Names, ToolId},
    notice::{McpNotices, NoticeBoard},
    requests::not_connected,
    session::Session,
    status::{McpError, McpServerStatus},
    tool::McpTool,
};
use crate::extension::{HostHandle, Offered as Catalogued, Refused};

/// The longest name of a server, in bytes; only the head of a longer one would show in its tools' names.
const LONGEST_NAME: usize = 200;

/// How many servers are asked at the same time.
pub(super) const ASKED_AT_ONCE: usize = 64;

/// The MCP servers of one engine. Clones share one pool.
///
/// Every server has a connection of its own that is opened in the background when the server is added, comes back
/// by itself when it breaks, and whose tools are tools of the engine under the names `server_tool`. A server that
/// fails keeps nothing else out: [`status`](Self::status) says what is wrong.
#[derive(Clone)]
pub struct McpPool(pub(super) Arc<PoolInner>);

pub(super) struct PoolInner {
    /// The engine that the tools go to, once it has started.
    pub(super) engine: OnceLock<HostHandle>,
    /// The servers to begin with.
    pub(super) first: Mutex<BTreeMap<String, McpServerConfig>>,
    /// The sessions to close when the engine stops.
    started: Mutex<Vec<WeakAddr<McpSessionActor>>>,
    host: Arc<McpHost>,
    notices: NoticeBoard,
    sessions: Mutex<BTreeMap<String, Arc<Session>>>,
    reloading: tokio::sync::Mutex<()>,
    /// The server of each tool in the catalogue, by its public name.
    owners: Mutex<BTreeMap<String, String>>,
    /// Held while the catalogue is changed: a list never overtakes a newer one.
    offered: tokio::sync::Mutex<Offered>,
}

/// What the catalogue has of us.
#[derive(Default)]
struct Offered {
    /// The last good list of each server.
    lists: BTreeMap<String, (Arc<Session>, Vec<rmcp::model::Tool>)>,
    /// The tools in the catalogue, by their public names.
    tools: BTreeMap<String, Arc<McpTool>>,
    catalogued: Catalogued,
    /// What models have been shown.
    names: Names,
}

impl McpPool {
    /// Makes a pool for whose servers `host` does what they ask. It begins with `servers` when the engine starts that it
    /// is an [extension](crate::Extension) of; before that it has none, and none can be added.
    ///
    /// # Errors
    /// When a name cannot be a server's.
    pub fn new(host: McpHost, servers: BTreeMap<String, McpServerConfig>) -> Result<Self, McpError> {
        servers.keys().try_for_each(|name| check_name(name))?;
        let inner = PoolInner {
            engine: OnceLock::new(),
            first: Mutex::new(servers),
            started: Mutex::default(),
            host: Arc::new(host),
            notices: NoticeBoard::new(),
            sessions: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
            owners: Mutex::default(),
            offered: tokio::sync::Mutex::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Begins to listen to what the servers say unasked: their logs, and what has changed.
    pub fn notices(&self) -> McpNotices {
        self.0.notices.listen()
    }

    /// Adds a server, in the place of one with the same name, and begins to connect. Its tools appear when they have
    /// been listed.
    ///
    /// Of the one before nothing is left: its tools go at once, and its connection when the calls under way have ended
    /// or their [time](McpServerConfig::drain) is over.
    ///
    /// # Errors
    /// When the name cannot be a server's.
    ///
    /// # Cancellation
    /// Dropping the future may leave the server unconnected until [`connect`](Self::connect).
    pub async fn add(&self, name: impl Into<String>, config: McpServerConfig) -> Result<(), McpError> {
        let name = name.into();
        check_name(&name)?;
        let session = self.0.start(&name, config, Arc::downgrade(&self.0)).ok_or(McpError::Stopped)?;
        let before = self.0.sessions.lock().insert(name.clone(), session.clone());
        self.0.forget(&name, before).await;
        session.begin_connecting();
        Ok(())
    }

    /// Adds a server under a name that is not in use, and begins to connect, as [`add`](Self::add) does.
    ///
    /// # Errors
    /// When the name cannot be a server's, or is in use.
    pub fn add_new(&self, name: impl Into<String>, config: McpServerConfig) -> Result<(), McpError> {
        let name = name.into();
        check_name(&name)?;
        let mut sessions = self.0.sessions.lock();
        if sessions.contains_key(&name) {
            return Err(McpError::NameInUse { name });
        }
        let session = self.0.start(&name, config, Arc::downgrade(&self.0)).ok_or(McpError::Stopped)?;
        session.begin_connecting();
        sessions.insert(name, session);
        Ok(())
    }

    /// Takes a server and its tools out, and closes its connection when the calls under way have ended; those that
    /// have not within their [time](McpServerConfig::drain) are `lost`.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn remove(&self, name: &str) -> Result<(), McpError> {
        let removed = self.0.sessions.lock().remove(name);
        if removed.is_none() {
            return Err(self.unknown(name));
        }
        self.0.forget(name, removed).await;
        Ok(())
    }

    /// Takes servers out, at the same time, as [`remove`](Self::remove) does; one answer for each name, in their order,
    /// each with its own error.
    pub async fn remove_servers<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Vec<Result<(), McpError>> {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let removing = stream::iter(names).map(async |name: String| self.remove(&name).await);
        removing.buffered(ASKED_AT_ONCE).collect().await
    }

    /// The names of the servers, sorted.
    pub fn servers(&self) -> Vec<String> {
        self.0.sessions.lock().keys().cloned().collect()
    }

    /// The tools of one server, or of all, that are switched on, under their public names.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn tools(&self, server: Option<&str>) -> Result<Vec<ToolSpec>, McpError> {
        let all = self.all_tools(server)?;
        Ok(self
            .0
            .engine
            .get()
            .and_then(HostHandle::activation)
            .map_or_else(Vec::new, |active| active.filter(all)))
    }

    /// The tools of one server, or of all, also those that are switched off.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn all_tools(&self, server: Option<&str>) -> Result<Vec<ToolSpec>, McpError> {
        self.some(server)?;
        let owners = self.0.owners.lock();
        let is_wanted =
            |name: &str| owners.get(name).is_some_and(|owner| server.is_none_or(|server| server == owner));
        let specs = self.0.engine.get().map(HostHandle::specs).unwrap_or_default();
        Ok(specs.into_iter().filter(|spec| is_wanted(&spec.name)).collect())
    }

    /// Connects to one server, or to all at the same time, and waits for it, each for its connect timeout at most.
    ///
    /// # Errors
    /// When there is no such server, or it cannot be reached; of several, the first in the order of names.
    pub async fn connect(&self, server: Option<&str>) -> Result<(), McpError> {
        connect(self.some(server)?).await.into_iter().try_for_each(|(_, outcome)| outcome)
    }

    /// Connects to all servers at the same time, and waits until each has listed its tools once, or could not; gives
    /// what came of each, sorted by name.
    pub async fn connect_each(&self) -> Vec<(String, Result<(), McpError>)> {
        let sessions = self.some(None).unwrap_or_default();
        let longest = sessions.iter().map(|session| session.config.patience()).max();
        let connected = connect(sessions).await;
        self.settled(longest.unwrap_or_default(), || false).await;
        connected
    }

    /// Closes the connection of one server, or of all, when the calls under way have ended or their
    /// [time](McpServerConfig::drain) is over; the next call opens it again.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn disconnect(&self, server: Option<&str>) -> Result<(), McpError> {
        self.0.disconnect(self.some(server)?, false).await;
        Ok(())
    }

    /// Closes the connections of all servers, as [`disconnect`](Self::disconnect) does.
    pub async fn disconnect_all(&self) {
        self.0.disconnect(self.some(None).unwrap_or_default(), false).await;
    }

    /// A server's session, to look at and to ask by hand. It stays the pool's: when the server is removed, it ends.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn session(&self, server: &str) -> Result<McpSession, McpError> {
        self.one(server).map(McpSession::of_pool)
    }

    /// What is known of each server, sorted by name. Connects to none.
    pub fn status(&self) -> Vec<McpServerStatus> {
        self.0.sessions.lock().values().map(|session| session.status()).collect()
    }

    /// Waits until every server's tools have been listed once, or its first try to get there has failed, but no
    /// longer than `patience`; ends sooner when `enough` says so, which is asked after each change.
    pub async fn settled(&self, patience: Duration, enough: impl Fn() -> bool) {
        let sessions = self.some(None).unwrap_or_default();
        let mut views: Vec<_> = sessions.iter().map(|session| session.view()).collect();
        let watching = async {
            loop {
                // One that cannot change any more is a session that is gone.
                views.retain(|view| !view.borrow().settled && view.has_changed().is_ok());
                if views.is_empty() || enough() {
                    return;
                }
                let _ = select_all(views.iter_mut().map(|view| Box::pin(view.changed()))).await;
            }
        };
        let _ = timeout(patience, watching).await;
    }

    /// Closes all connections and takes all tools out.
    pub async fn close(&self) {
        let sessions = std::mem::take(&mut *self.0.sessions.lock());
        {
            let mut offered = self.0.offered.lock().await;
            offered.lists.clear();
            self.0.publish_changes(&mut offered).await;
        }
        self.0.disconnect(sessions.into_values().collect(), true).await;
    }

    /// One session, or all, sorted by name.
    pub(super) fn some(&self, server: Option<&str>) -> Result<Vec<Arc<Session>>, McpError> {
        let sessions = self.0.sessions.lock();
        let Some(name) = server else { return Ok(sessions.values().cloned().collect()) };
        let session = sessions.get(name).cloned();
        drop(sessions);
        session.map(|session| vec![session]).ok_or_else(|| self.unknown(name))
    }

    /// Held while the servers are replaced by others.
    pub(super) async fn reloading(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.reloading.lock().await
    }

    /// How each server is reached.
    pub fn configs(&self) -> BTreeMap<String, Arc<McpServerConfig>> {
        let sessions = self.0.sessions.lock();
        sessions.iter().map(|(name, session)| (name.clone(), session.config.clone())).collect()
    }

    fn unknown(&self, name: &str) -> McpError {
        McpError::UnknownServer { name: name.to_owned(), known: self.servers() }
    }
}

async fn connect(sessions: Vec<Arc<Session>>) -> Vec<(String, Result<(), McpError>)> {
    let tries = stream::iter(sessions).map(async |session: Arc<Session>| {
        let connected = session.connect().await.map_err(|reason| not_connected(&session, reason));
        (session.name.clone(), connected.map(drop))
    });
    tries.buffered(ASKED_AT_ONCE).collect().await
}

/// Checks whether this can be the name of a server.
///
/// # Errors
/// When it cannot.
pub fn check_name(name: &str) -> Result<(), McpError> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(McpError::BadName { name: name.to_owned() });
    }
    Ok(())
}

impl PoolInner {
    /// Starts a session; `None` when there is no engine, or none any more.
    fn start(&self, name: &str, config: McpServerConfig, pool: Weak<Self>) -> Option<Arc<Session>> {
        let place = self.engine.get()?.place()?;
        let desk = Desk::new(name, self.host.clone(), self.notices.clone(), Arc::new(config));
        let session = Session::start(name.to_owned(), desk, place, pool);
        let mut started = self.started.lock();
        started.retain(|session| session.upgrade().is_some());
        started.push(session.actor().downgrade());
        Some(Arc::new(session))
    }

    /// Starts a session that lists nothing.
    pub(super) fn start_for_caller(&self, name: &str, config: McpServerConfig) -> Option<Arc<Session>> {
        self.start(name, config, Weak::new())
    }

    /// Takes the tools of a session out that is not in the pool any more, and closes it.
    async fn forget(&self, name: &str, session: Option<Arc<Session>>) {
        let Some(session) = session else { return };
        {
            let mut offered = self.offered.lock().await;
            offered.lists.retain(|_, (listed, _)| !Arc::ptr_eq(listed, &session));
            self.publish_changes(&mut offered).await;
        }
        tracing::debug!(server = name, "MCP server removed");
        self.disconnect(vec![session], true).await;
    }

    /// Closes all sessions of an engine that stops, also those of callers.
    pub(super) async fn close_sessions(&self) {
        let started = std::mem::take(&mut *self.started.lock());
        let alive = started.into_iter().filter_map(|session| session.upgrade());
        stream::iter(alive)
            .for_each_concurrent(ASKED_AT_ONCE, async |session| {
                let _ = session.send(Disconnect { for_good: true, drain: Duration::ZERO }).await;
            })
            .await;
    }

    async fn disconnect(&self, sessions: Vec<Arc<Session>>, for_good: bool) {
        stream::iter(sessions)
            .for_each_concurrent(ASKED_AT_ONCE, async |session| session.close(for_good).await)
            .await;
    }

    /// Lists a server's tools and takes them; gives how many there are, and the problems of single ones.
    pub(super) async fn list_and_publish(
        pool: Weak<Self>,
        server: &str,
        actor: &Addr<McpSessionActor>,
        link: &Link,
        patience: Duration,
    ) -> Result<(usize, Vec<String>), String> {
        let List { items: tools, problems } = match timeout(patience, list(link)).await {
            Ok(listed) => listed.map_err(|error| error.reason().to_owned())?,
            Err(_) => return Err(format!("there was no answer within {} s", patience.as_secs_f64())),
        };
        let pool = pool.upgrade().ok_or("the pool is gone")?;
        Ok((tools.len(), pool.publish(server, actor, tools, problems).await))
    }

    /// Takes a new list of a server's tools and gives the problems of single ones, with those that reading it had. A list of a session that is not
    /// in the pool any more is passed over.
    async fn publish(
        &self,
        server: &str,
        actor: &Addr<McpSessionActor>,
        tools: Vec<rmcp::model::Tool>,
        mut problems: Vec<String>,
    ) -> Vec<String> {
        let mut offered = self.offered.lock().await;
        let session = self.sessions.lock().get(server).filter(|session| session.actor() == actor).cloned();
        let Some(session) = session else { return Vec::new() };
        let mut kept: Vec<rmcp::model::Tool> = Vec::with_capacity(tools.len());
        let mut names = std::collections::HashSet::new();
        for tool in tools {
            if tool.name.trim().is_empty() {
                problems.push("a tool is left out: its \"name\" is empty".to_owned());
            } else if names.insert(tool.name.clone()) {
                kept.push(tool);
            } else {
                problems.push(format!("{:?} is listed twice; the first counts", tool.name));
            }
        }
        offered.lists.insert(server.to_owned(), (session, kept));
        let refused = self.publish_changes(&mut offered).await;
        problems.extend(refused.into_iter().filter(|(of, _)| of == server).map(|(_, problem)| problem));
        if let Some(nameless) = offered.names.nameless(server, &offered.lists[server].1) {
            problems.push(nameless);
        }
        problems
    }

    /// Brings the catalogue to what the lists say, and gives what it refused, with the server of each.
    async fn publish_changes(&self, offered: &mut Offered) -> Vec<(String, String)> {
        let refused = self.change_catalog(offered).await;
        let owner = |(name, tool): (&String, &Arc<McpTool>)| (name.clone(), tool.server().to_owned());
        *self.owners.lock() = offered.tools.iter().map(owner).collect();
        refused
    }

    async fn change_catalog(&self, offered: &mut Offered) -> Vec<(String, String)> {
        let wanted = {
            let sessions = self.sessions.lock();
            let servers: Vec<_> = sessions.keys().map(String::as_str).collect();
            offered.wanted(&servers)
        };
        let Some(engine) = self.engine.get() else { return Vec::new() };
        let tools = wanted.values().map(|tool| Arc::clone(tool) as SharedTool).collect();
        let refused = engine.publish(&mut offered.catalogued, tools).await;
        let problem = |refused: Refused| {
            let owner = wanted.get(&refused.name).map(|tool| tool.server().to_owned()).unwrap_or_default();
            (owner, refused.error.to_string())
        };
        let refused = refused.into_iter().map(problem).collect();
        // What is not in the catalogue is tried again with the next list.
        offered.tools = wanted;
        offered.tools.retain(|name, tool| {
            let there = offered.catalogued.get(name);
            there.is_some_and(|there| std::ptr::addr_eq(Arc::as_ptr(there), Arc::as_ptr(tool)))
        });
        refused
    }
}

impl Offered {
    /// The tools that should be in the catalogue, by their public names.
    fn wanted(&mut self, servers: &[&str]) -> BTreeMap<String, Arc<McpTool>> {
        let ids = self.lists.iter().flat_map(|(server, (_, tools))| {
            tools.iter().map(move |tool| -> ToolId { (server.clone(), tool.name.to_string()) })
        });
        let mut names = self.names.of(servers, ids);
        let mut wanted = BTreeMap::new();
        for (server, (session, tools)) in &self.lists {
            for tool in tools {
                let Some(name) = names.remove(&(server.clone(), tool.name.to_string())) else { continue };
                let new = McpTool::new(name.clone(), tool, session.clone());
                // One that is the same is let alone.
                let before = self.tools.get(&name).filter(|before| before.is_same(&new)).cloned();
                wanted.insert(name, before.unwrap_or_else(|| Arc::new(new)));
            }
        }
        wanted
    }
}

impl std::fmt::Debug for McpPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpPool").field("servers", &self.servers()).finish_non_exhaustive()
    }
}
