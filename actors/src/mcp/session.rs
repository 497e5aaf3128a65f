//! One server as its callers see it.

use std::{
    collections::BTreeSet,
    ops::Deref,
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use actix::{Actor, Addr};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    actor::{AnswerLost, Broken, Connect, Disconnect, McpSessionActor},
    callers::{Callers, Used},
    config::{LinkMode, McpServerConfig},
    desk::Desk,
    handler::LinkHandler,
    held::HeldCalls,
    link::{Link, open},
    pool::{ASKED_AT_ONCE, PoolInner},
    status::{McpServerStatus, McpState},
    subscription::Wanted,
};
use crate::{code::CodeGuard, extension::Place, reply::post};

/// How often it is looked whether calls have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

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
    /// The link that is not used any more, but by calls under way.
    pub(super) leaving: Option<Arc<Link>>,
    pub(super) last_error: Option<String>,
    pub(super) problems: Vec<String>,
    pub(super) since: Option<SystemTime>,
    /// Its tools have been listed once, or the first try to get there has failed.
    pub(super) settled: bool,
}

impl View {
    pub(super) fn failed(&mut self, error: String) {
        (self.last_error, self.settled) = (Some(error), true);
    }

    pub(super) fn listed(&mut self, tools: usize, problems: Vec<String>) {
        (self.tools, self.problems, self.settled) = (Some(tools), problems, true);
    }
}

/// A hand on a server's session.
pub(super) struct Session {
    pub(super) name: String,
    pub(super) config: Arc<McpServerConfig>,
    actor: Addr<McpSessionActor>,
    open: OpenLink,
    view: watch::Receiver<View>,
    private: Arc<Semaphore>,
    /// Cuts the private links that are open.
    cut: CancellationToken,
    pub(super) callers: Callers,
    pub(super) desk: Arc<Desk>,
    pub(super) held: Arc<HeldCalls>,
    pub(super) wanted: Wanted,
    _place: Place,
    /// File tools do not write what its program is made of.
    _guards: Vec<CodeGuard>,
}

impl Session {
    pub(super) fn start(name: String, desk: Desk, place: Place, pool: Weak<PoolInner>) -> Self {
        let (config, desk) = (desk.config.clone(), Arc::new(desk));
        let wanted = Wanted::new(BTreeSet::new());
        let open = OpenLink::default();
        let callers = Callers::new(pool.clone());
        let (say, view) = watch::channel(View::default());
        let actor = McpSessionActor::new(desk.clone(), open.clone(), say, wanted.subscribe(), pool);
        let actor = McpSessionActor::start_in_arbiter(place.arbiter(), move |_| actor);
        let private = Arc::new(Semaphore::new(config.private_links.max(1)));
        let cut = CancellationToken::new();
        let held = Arc::new(HeldCalls::new());
        let guards = config.link.command().map(|start| start.guard()).unwrap_or_default();
        Self {
            name,
            config,
            actor,
            open,
            view,
            private,
            cut,
            callers,
            desk,
            held,
            wanted,
            _place: place,
            _guards: guards,
        }
    }

    pub(super) fn actor(&self) -> &Addr<McpSessionActor> {
        &self.actor
    }

    /// Gets a link to send one request of a caller over.
    ///
    /// # Errors
    /// As [`lease`](Self::lease), and when no more callers may have connections.
    pub(super) async fn lease_for(self: &Arc<Self>, agent: Option<&str>) -> Result<Lease, String> {
        let used = self.of_caller(agent).await?;
        let mut lease = used.lease().await?;
        lease.used = Some(used);
        Ok(lease)
    }

    /// Gets a link to send one request over.
    ///
    /// # Errors
    /// When there is none within the connect timeout; in words, fit for a model.
    pub(super) async fn lease(&self) -> Result<Lease, String> {
        let late = || format!("no connection was had within {} s", self.config.connect_timeout.as_secs_f64());
        if self.config.mode == LinkMode::PerCall {
            let opening = Box::pin(self.private_link());
            return timeout(self.config.connect_timeout, opening).await.map_err(|_| late())?;
        }
        if let Some(link) = self.open_link() {
            return Ok(self.lent(link, false));
        }
        self.connect().await.map(|link| self.lent(link, false))
    }

