//! The sessions of callers that have connections of their own.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Deref,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout_at},
};

use super::{config::McpServerConfig, isolation::Isolation, pool::PoolInner, session::Session};
use crate::moment;

/// Who a connection belongs to.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Caller {
    agent: Option<String>,
    shown: BTreeMap<String, String>,
}

/// The callers of one server.
pub(super) struct Callers {
    pool: Weak<PoolInner>,
    sessions: Mutex<HashMap<Caller, Arc<Kept>>>,
    /// Told when a session is not used any more, or when a caller may join another's.
    freed: Arc<Notify>,
    /// No more sessions are to be opened. Changed and read while the sessions are locked.
    gone: AtomicBool,
}

/// A caller's session, and who uses it.
pub(super) struct Kept {
    session: Arc<Session>,
    users: AtomicUsize,
    /// When it was used last.
    last: Mutex<Instant>,
    freed: Arc<Notify>,
}

impl Kept {
    fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Relaxed) > 0
    }
}

/// A session that is used for one call.
pub(super) enum Used {
    Own(Arc<Session>),
    Caller(Arc<Kept>),
}

impl Used {
    /// To be called with the callers locked: who looks for sessions that are not in use has them, too.
    fn of(kept: &Arc<Kept>) -> Self {
        kept.users.fetch_add(1, Ordering::Relaxed);
        Self::Caller(kept.clone())
    }
}

impl Deref for Used {
    type Target = Session;

    fn deref(&self) -> &Session {
        match self {
            Self::Own(session) => session,
            Self::Caller(kept) => &kept.session,
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        if let Self::Caller(kept) = self {
            *kept.last.lock() = Instant::now();
            if kept.users.fetch_sub(1, Ordering::Relaxed) == 1 {
                kept.freed.notify_waiters();
            }
        }
    }
}

impl Callers {
    pub(super) fn new(pool: Weak<PoolInner>) -> Self {
        let freed = Arc::new(Notify::new());
        Self { pool, sessions: Mutex::default(), freed, gone: AtomicBool::new(false) }
    }

    pub(super) fn sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().map(|kept| kept.session.clone()).collect()
    }

    /// Takes the sessions of an agent out, to be closed. One that is in use stays until it has been idle for long.
    pub(super) fn take_of(&self, agent: &str) -> Vec<Arc<Session>> {
        let mut sessions = self.sessions.lock();
        let taken = sessions
            .extract_if(|caller, kept| caller.agent.as_deref() == Some(agent) && !kept.is_in_use())
            .map(|(_, kept)| kept.session.clone());
        taken.collect()
    }

    /// Takes all sessions out, to be closed.
    pub(super) fn take(&self, for_good: bool) -> Vec<Arc<Session>> {
        let mut sessions = self.sessions.lock();
        self.gone.fetch_or(for_good, Ordering::Relaxed);
        self.freed.notify_waiters();
        sessions.drain().map(|(_, kept)| kept.session.clone()).collect()
    }
}

impl Session {
    /// The session that calls of `agent` go over; waits where as many callers as may have connections use them.
    ///
    /// # Errors
    /// When none is free within the connect timeout; in words, fit for a model.
    pub(super) async fn of_caller(self: &Arc<Self>, agent: Option<&str>) -> Result<Used, String> {
        let patience = self.config.connect_timeout;
        let until = moment::from_now(patience);
        loop {
            // Before looking: what is freed in between wakes too.
            let freed = self.callers.freed.notified();
            if let Some(used) = self.try_of_caller(agent)? {
                return Ok(used);
            }
            timeout_at(until, freed).await.map_err(|_| {
                let seconds = patience.as_secs_f64();
                format!(
                    "all connections that its callers may have were in use for {seconds} s; try again later"
                )
            })?;
        }
    }

    /// `None`: all connections are in use.
    fn try_of_caller(self: &Arc<Self>, agent: Option<&str>) -> Result<Option<Used>, String> {
        let Some(isolation) = &self.config.isolation else { return Ok(Some(Used::Own(self.clone()))) };
        let shown = isolation.credentials.as_ref().map(|shown| shown.of(agent)).unwrap_or_default();
        if agent.is_none() && shown.is_empty() {
            return Ok(Some(Used::Own(self.clone())));
        }
        let caller = Caller { agent: agent.map(str::to_owned), shown };
        let mut sessions = self.callers.sessions.lock();
        if let Some(kept) = sessions.get(&caller) {
            return Ok(Some(Used::of(kept)));
        }
        if sessions.len() >= isolation.most.max(1) {
            let unused = sessions.iter().filter(|(_, kept)| !kept.is_in_use());
            let longest = unused.min_by_key(|(_, kept)| *kept.last.lock()).map(|(caller, _)| caller.clone());
            let Some(longest) = longest else { return Ok(None) };
            sessions.remove(&longest).into_iter().for_each(end);
        }
        if self.callers.gone.load(Ordering::Relaxed) {
            return Err("the server was removed".to_owned());
        }
        let pool = self.callers.pool.upgrade().ok_or("its session has ended")?;
        let session = pool.start_for_caller(&self.name, self.config.shown(&caller.shown));
        let session = session.ok_or("the engine has stopped")?;
        if sessions.is_empty() {
            tokio::spawn(end_unused(Arc::downgrade(self), isolation.clone()));
        }
        let last = Mutex::new(Instant::now());
        let freed = self.callers.freed.clone();
        let kept = Arc::new(Kept { session, users: AtomicUsize::new(0), last, freed });
        let used = Used::of(&kept);
        sessions.insert(caller, kept);
        // Others of the same caller need wait no more.
        self.callers.freed.notify_waiters();
        Ok(Some(used))
    }
}

impl McpServerConfig {
    /// The same, for a caller that shows this to the server.
    fn shown(&self, shown: &BTreeMap<String, String>) -> Self {
        let mut config = Self { isolation: None, ..self.clone() };
        for (name, value) in shown {
            config = config.env(name, value).header(name, value);
        }
        config
    }
}

/// Ends sessions that have been unused for too long, until there is none.
async fn end_unused(server: Weak<Session>, isolation: Isolation) {
    loop {
        sleep(isolation.idle.checked_div(2).unwrap_or_default()).await;
        let Some(server) = server.upgrade() else { return };
        let mut sessions = server.callers.sessions.lock();
        let is_old = |kept: &Kept| kept.last.lock().elapsed() >= isolation.idle && !kept.is_in_use();
        sessions.extract_if(|_, kept| is_old(kept)).for_each(|(_, kept)| end(kept));
        if sessions.is_empty() {
            return;
        }
    }
}

fn end(kept: Arc<Kept>) {
    tokio::spawn(async move { kept.session.close(true).await });
}
