//! Sandboxes kept ready, and who has them.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, ArbiterHandle};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::{
    config::SandboxConfig,
    docker::Daemon,
    error::SandboxError,
    handle::Sandbox,
    keeper::{Close, Count, Forget, GiveBack, Lease, Release, SandboxPoolActor, WarmUp},
};
use crate::{
    extension::{Extension, HostHandle},
    reply::post,
};

/// How many sandboxes there are, and how long somebody has one. Every field has a default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SandboxPoolConfig {
    /// What each sandbox is.
    pub sandbox: SandboxConfig,
    /// How many are kept ready ahead once the first was asked for. Default 0: each takes memory.
    pub warm: usize,
    /// How many there may be. Default 8; more who ask wait.
    pub most: usize,
    /// How long an agent that does nothing keeps its own, with its files and sessions. Default 300 s. When all are
    /// taken and somebody waits, the agent that has been idle for longest loses its own before.
    pub idle: Duration,
    /// How many may have one after another, without an agent. Default 1: each has a new container. With more, all
    /// that the one before has left is removed in between.
    pub uses: u32,
    /// How long somebody waits for one. Default 60 s, as starting one may take that long.
    pub patience: Duration,
}

impl Default for SandboxPoolConfig {
    fn default() -> Self {
        Self {
            sandbox: SandboxConfig::default(),
            warm: 0,
            most: 8,
            idle: Duration::from_mins(5),
            uses: 1,
            patience: Duration::from_mins(1),
        }
    }
}

/// Sandboxes kept ready. Clones share one pool.
///
/// Nothing is started before the first is asked for. Then containers are removed that engines have left behind that
/// are gone.
#[derive(Clone, Default)]
pub struct SandboxPool(Arc<Inner>);

#[derive(Default)]
struct Inner {
    config: Mutex<Arc<SandboxPoolConfig>>,
    place: OnceLock<ArbiterHandle>,
    /// Begins with the first who asks: most engines never need it.
    actor: OnceLock<Addr<SandboxPoolActor>>,
}

impl SandboxPool {
    /// Makes a pool, which has no place to live yet: see [`start`](Self::start). As an [extension](Extension) of an engine it
    /// lives there.
    pub fn new(config: SandboxPoolConfig) -> Self {
        let pool = Self::default();
        pool.configure(config);
        pool
    }

    /// Sets the settings. Those of a pool that has been asked for a sandbox already stay as they were.
    pub fn configure(&self, config: SandboxPoolConfig) {
        *self.0.config.lock() = Arc::new(config);
    }

    /// Lets the pool live on the current arbiter, if it does not live yet.
    ///
    /// # Panics
    /// Outside an actix system.
    pub fn start(&self) {
        self.start_on(&Arbiter::current());
    }

    fn start_on(&self, place: &ArbiterHandle) {
        self.0.place.get_or_init(|| place.clone());
    }

    fn actor(&self) -> Option<&Addr<SandboxPoolActor>> {
        let place = self.0.place.get()?;
        let config = self.config();
        let start = || SandboxPoolActor::start_in_arbiter(place, |_| SandboxPoolActor::new(config));
        Some(self.0.actor.get_or_init(start))
    }

    /// The settings.
    pub fn config(&self) -> Arc<SandboxPoolConfig> {
        self.0.config.lock().clone()
    }

    /// Gives a sandbox: with an agent, that agent's own, which it shares with all its calls; else one that nobody
    /// else has.
    ///
    /// # Errors
    /// When none can be started, or none is free in time.
    ///
    /// # Cancellation
    /// Dropping the future gives back what it would have got.
    pub async fn lease(&self, agent: Option<&str>) -> Result<SandboxLease, SandboxError> {
        let actor = self.actor().ok_or(SandboxError::NotStarted)?;
        let patience = self.config().patience;
        let asked = actor.send(Lease { agent: agent.map(str::to_owned) });
        let lease = timeout(patience, asked).await.map_err(|_| SandboxError::Busy { after: patience })?;
        lease.map_err(|_| SandboxError::NotStarted)?
    }

    /// Starts as many as are kept ready, without waiting for them.
    ///
    /// # Errors
    /// When the pool has no place to live.
    pub async fn warm_up(&self) -> Result<(), SandboxError> {
        let actor = self.actor().ok_or(SandboxError::NotStarted)?;
        actor.send(WarmUp).await.map_err(|_| SandboxError::NotStarted)
    }

    /// What the pool's daemon says about itself.
    ///
    /// # Errors
    /// When it does not answer, or has not the pool's image.
    pub async fn check(&self) -> Result<String, SandboxError> {
        let config = &self.config().sandbox;
        let daemon = Daemon::connect(config.daemon.as_deref()).await?;
        let version = daemon.version().await?;
        if daemon.image_id(&config.image).await?.is_none() {
            return Err(SandboxError::ImageMissing { image: config.image.clone() });
        }
        Ok(version)
    }

    /// Ends the sandbox of an agent, with its files, unless it is in use.
    pub async fn forget(&self, agent: &str) {
        if let Some(actor) = self.0.actor.get() {
            // Without its actor there are none.
            let _ = actor.send(Forget(agent.to_owned())).await;
        }
    }

    /// How many sandboxes there are.
    pub async fn status(&self) -> SandboxPoolStatus {
        match self.0.actor.get() {
            Some(actor) => actor.send(Count).await.unwrap_or_default(),
            None => SandboxPoolStatus::default(),
        }
    }

    /// Ends all sandboxes that nobody uses at the moment, also those of agents, with their files and sessions, and
    /// returns when they are gone. Those in use follow when they are given back. Who asks from now on gets a new one.
    pub async fn release(&self) {
        if let Some(actor) = self.0.actor.get() {
            // Without its actor there are none.
            let _ = actor.send(Release).await;
        }
    }

    /// Ends all sandboxes, whoever has them, and returns when they are gone. Nobody gets one any more.
    pub async fn close(&self) {
        if let Some(actor) = self.0.actor.get() {
            // Without its actor there are none.
            let _ = actor.send(Close).await;
        }
    }
}

impl fmt::Debug for SandboxPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxPool").field("config", &self.config()).finish_non_exhaustive()
    }
}

/// How many sandboxes a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxPoolStatus {
    /// Ready, and nobody's.
    pub warm: usize,
    /// On their way up.
    pub starting: usize,
    /// Somebody's, also of agents that are idle.
    pub leased: usize,
    /// On their way down, or being cleared.
    pub ending: usize,
    /// Those who wait for one.
    pub waiting: usize,
}

/// A sandbox on loan. Dropping it gives it back.
pub struct SandboxLease {
    pub(super) sandbox: Sandbox,
    pub(super) ticket: u64,
    pub(super) pool: Addr<SandboxPoolActor>,
}

impl Deref for SandboxLease {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Drop for SandboxLease {
    fn drop(&mut self) {
        post(&self.pool, GiveBack(self.ticket));
    }
}

impl fmt::Debug for SandboxLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxLease").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

/// A pool lives on one of the engine's arbiters and ends with the engine.
impl Extension for SandboxPool {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        if let Some(place) = host.place() {
            self.start_on(place.arbiter());
        }
        Box::pin(async { Ok(()) })
    }

    fn release(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { Self::release(&self).await })
    }

    fn forget<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(Self::forget(self, agent))
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { Self::close(&self).await })
    }
}