    /// The connection that is open now, if there is one.
    pub(super) fn open_link(&self) -> Option<Arc<Link>> {
        self.open.lock().clone().filter(|link| link.is_open())
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

    /// Says that an answer was lost on its way.
    pub(super) fn report_lost(&self) {
        post(&self.actor, AnswerLost);
    }

    async fn private_link(&self) -> Result<Lease, String> {
        let permit = self.private.clone().acquire_owned().await.map_err(|_| "its session has ended")?;
        let handler = LinkHandler::new(self.desk.clone(), Arc::new(|| ()));
        let opened =
            open(&self.config, 0, handler, self.wanted.subscribe()).await.map_err(|end| end.reason)?;
        let (link, cut) = (opened.link.clone(), self.cut.child_token());
        tokio::spawn(async move {
            let mut ended = opened.ended;
            tokio::select! {
                _ = &mut ended => {}
                () = cut.cancelled() => {
                    link.close();
                    let _ = ended.await;
                }
            }
            // The place is free when the process is gone.
            drop(permit);
        });
        Ok(self.lent(opened.link, true))
    }

    fn lent(&self, link: Arc<Link>, private: bool) -> Lease {
        Lease { link, private, session: self.actor.clone(), used: None }
    }

    /// Closes all connections, when the calls under way have ended or the time for that is over, and returns when
    /// nothing is left of them.
    pub(super) async fn close(&self, for_good: bool) {
        // Nobody waits for people.
        self.held.clear();
        if for_good {
            self.private.close();
        }
        let closing =
            self.callers.take(for_good).into_iter().map(|caller| async move { caller.close_own(true).await });
        let closing = stream::iter(closing).buffer_unordered(ASKED_AT_ONCE).collect::<Vec<_>>();
        futures::join!(closing, self.close_own(for_good));
    }

    async fn close_own(&self, for_good: bool) {
        let drain = self.config.drain;
        // An actor that is gone has no connection.
        let _ = self.actor.send(Disconnect { for_good, drain }).await;
        if self.config.mode == LinkMode::PerCall {
            let are_back = || self.private.available_permits() == self.private_links();
            if timeout(drain, until(are_back)).await.is_err() {
                self.cut.cancel();
                until(are_back).await;
            }
        }
    }

    fn private_links(&self) -> usize {
        self.config.private_links.max(1)
    }

    /// How many requests wait for answers.
    fn in_flight(&self) -> usize {
        let leaving = self.view.borrow().leaving.clone();
        let link = self.open.lock().clone().or(leaving);
        let private = self.private_links() - self.private.available_permits();
        link.map_or(0, |link| link.in_flight()) + private
    }

    pub(super) fn view(&self) -> watch::Receiver<View> {
        self.view.clone()
    }

    pub(super) fn status(&self) -> McpServerStatus {
        let view = self.view.borrow().clone();
        let callers = self.callers.sessions();
        let in_flight = self.in_flight() + callers.iter().map(|caller| caller.in_flight()).sum::<usize>();
        McpServerStatus {
            name: self.name.clone(),
            state: view.state,
            era: view.era,
            pid: view.pid,
            generation: view.generation,
            tools: view.tools,
            in_flight,
            callers: callers.len(),
            last_error: view.last_error,
            problems: view.problems,
            since: view.since.unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

/// Waits for something that is looked at now and then: connections are closed too seldom for more.
pub(super) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        sleep(LOOK_AGAIN).await;
    }
}

/// A link for one request.
pub(super) struct Lease {
    link: Arc<Link>,
    private: bool,
    session: Addr<McpSessionActor>,
    /// Keeps a caller's session from being closed as unused.
    used: Option<Used>,
}

impl Deref for Lease {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Lease {
    /// Says that a request could not be sent over the link.
    pub(super) fn report_broken(&self, reason: &str) {
        post(&self.session, Broken { generation: self.generation, reason: reason.to_owned() });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.private {
            self.link.close();
        }
    }
}
