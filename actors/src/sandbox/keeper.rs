//! ```text
//! SandboxPoolActor
//! Receives  Lease, GiveBack, Forget, WarmUp, Count, Release, Close; Up, Cleared, Gone from its own tasks
//! Sends     Start and Stop to its sandboxes, from tasks
//! Owns      which sandboxes there are, and who has them
//! Lives on  the arbiter that its pool was given
//! Fails     never by a sandbox's fault: one that cannot be started fails those who wait for one
//! ```

mod forget;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, AsyncContext, Context, Handler, Message, ResponseFuture};
use futures::{StreamExt, stream};
use tokio::{sync::oneshot, time::Instant};

use super::{
    docker::Daemon,
    error::SandboxError,
    handle::Sandbox,
    owner::Owner,
    pool::{SandboxLease, SandboxPoolConfig, SandboxPoolStatus},
};
use crate::reply::{MAILBOX, post};

pub(super) use self::forget::Forget;

/// How often idle sandboxes are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How long none is started ahead after a start that failed.
const REST: Duration = Duration::from_secs(30);

/// How often containers are looked for that nobody owns any more.
const REAP: Duration = Duration::from_mins(5);

/// Gives a sandbox.
#[derive(Message)]
#[rtype(result = "Result<SandboxLease, SandboxError>")]
pub(super) struct Lease {
    pub(super) agent: Option<String>,
}

/// Takes one back.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct GiveBack(pub(super) u64);

/// Starts as many as are kept ready.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct WarmUp;

/// Counts them.
#[derive(Message)]
#[rtype(result = "SandboxPoolStatus")]
pub(super) struct Count;

/// Ends those that nobody uses, and the others when they are given back.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Release;

/// Ends them all.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Close;

/// A start has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Up(u64, Result<(), SandboxError>);

/// A sandbox has been cleared, or could not be.
#[derive(Message)]
#[rtype(result = "()")]
struct Cleared(Kept, Result<(), SandboxError>);

/// A sandbox has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Gone;

/// A sandbox, and how much of it is used up.
struct Kept {
    sandbox: Sandbox,
    uses: u32,
    born: Instant,
    /// Since when nobody has it.
    free: Instant,
}

struct Leased {
    kept: Kept,
    agent: Option<String>,
    /// How many calls have it now.
    users: usize,
    /// Nobody gets it any more.
    released: bool,
}

struct Waiting {
    agent: Option<String>,
    answers: Vec<oneshot::Sender<Result<SandboxLease, SandboxError>>>,
}

/// Owns the sandboxes of one pool.
pub(super) struct SandboxPoolActor {
    config: Arc<SandboxPoolConfig>,
    owner: Option<Arc<Owner>>,
    last: u64,
    warm: Vec<Kept>,
    starting: HashMap<u64, Sandbox>,
    leased: HashMap<u64, Leased>,
    agents: HashMap<String, u64>,
    waiting: VecDeque<Waiting>,
    /// On their way down, or being cleared.
    ending: usize,
    /// When a start failed last.
    failed: Option<Instant>,
    closed: bool,
}

