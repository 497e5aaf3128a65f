//! ```text
//! McpSessionActor
//! Receives  Connect, Disconnect, Broken, AnswerLost; Opened, Ended, ToolsChanged, Listed from its own tasks
//! Sends     the tools of its server to the pool, from a task
//! Owns      the connection to one server, and who waits for it
//! Lives on  one arbiter, chosen when the server is added
//! Fails     never by a server's fault: connections are opened and read by tasks
//! ```

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use actix::{Actor, AsyncContext, Context, Handler, Message, ResponseFuture};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, timeout},
};

use super::{
    config::{LinkMode, McpLink, McpServerConfig},
    desk::Desk,
    handler::{LinkHandler, OnToolsChanged},
    link::{Link, LinkEnd, Opened, open},
    pool::PoolInner,
    session::{OpenLink, View, until},
    state::{Listing, State},
    telling::Telling,
    tries::{Next, Tries},
};
use crate::moment;
use crate::reply::{MAILBOX, post};

/// How long changes of a list are gathered before it is read again: servers announce each tool on its own.
const GATHER: Duration = Duration::from_millis(300);

/// When a list that could not be read is tried again.
const LIST_AGAIN: Duration = Duration::from_secs(5);

/// How long a server has to come back whose answer was lost, before it is asked for its list.
const BACK: Duration = Duration::from_secs(1);

/// Gets the open link, opening it if need be. Several callers share one try and its outcome.
#[derive(Message)]
#[rtype(result = "Result<Arc<Link>, String>")]
pub(super) struct Connect;

/// Closes the link and returns when nothing of it is left.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Disconnect {
    /// Nobody may connect again.
    pub(crate) for_good: bool,
    /// How long requests under way may go on.
    pub(crate) drain: Duration,
}

/// A request could not be sent over a link.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Broken {
    pub(super) generation: u64,
    pub(super) reason: String,
}

/// A try to open a link has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct OpenEnded(u64, Result<Opened, LinkEnd>);

/// A link has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct LinkEnded(u64, LinkEnd);

/// The server says that its tools have changed.
#[derive(Message)]
#[rtype(result = "()")]
struct ToolsChanged(u64);

/// An answer was lost on its way from a server that may have been started anew since, with other tools: over streamable
/// HTTP no connection need end for that.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct AnswerLost;

/// The tools have been listed and published: how many, and the problems of single ones.
#[derive(Message)]
#[rtype(result = "()")]
struct Listed(u64, Result<(usize, Vec<String>), String>);

pub(crate) struct McpSessionActor {
    desk: Arc<Desk>,
    config: Arc<McpServerConfig>,
    pool: Weak<PoolInner>,
    wanted: watch::Receiver<BTreeSet<String>>,
    state: State,
    /// Counts connections; messages about older ones are ignored.
    generation: u64,
    tries: Tries,
    waiting: Vec<oneshot::Sender<Result<Arc<Link>, String>>>,
    leaving: Vec<oneshot::Sender<()>>,
    gone: bool,
    /// Why the link is of no use any more, where that was seen before its end.
    broken: Option<String>,
    listing: Listing,
    telling: Telling,
    open: OpenLink,
    view: watch::Sender<View>,
}

impl McpSessionActor {
    pub(super) fn new(
        desk: Arc<Desk>,
        open: OpenLink,
        view: watch::Sender<View>,
        wanted: watch::Receiver<BTreeSet<String>>,
        pool: Weak<PoolInner>,
    ) -> Self {
        Self {
            config: desk.config.clone(),
            tries: Tries::new(&desk.config),
            desk,
            pool,
            wanted,
            state: State::Idle,
            generation: 0,
            waiting: Vec::new(),
            leaving: Vec::new(),
            gone: false,
            broken: None,
            listing: Listing::No,
            telling: Telling::default(),
            open,
            view,
        }
    }

    fn enter(&mut self, state: State) {
        let link = if let State::Ready(link, _) = &state { Some(link.clone()) } else { None };
        let leaving = if let State::Closing(link) = &state { Some(link.clone()) } else { None };
        self.view.send_modify(|view| {
            let there = link.as_ref().or(leaving.as_ref());
            view.state = state.name();
            view.pid = there.and_then(|link| link.pid);
            view.era = there.map(|link| link.version.clone());
            view.leaving.clone_from(&leaving);
            view.generation = self.generation;
            view.since = Some(SystemTime::now());
        });
        *self.open.lock() = link;
        self.state = state;
    }

    fn note_error(&mut self, error: String) {
        self.telling.failed(&self.desk.server, &error);
        self.view.send_modify(|view| {
            view.last_error = Some(error);
            view.settled = true;
        });
    }

    fn answer_waiting(&mut self, outcome: &Result<Arc<Link>, String>) {
        for waiting in self.waiting.drain(..) {
            // One that gave up needs no answer.
            let _ = waiting.send(outcome.clone());
        }
    }

