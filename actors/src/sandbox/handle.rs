//! One sandbox as its users see it.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use actix::{Actor, Addr, Arbiter, ArbiterHandle};
use parking_lot::Mutex;
use tokio::{
    sync::{Mutex as AsyncMutex, Semaphore},
    time::timeout,
};

use super::{
    actor::{Cancel, Errand, Hold, Run, SandboxActor, Start, Stop, Tell},
    config::SandboxConfig,
    error::SandboxError,
    owner::Owner,
    run::{ExecResult, RunRequest},
    session::SandboxSession,
    wire::Done,
};
use crate::reply::post;

/// One container to run code in. Clones share it.
///
/// Runs may overlap, up to the limit of the settings. Each is a process of its own; what they write into the working
/// folder is there for those that follow.
///
/// When the last clone is dropped the container ends; [`stop`](Self::stop) waits for that.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    actor: Addr<SandboxActor>,
    config: Arc<SandboxConfig>,
    places: Arc<Semaphore>,
    ids: AtomicU64,
    /// Who is at work in a session holds its lock.
    sessions: Mutex<HashMap<String, Arc<AsyncMutex<()>>>>,
    up: Arc<AtomicBool>,
}

impl Sandbox {
    /// Makes and starts a container, on the current actix system.
    ///
    /// # Errors
    /// When no daemon answers, the image is missing, or the container cannot be started as it is asked for. Then
    /// nothing is left.
    ///
    /// # Panics
    /// Outside an actix system.
    ///
    /// # Cancellation
    /// Dropping the future removes what was made.
    pub async fn start(config: SandboxConfig) -> Result<Self, SandboxError> {
        let owner = Owner::new().map_err(|error| SandboxError::Refused {
            reason: format!("its lock file cannot be made: {error}"),
        })?;
        let sandbox = Self::new(Arc::new(config), Arc::new(owner), &Arbiter::current());
        sandbox.begin().await?;
        Ok(sandbox)
    }

    pub(super) fn new(config: Arc<SandboxConfig>, owner: Arc<Owner>, place: &ArbiterHandle) -> Self {
        let up = Arc::new(AtomicBool::new(false));
        let actor = SandboxActor::new(config.clone(), owner, up.clone());
        let actor = SandboxActor::start_in_arbiter(place, move |_| actor);
        let places = Arc::new(Semaphore::new(config.runs.max(1)));
        Self(Arc::new(Inner {
            actor,
            config,
            places,
            ids: AtomicU64::new(1),
            sessions: Mutex::default(),
            up,
        }))
    }

    pub(super) async fn begin(&self) -> Result<(), SandboxError> {
        self.0.actor.send(Start).await.map_err(|_| SandboxError::NotStarted)?
    }

    /// Whether its container is up, as far as is known.
    pub fn is_up(&self) -> bool {
        self.0.up.load(Ordering::Relaxed)
    }

    /// The settings that it was started with.
    pub fn config(&self) -> &SandboxConfig {
        &self.0.config
    }

    /// Runs code in a process of its own, and ends all that it leaves behind.
    ///
    /// # Errors
    /// When it could not be run, or the container ended meanwhile. Code that fails is a result.
    ///
    /// # Cancellation
    /// Dropping the future stops the run, and nothing else.
    pub async fn run(&self, request: RunRequest) -> Result<ExecResult, SandboxError> {
        self.run_in(request, None, &AtomicU64::new(0)).await
    }

    /// Gives the session of this name, whose variables stay from run to run. It begins with its first run.
    pub fn session(&self, name: impl Into<String>) -> SandboxSession {
        let name = name.into();
        let lock = self.0.sessions.lock().entry(name.clone()).or_default().clone();
        SandboxSession::new(self.clone(), name, lock)
    }

    /// Runs code, and notes in `current` which run it is.
    pub(super) async fn run_in(
        &self,
        request: RunRequest,
        session: Option<(&str, &Arc<AsyncMutex<()>>)>,
        current: &AtomicU64,
    ) -> Result<ExecResult, SandboxError> {
        let patience = self.0.config.start_timeout;
        let hold = async {
            let session = match session {
                Some((_, lock)) => Some(lock.clone().lock_owned().await),
                None => None,
            };
            let place = self.0.places.clone().acquire_owned().await;
            place.map(|place| Hold { _place: place, _session: session }).map_err(|_| SandboxError::NotStarted)
        };
        let hold = timeout(patience, hold).await.map_err(|_| SandboxError::Busy { after: patience })??;
        let id = self.next_id();
        current.store(id, Ordering::Relaxed);
        let stop = CancelOnDrop { actor: &self.0.actor, id: Some(id) };
        let session = session.map(|(name, _)| name.to_owned());
        let ended = self.0.actor.send(Run { id, request, session, hold }).await;
        stop.disarm();
        ended.map_err(|_| SandboxError::NotStarted)?
    }

    /// Stops the run with this id, if it is still under way.
    pub(super) fn cancel(&self, id: u64) {
        post(&self.0.actor, Cancel(id));
    }

    pub(super) async fn tell(&self, order: Errand, body: Vec<u8>) -> Result<(Done, Vec<u8>), SandboxError> {
        let told = Tell { id: self.next_id(), order, body };
        self.0.actor.send(told).await.map_err(|_| SandboxError::NotStarted)?
    }

    /// Asks the agent whether it is well.
    ///
    /// # Errors
    /// When it is not.
    pub async fn ping(&self) -> Result<(), SandboxError> {
        self.tell(Errand::Ping, Vec::new()).await.map(|_| ())
    }

    /// Ends all runs and sessions and removes all that they have left, so that somebody else may have the container.
    pub(super) async fn reset(&self) -> Result<(), SandboxError> {
        let (done, _) = self.tell(Errand::Reset, Vec::new()).await?;
        done.error.map_or(Ok(()), |reason| Err(SandboxError::NotRun { reason }))?;
        self.0.sessions.lock().clear();
        self.ping().await
    }

    /// Ends the container and returns when it is gone. May be called at any time, and again.
    ///
    /// # Errors
    /// When the daemon does not do it; then the container ends by itself.
    pub async fn stop(&self) -> Result<(), SandboxError> {
        // Without its actor it has ended.
        self.0.actor.send(Stop).await.unwrap_or(Ok(()))
    }

    fn next_id(&self) -> u64 {
        self.0.ids.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("image", &self.0.config.image).finish_non_exhaustive()
    }
}

struct CancelOnDrop<'a> {
    actor: &'a Addr<SandboxActor>,
    id: Option<u64>,
}

impl CancelOnDrop<'_> {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            post(self.actor, Cancel(id));
        }
    }
}
