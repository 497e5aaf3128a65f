//! One server as its callers see it.

use std::{
    ops::Deref,
    sync::{Arc, Weak},
    time::SystemTime,
};

use actix::{Actor, Addr};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use super::{
    actor::{Broken, Connect, McpSessionActor},
    config::{LinkMode, McpServerConfig},
    link::{Link, open},
    pool::PoolInner,
    status::{McpServerStatus, McpState},
};
use crate::{
    placement::{Placement, Seat},
    reply::post,
};

/// The link that is open now, as the actor and its callers share it: a call over an open link visits no mailbox.
pub(super) type OpenLink = Arc<Mutex<Option<Arc<Link>>>>;

/// What the actor tells about itself.
#[derive(Clone, Default)]
pub(super) struct View {
    pub(super) state: McpState,
    pub(super) era: Option<String>,
    pub(super) pid: Option<i32>,
    pub(super) generation: u64,
    pub(super) tools: Option<usize>,
    pub(super) last_error: Option<String>,
    pub(super) problems: Vec<String>,
    pub(super) since: Option<SystemTime>,
    /// Its tools have been listed once, or the first try to get there has failed.
    pub(super) settled: bool,
}

/// A hand on a server's session.
pub(super) struct Session {
    pub(super) name: String,
    pub(super) config: Arc<McpServerConfig>,
    actor: Addr<McpSessionActor>,
    open: OpenLink,
    view: watch::Receiver<View>,
    private: Arc<Semaphore>,
    _seat: Option<Seat>,
}

impl Session {
    pub(super) fn start(
        name: String,
        config: McpServerConfig,
        placement: &Placement,
        pool: Weak<PoolInner>,
    ) -> Self {
        let config = Arc::new(config);
        let open = OpenLink::default();
        let (say, view) = watch::channel(View::default());
        let actor = McpSessionActor::new(name.clone(), config.clone(), open.clone(), say, pool);
        let (place, seat) = placement.least();
        let actor = McpSessionActor::start_in_arbiter(&place, move |_| actor);
        let private = Arc::new(Semaphore::new(config.private_links.max(1)));
        Self { name, config, actor, open, view, private, _seat: seat }
    }

    pub(super) fn actor(&self) -> &Addr<McpSessionActor> {
        &self.actor
    }

    /// Gets a link to send one request over.
    ///
    /// # Errors
    /// When there is none within the connect timeout; in words, fit for a model.
    pub(super) async fn lease(&self) -> Result<Lease, String> {
        let late = || format!("no connection was had within {} s", self.config.connect_timeout.as_secs_f64());
        if self.config.mode == LinkMode::PerCall {
            return timeout(self.config.connect_timeout, self.private_link()).await.map_err(|_| late())?;
        }
        let open = self.open.lock().clone();
        if let Some(link) = open.filter(|link| link.is_open()) {
            return Ok(Lease { link, private: false });
        }
        self.connect().await.map(|link| Lease { link, private: false })
    }

    /// Connects, or joins those who wait for it.
    pub(super) async fn connect(&self) -> Result<Arc<Link>, String> {
        match timeout(self.config.connect_timeout, self.actor.send(Connect)).await {
            Ok(connected) => connected.map_err(|_| "its session has ended".to_owned())?,
            Err(_) => {
                Err(format!("no connection was had within {} s", self.config.connect_timeout.as_secs_f64()))
            }
        }
    }

    /// Connects without waiting.
    pub(super) fn begin_connecting(&self) {
        post(&self.actor, Connect);
    }

    async fn private_link(&self) -> Result<Lease, String> {
        let permit = self.private.clone().acquire_owned().await.map_err(|_| "its session has ended")?;
        let opened = open(&self.config, 0, Arc::new(|| ())).await.map_err(|end| end.reason)?;
        let lease = Lease { link: opened.link, private: true };
        tokio::spawn(async move {
            // The place is free when the process is gone.
            let _ = opened.ended.await;
            drop(permit);
        });
        Ok(lease)
    }

    /// Says that a request could not be sent over a link.
    pub(super) fn report_broken(&self, link: &Link, reason: &str) {
        post(&self.actor, Broken { generation: link.generation, reason: reason.to_owned() });
    }

    pub(super) fn view(&self) -> watch::Receiver<View> {
        self.view.clone()
    }

    pub(super) fn status(&self) -> McpServerStatus {
        let view = self.view.borrow().clone();
        let private = self.config.private_links.max(1) - self.private.available_permits();
        let in_flight = self.open.lock().as_ref().map_or(private, |link| link.in_flight());
        McpServerStatus {
            name: self.name.clone(),
            state: view.state,
            era: view.era,
            pid: view.pid,
            generation: view.generation,
            tools: view.tools,
            in_flight,
            last_error: view.last_error,
            problems: view.problems,
            since: view.since.unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

/// A link for one request.
pub(super) struct Lease {
    link: Arc<Link>,
    private: bool,
}

impl Deref for Lease {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.private {
            self.link.close();
        }
    }
}