    fn start_connecting(&mut self, ctx: &mut Context<Self>) {
        self.generation += 1;
        self.tries.begin();
        let (generation, config, actor) = (self.generation, self.config.clone(), ctx.address());
        let changes = actor.downgrade();
        let on_tools_changed: OnToolsChanged = Arc::new(move || {
            if let Some(actor) = changes.upgrade() {
                post(&actor, ToolsChanged(generation));
            }
        });
        let handler = LinkHandler::new(self.desk.clone(), on_tools_changed);
        let wanted = self.wanted.clone();
        let task = tokio::spawn(async move {
            let opened = open(&config, generation, handler, wanted).await;
            post(&actor, OpenEnded(generation, opened));
        });
        self.enter(State::Connecting(task.abort_handle()));
    }

    /// Takes note of a failure and plans the next try.
    fn fail(&mut self, end: &LinkEnd, next: Next, ctx: &mut Context<Self>) {
        self.note_error(end.in_full());
        if self.config.mode == LinkMode::PerCall {
            return self.enter(State::Idle);
        }
        match next {
            Next::Again(pause) => self.try_at(moment::from_now(pause), ctx),
            Next::GivenUp(pause) => {
                self.enter(State::Failed(moment::from_now(pause)));
                self.answer_waiting(&Err(end.reason.clone()));
            }
        }
    }

    fn try_at(&mut self, at: Instant, ctx: &mut Context<Self>) {
        let pause = at.saturating_duration_since(Instant::now());
        let again = ctx.run_later(pause, Self::start_connecting);
        self.enter(State::Backoff(at, again));
    }

    /// Brings the next try forward for a call, where the pause is for nobody's good.
    fn try_for_call(&mut self, ctx: &mut Context<Self>) {
        let (State::Backoff(planned, _) | State::Failed(planned)) = &self.state else { return };
        let at = self.tries.for_call(*planned);
        if at < *planned {
            if let State::Backoff(_, again) = &self.state {
                ctx.cancel_future(*again);
            }
            self.try_at(at, ctx);
        }
    }

    fn list_soon(&mut self, after: Duration, ctx: &mut Context<Self>) {
        match self.listing {
            Listing::Now => self.listing = Listing::NowAndAgain,
            Listing::No => {
                self.listing = Listing::Soon;
                let generation = self.generation;
                ctx.run_later(after, move |actor, ctx| {
                    if generation == actor.generation {
                        actor.list_now(ctx);
                    }
                });
            }
            Listing::Soon | Listing::NowAndAgain => {}
        }
    }

    fn list_now(&mut self, ctx: &mut Context<Self>) {
        self.listing = Listing::No;
        let State::Ready(link, _) = &self.state else { return };
        if self.pool.upgrade().is_none() {
            // A caller's session: the server's own lists for all.
            return;
        }
        self.listing = Listing::Now;
        let (generation, link, actor) = (self.generation, link.clone(), ctx.address());
        let (name, pool, patience) = (self.desk.server.clone(), self.pool.clone(), self.config.patience());
        tokio::spawn(async move {
            let listed = PoolInner::list_and_publish(pool, &name, &actor, &link, patience).await;
            post(&actor, Listed(generation, listed));
        });
    }

    /// Stops using a connection, and closes it when the requests under way have ended.
    fn leave(&mut self, link: Arc<Link>, drain: Duration) {
        self.enter(State::Closing(link.clone()));
        tokio::spawn(async move {
            // Whoever is not done by then has had its time.
            let _ = timeout(drain, until(|| link.in_flight() == 0)).await;
            link.close();
        });
    }

    /// Asks now and then whether the server is still there.
    fn watch_health(&self, link: &Arc<Link>, ctx: &Context<Self>) {
        let Some(check) = self.config.health else { return };
        let (link, actor) = (link.clone(), ctx.address().downgrade());
        tokio::spawn(async move {
            let generation = link.generation;
            if let Some(reason) = check.failure(link).await
                && let Some(actor) = actor.upgrade()
            {
                post(&actor, Broken { generation, reason });
            }
        });
    }

    /// The end of a connection that somebody asked for.
    fn closed(&mut self, ctx: &mut Context<Self>) {
        self.enter(State::Idle);
        for leaving in self.leaving.drain(..) {
            let _ = leaving.send(());
        }
        if !self.waiting.is_empty() {
            self.start_connecting(ctx);
        }
    }
}

impl Actor for McpSessionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Connect> for McpSessionActor {
    type Result = ResponseFuture<Result<Arc<Link>, String>>;

    fn handle(&mut self, _: Connect, ctx: &mut Self::Context) -> Self::Result {
        self.try_for_call(ctx);
        let now = Instant::now();
        let last_error = || self.view.borrow().last_error.clone().unwrap_or_default();
        let refusal = match &self.state {
            _ if self.gone => Some("the server was removed".to_owned()),
            State::Ready(link, _) if link.is_open() => {
                let link = link.clone();
                return Box::pin(async { Ok(link) });
            }
            State::Failed(until) if now < *until => {
                Some(format!("{}; it is not tried again yet", last_error()))
            }
            State::Backoff(until, _) if *until > moment::after(now, self.config.connect_timeout) => {
                Some(last_error())
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            return Box::pin(async { Err(refusal) });
        }
        let (send, receive) = oneshot::channel();
        self.waiting.push(send);
        if matches!(self.state, State::Idle | State::Failed(_)) {
            self.start_connecting(ctx);
        }
        Box::pin(async { receive.await.unwrap_or_else(|_| Err("its session has ended".to_owned())) })
    }
}

impl Handler<Disconnect> for McpSessionActor {
    type Result = ResponseFuture<()>;