impl SandboxPoolActor {
    pub(super) fn new(config: Arc<SandboxPoolConfig>) -> Self {
        Self {
            config,
            owner: None,
            last: 0,
            warm: Vec::new(),
            starting: HashMap::new(),
            leased: HashMap::new(),
            agents: HashMap::new(),
            waiting: VecDeque::new(),
            ending: 0,
            failed: None,
            closed: false,
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Serves who waits, and keeps as many ready as the settings say.
    fn serve(&mut self, ctx: &mut Context<Self>) {
        while !self.waiting.is_empty() {
            match self.warm.pop() {
                Some(kept) if kept.sandbox.is_up() => self.hand_out(kept, ctx),
                Some(kept) => self.end(kept, ctx),
                None => break,
            }
        }
        let resting = self.failed.is_some_and(|failed| failed.elapsed() < REST);
        let ahead = if resting { 0 } else { self.config.warm.saturating_sub(self.warm.len()) };
        let wanted = self.waiting.len() + ahead;
        while !self.closed && self.starting.len() < wanted && self.count() < self.config.most.max(1) {
            if let Err(error) = self.start_one(ctx) {
                return self.fail_waiting(&error);
            }
        }
        if self.starting.len() + self.ending < self.waiting.len() {
            self.end_idlest(ctx);
        }
    }

    /// Serves; the first time, also what others have left behind is looked for.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let first = self.owner.is_none();
        self.serve(ctx);
        if first {
            self.reap();
        }
    }

    fn count(&self) -> usize {
        self.warm.len() + self.starting.len() + self.leased.len() + self.ending
    }

    fn start_one(&mut self, ctx: &Context<Self>) -> Result<(), SandboxError> {
        let owner = match &self.owner {
            Some(owner) => owner.clone(),
            None => {
                let owner = Owner::new().map_err(|error| SandboxError::Refused {
                    reason: format!("its lock file cannot be made: {error}"),
                })?;
                self.owner.insert(Arc::new(owner)).clone()
            }
        };
        let id = self.next();
        let config = Arc::new(self.config.sandbox.clone());
        let sandbox = Sandbox::new(config, owner, &Arbiter::current());
        self.starting.insert(id, sandbox.clone());
        let pool = ctx.address();
        tokio::spawn(async move { post(&pool, Up(id, sandbox.begin().await)) });
        Ok(())
    }

    /// Gives a sandbox to the first who waits and still wants it.
    fn hand_out(&mut self, kept: Kept, ctx: &Context<Self>) {
        let Some(Waiting { agent, answers }) = self.waiting.pop_front() else { return self.warm.push(kept) };
        let ticket = self.next();
        let sandbox = kept.sandbox.clone();
        let uses = kept.uses + 1;
        let leased = Leased {
            kept: Kept { uses, ..kept },
            agent: agent.clone(),
            users: answers.len(),
            released: false,
        };
        self.leased.insert(ticket, leased);
        if let Some(agent) = agent {
            self.agents.insert(agent, ticket);
        }
        for answer in answers {
            // One that is not wanted any more gives itself back as it is dropped.
            drop(answer.send(Ok(SandboxLease { sandbox: sandbox.clone(), ticket, pool: ctx.address() })));
        }
    }

    fn fail_waiting(&mut self, error: &SandboxError) {
        for waiting in self.waiting.drain(..) {
            for answer in waiting.answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }

    fn take_lease(&mut self, ticket: u64) -> Option<Kept> {
        let leased = self.leased.remove(&ticket)?;
        // After a release it may be the agent's next one that is there.
        if let Some(agent) = leased.agent.as_ref().filter(|_| !leased.released) {
            self.agents.remove(agent);
        }
        Some(leased.kept)
    }

    /// Takes the sandbox from the agent that has done nothing for longest.
    fn end_idlest(&mut self, ctx: &Context<Self>) {
        let idle = self.leased.iter().filter(|(_, leased)| leased.users == 0);
        let idlest = idle.min_by_key(|(_, leased)| leased.kept.free).map(|(ticket, _)| *ticket);
        if let Some(kept) = idlest.and_then(|ticket| self.take_lease(ticket)) {
            self.end(kept, ctx);
        }
    }

    fn end(&mut self, kept: Kept, ctx: &Context<Self>) {
        self.ending += 1;
        let pool = ctx.address();
        tokio::spawn(async move {
            stop(kept.sandbox).await;
            post(&pool, Gone);
        });
    }

    /// Clears a sandbox for the next, or ends it when it is used up.
    fn recycle(&mut self, kept: Kept, ctx: &Context<Self>) {
        // What is in a folder of the host is not ours to remove, so its next visitor would see it.
        let closed = self.config.sandbox.mounts.iter().all(|mount| !mount.writable);
        let fit = kept.uses < self.config.uses && closed && !self.is_old(&kept) && kept.sandbox.is_up();
        if self.closed || !fit {
            return self.end(kept, ctx);
        }
        self.ending += 1;
        let pool = ctx.address();
        tokio::spawn(async move {
            let cleared = kept.sandbox.reset().await;
            post(&pool, Cleared(kept, cleared));
        });
    }

    fn is_old(&self, kept: &Kept) -> bool {
        kept.born.elapsed() > self.config.sandbox.life.checked_div(2).unwrap_or_default()
    }

    /// Ends what has not been used for long, or has lived for long.
    fn look(&mut self, ctx: &mut Context<Self>) {
        let idle = |kept: &Kept| kept.free.elapsed() > self.config.idle;
        let unused = |leased: &Leased| leased.users == 0 && (idle(&leased.kept) || self.is_old(&leased.kept));
        let tickets: Vec<_> =
            self.leased.iter().filter(|(_, leased)| unused(leased)).map(|(ticket, _)| *ticket).collect();
        for ticket in tickets {
            if let Some(kept) = self.take_lease(ticket) {
                self.end(kept, ctx);
            }
        }
        for kept in std::mem::take(&mut self.warm) {
            let spare = self.warm.len() >= self.config.warm && kept.free.elapsed() > self.config.idle;
            if spare || self.is_old(&kept) || !kept.sandbox.is_up() {
                self.end(kept, ctx);
            } else {
                self.warm.push(kept);
            }
        }
        // Until the first is asked for there is none.
        if self.owner.is_some() {
            self.serve(ctx);
        }
    }

    fn reap(&self) {
        let (Some(owner), config) = (self.owner.clone(), self.config.clone()) else { return };
        tokio::spawn(async move {
            let reaped = match Daemon::connect(config.sandbox.daemon.as_deref()).await {
                Ok(daemon) => owner.reap(&daemon).await,
                Err(error) => Err(error),
            };
            if let Err(error) = reaped {
                tracing::warn!(%error, "containers that were left behind could not be removed");
            }
        });
    }
}

async fn stop(sandbox: Sandbox) {
    if let Err(error) = sandbox.stop().await {
        tracing::warn!(%error, "a sandbox could not be stopped");
    }
}

impl Actor for SandboxPoolActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(LOOK, Self::look);
        ctx.run_interval(REAP, |pool, _| pool.reap());
    }
}

