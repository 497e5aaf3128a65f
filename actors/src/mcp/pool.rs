//! The MCP servers of one engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use actix::Addr;
use futures::{StreamExt, future::select_all, stream};
use parking_lot::Mutex;
use tokio::time::timeout;
use toolyard_contract::{Tool, ToolSpec};

use super::{
    actor::{Disconnect, McpSessionActor},
    config::McpServerConfig,
    controller::McpSession,
    desk::Desk,
    host::McpHost,
    names::{ToolId, public_names},
    notice::{McpNotices, NoticeBoard},
    requests::not_connected,
    session::Session,
    status::{McpError, McpServerStatus},
    tool::McpTool,
};
use crate::{CatalogChange, Yard};

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
pub struct McpPool(Arc<PoolInner>);

pub(super) struct PoolInner {
    yard: Yard,
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
}

impl McpPool {
    /// Makes an empty pool whose tools go to `yard`, and for whose servers `host` does what they ask.
    pub fn new(yard: Yard, host: McpHost) -> Self {
        let inner = PoolInner {
            yard,
            host: Arc::new(host),
            notices: NoticeBoard::new(),
            sessions: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
            owners: Mutex::default(),
            offered: tokio::sync::Mutex::default(),
        };
        Self(Arc::new(inner))
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
        let session = self.0.start(&name, config, Arc::downgrade(&self.0));
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
        let session = self.0.start(&name, config, Arc::downgrade(&self.0));
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
        Ok(self.0.yard.activation().filter(self.all_tools(server)?))
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
        let catalog = self.0.yard.catalog();
        let specs = catalog.entries().iter().map(|entry| entry.spec()).filter(|spec| is_wanted(&spec.name));
        Ok(specs.cloned().collect())
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
    fn start(&self, name: &str, config: McpServerConfig, pool: Weak<Self>) -> Arc<Session> {
        let shared = &self.yard.shared;
        let desk = Desk::new(name, self.host.clone(), self.notices.clone(), Arc::new(config));
        let place = shared.placement.lock().least();
        let session = Session::start(name.to_owned(), desk, place, pool);
        shared.note_mcp_session(session.actor());
        Arc::new(session)
    }

    /// Starts a session that lists nothing.
    pub(super) fn start_for_caller(&self, name: &str, config: McpServerConfig) -> Arc<Session> {
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

    async fn disconnect(&self, sessions: Vec<Arc<Session>>, for_good: bool) {
        stream::iter(sessions)
            .for_each_concurrent(ASKED_AT_ONCE, async |session| session.close(for_good).await)
            .await;
    }

    /// Takes a new list of a server's tools and gives the problems of single ones, with those that reading it had. A list of a session that is not
    /// in the pool any more is passed over.
    pub(super) async fn publish(
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
            if names.insert(tool.name.clone()) {
                kept.push(tool);
            } else {
                problems.push(format!("{:?} is listed twice; the first counts", tool.name));
            }
        }
        offered.lists.insert(server.to_owned(), (session, kept));
        let refused = self.publish_changes(&mut offered).await;
        problems.extend(refused.into_iter().filter(|(of, _)| of == server).map(|(_, problem)| problem));
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
        let mut changes: Vec<(String, CatalogChange)> = Vec::new();
        for (name, tool) in &offered.tools {
            if !wanted.contains_key(name) {
                changes.push((tool.server().to_owned(), CatalogChange::Remove(name.clone())));
            }
        }
        for (name, tool) in &wanted {
            let shared: Arc<dyn Tool> = tool.clone();
            let change = match offered.tools.get(name) {
                Some(before) if before.is_same(tool) => continue,
                Some(_) => CatalogChange::Replace(shared),
                None => CatalogChange::Add(shared),
            };
            changes.push((tool.server().to_owned(), change));
        }
        offered.tools = wanted;
        if changes.is_empty() {
            return Vec::new();
        }
        let all = changes.iter().map(|(_, change)| change.clone()).collect();
        if self.yard.change_catalog(all).await.is_ok() {
            return Vec::new();
        }
        // One of them is refused; the others need not suffer.
        let mut refused = Vec::new();
        for (server, change) in changes {
            let name = match &change {
                CatalogChange::Add(tool) | CatalogChange::Replace(tool) => Some(tool.spec().name.clone()),
                _ => None,
            };
            if let Err(error) = self.yard.change_catalog(vec![change]).await {
                // What is not in the catalogue is tried again with the next list.
                name.map(|name| offered.tools.remove(&name));
                refused.push((server, error.to_string()));
            }
        }
        refused
    }
}

impl Offered {
    /// The tools that should be in the catalogue, by their public names.
    fn wanted(&self, servers: &[&str]) -> BTreeMap<String, Arc<McpTool>> {
        let ids = self.lists.iter().flat_map(|(server, (_, tools))| {
            tools.iter().map(move |tool| -> ToolId { (server.clone(), tool.name.to_string()) })
        });
        let mut names = public_names(servers, ids);
        let mut wanted = BTreeMap::new();
        for (server, (session, tools)) in &self.lists {
            for tool in tools {
                let Some(name) = names.remove(&(server.clone(), tool.name.to_string())) else { continue };
                let new = McpTool::new(name.clone(), tool, session.clone());
                wanted.insert(name, Arc::new(new));
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

/// Closes the sessions of an engine that stops.
pub(crate) async fn close_sessions(sessions: Vec<actix::WeakAddr<McpSessionActor>>) {
    let alive = sessions.into_iter().filter_map(|session| session.upgrade());
    stream::iter(alive)
        .for_each_concurrent(ASKED_AT_ONCE, async |session| {
            let _ = session.send(Disconnect { for_good: true, drain: Duration::ZERO }).await;
        })
        .await;
}