    fn handle(
        &mut self,
        Disconnect { for_good, drain }: Disconnect,
        ctx: &mut Self::Context,
    ) -> Self::Result {
        self.gone |= for_good;
        self.tries.forget();
        self.answer_waiting(&Err("it was disconnected".to_owned()));
        match &self.state {
            State::Ready(link, _) => {
                let link = link.clone();
                self.leave(link, drain);
            }
            State::Closing(link) => {
                if drain.is_zero() {
                    link.close();
                }
            }
            State::Connecting(task) => {
                // Dropping the task kills what it started; its late word is about an older generation.
                task.abort();
                self.generation += 1;
                self.enter(State::Idle);
            }
            State::Backoff(_, again) => {
                ctx.cancel_future(*again);
                self.enter(State::Idle);
            }
            State::Idle | State::Failed(_) => self.enter(State::Idle),
        }
        if !matches!(self.state, State::Closing(_)) {
            return Box::pin(async {});
        }
        let (send, receive) = oneshot::channel();
        self.leaving.push(send);
        Box::pin(async { receive.await.unwrap_or_default() })
    }
}

impl Handler<Broken> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, Broken { generation, reason }: Broken, _: &mut Self::Context) {
        if let State::Ready(link, _) = &self.state
            && link.generation == generation
        {
            // Its end follows, and the next try with it.
            link.close();
            *self.open.lock() = None;
            self.broken = Some(reason);
        }
    }
}

impl Handler<OpenEnded> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, OpenEnded(generation, outcome): OpenEnded, ctx: &mut Self::Context) {
        if generation != self.generation || self.gone {
            if let Ok(opened) = outcome {
                opened.link.close();
            }
            return;
        }
        match outcome {
            Ok(Opened { link, ended }) => {
                let actor = ctx.address();
                tokio::spawn(async move {
                    let end = ended.await;
                    let cut = |_| LinkEnd { reason: "the connection went away".to_owned(), last_words: None };
                    post(&actor, LinkEnded(generation, end.unwrap_or_else(cut)));
                });
                self.watch_health(&link, ctx);
                self.enter(State::Ready(link.clone(), Instant::now()));
                self.answer_waiting(&Ok(link));
                self.list_now(ctx);
            }
            Err(end) => {
                let next = self.tries.failed();
                self.fail(&end, next, ctx);
                self.answer_waiting(&Err(end.reason));
            }
        }
    }
}

impl Handler<LinkEnded> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, LinkEnded(generation, mut end): LinkEnded, ctx: &mut Self::Context) {
        if generation != self.generation {
            return;
        }
        self.listing = Listing::No;
        end.reason = self.broken.take().unwrap_or(end.reason);
        let (name, reason) = (&*self.desk.server, &end.reason);
        tracing::debug!(server = name, generation, reason, "MCP connection ended");
        match &self.state {
            State::Closing(_) => self.closed(ctx),
            State::Ready(link, since) => {
                let next = self.tries.ended(since.elapsed(), link.has_answered());
                self.fail(&end, next, ctx);
            }
            _ => {}
        }
    }
}

impl Handler<ToolsChanged> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, ToolsChanged(generation): ToolsChanged, ctx: &mut Self::Context) {
        if generation == self.generation {
            self.list_soon(GATHER, ctx);
        }
    }
}

impl Handler<AnswerLost> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, _: AnswerLost, ctx: &mut Self::Context) {
        if matches!(self.state, State::Ready(..)) && matches!(self.config.link, McpLink::Http { .. }) {
            self.list_soon(BACK, ctx);
        }
    }
}

impl Handler<Listed> for McpSessionActor {
    type Result = ();

    fn handle(&mut self, Listed(generation, outcome): Listed, ctx: &mut Self::Context) {
        if generation != self.generation {
            return;
        }
        let again = std::mem::replace(&mut self.listing, Listing::No) == Listing::NowAndAgain;
        match outcome {
            Ok((tools, problems)) => {
                self.telling.is_there(&self.desk.server);
                self.view.send_modify(|view| {
                    view.tools = Some(tools);
                    view.problems = problems;
                    view.settled = true;
                });
                if again {
                    self.list_soon(GATHER, ctx);
                }
            }
            Err(reason) => {
                self.note_error(format!("its tools could not be listed: {reason}"));
                self.list_soon(LIST_AGAIN, ctx);
            }
        }
        if self.config.mode == LinkMode::PerCall
            && let State::Ready(link, _) = &self.state
        {
            // Calls have links of their own; this one was for the list.
            let link = link.clone();
            self.leave(link, Duration::ZERO);
        }
    }
}