impl Handler<Lease> for SandboxPoolActor {
    type Result = ResponseFuture<Result<SandboxLease, SandboxError>>;

    fn handle(&mut self, Lease { agent }: Lease, ctx: &mut Self::Context) -> Self::Result {
        if self.closed {
            return Box::pin(async { Err(SandboxError::NotStarted) });
        }
        if let Some(ticket) = agent.as_ref().and_then(|agent| self.agents.get(agent)).copied()
            && let Some(leased) = self.leased.get_mut(&ticket)
        {
            if leased.kept.sandbox.is_up() {
                leased.users += 1;
                let lease =
                    SandboxLease { sandbox: leased.kept.sandbox.clone(), ticket, pool: ctx.address() };
                return Box::pin(async { Ok(lease) });
            }
            if let Some(kept) = self.take_lease(ticket) {
                self.end(kept, ctx);
            }
        }
        let (send, receive) = oneshot::channel();
        let same = |waiting: &&mut Waiting| agent.is_some() && waiting.agent == agent;
        match self.waiting.iter_mut().find(same) {
            Some(waiting) => waiting.answers.push(send),
            None => self.waiting.push_back(Waiting { agent, answers: vec![send] }),
        }
        self.begin(ctx);
        Box::pin(async { receive.await.unwrap_or(Err(SandboxError::NotStarted)) })
    }
}

impl Handler<GiveBack> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, GiveBack(ticket): GiveBack, ctx: &mut Self::Context) {
        let Some(leased) = self.leased.get_mut(&ticket) else { return };
        leased.users -= 1;
        leased.kept.free = Instant::now();
        let stays = leased.agent.is_some() && !leased.released && leased.kept.sandbox.is_up();
        if leased.users > 0 || stays {
            if !self.waiting.is_empty() {
                self.serve(ctx);
            }
            return;
        }
        let released = leased.released;
        match self.take_lease(ticket) {
            Some(kept) if released => self.end(kept, ctx),
            Some(kept) => self.recycle(kept, ctx),
            None => {}
        }
    }
}

impl Handler<Up> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, Up(id, up): Up, ctx: &mut Self::Context) {
        let Some(sandbox) = self.starting.remove(&id) else { return };
        match up {
            Ok(()) => {
                let now = Instant::now();
                self.warm.push(Kept { sandbox, uses: 0, born: now, free: now });
                self.serve(ctx);
            }
            Err(error) => {
                self.failed = Some(Instant::now());
                self.fail_waiting(&error);
            }
        }
    }
}

impl Handler<Cleared> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, Cleared(kept, cleared): Cleared, ctx: &mut Self::Context) {
        self.ending -= 1;
        match cleared {
            Ok(()) if !self.closed => {
                self.warm.push(Kept { free: Instant::now(), ..kept });
                self.serve(ctx);
            }
            _ => self.end(kept, ctx),
        }
    }
}

impl Handler<Gone> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, _: Gone, ctx: &mut Self::Context) {
        self.ending -= 1;
        self.serve(ctx);
    }
}

impl Handler<WarmUp> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, _: WarmUp, ctx: &mut Self::Context) {
        self.begin(ctx);
    }
}

impl Handler<Count> for SandboxPoolActor {
    type Result = actix::MessageResult<Count>;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> Self::Result {
        actix::MessageResult(SandboxPoolStatus {
            warm: self.warm.len(),
            starting: self.starting.len(),
            leased: self.leased.len(),
            ending: self.ending,
            waiting: self.waiting.len(),
        })
    }
}

impl Handler<Release> for SandboxPoolActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Release, ctx: &mut Self::Context) -> Self::Result {
        self.agents.clear();
        let unused = self.leased.extract_if(|_, leased| {
            leased.released = true;
            leased.users == 0
        });
        let unused: Vec<_> = unused.map(|(_, leased)| leased.kept.sandbox).collect();
        let all: Vec<_> = unused.into_iter().chain(self.warm.drain(..).map(|kept| kept.sandbox)).collect();
        self.ending += all.len();
        let pool = ctx.address();
        Box::pin(stream::iter(all).for_each_concurrent(None, move |sandbox| {
            let pool = pool.clone();
            async move {
                stop(sandbox).await;
                post(&pool, Gone);
            }
        }))
    }
}

impl Handler<Close> for SandboxPoolActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Close, ctx: &mut Self::Context) -> Self::Result {
        self.closed = true;
        self.fail_waiting(&SandboxError::NotStarted);
        self.agents.clear();
        let leased = self.leased.drain().map(|(_, leased)| leased.kept.sandbox);
        let warm = self.warm.drain(..).map(|kept| kept.sandbox);
        let starting = self.starting.drain().map(|(_, sandbox)| sandbox);
        let all: Vec<_> = leased.chain(warm).chain(starting).collect();
        let ending: Addr<Self> = ctx.address();
        Box::pin(async move {
            stream::iter(all).for_each_concurrent(None, stop).await;
            // Those that were on their way down already.
            while ending.send(Count).await.is_ok_and(|count| count.ending > 0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    }
}
