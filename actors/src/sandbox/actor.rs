//! ```text
//! SandboxActor
//! Receives  Start, Run, Cancel, Tell, Stop; Started and Heard from its own tasks
//! Sends     orders to the agent inside its container
//! Owns      one container, and who waits for what it does
//! Lives on  the arbiter of its pool
//! Fails     never by the code's fault; when its container ends, all that was under way is answered with that
//! ```

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use actix::{Actor, AsyncContext, Context, Handler, Message, ResponseFuture};
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    config::SandboxConfig,
    container::Service,
    error::SandboxError,
    exec,
    link::{Heard, Link, Voice},
    owner::Owner,
    run::{Artifact, ExecResult, OutputStream, RunKind, RunRequest, tell},
    wire::{Done, Order, Said},
};
use crate::reply::{MAILBOX, post};

/// How long the agent may take to end a run whose time is over or that was cancelled, before its container is ended.
const GRACE: Duration = Duration::from_secs(5);

/// How long the agent may take for anything else.
const ANSWER: Duration = Duration::from_secs(30);

/// Makes and starts the container, or joins those who wait for it.
#[derive(Message)]
#[rtype(result = "Result<(), SandboxError>")]
pub(super) struct Start;

/// Runs code.
#[derive(Message)]
#[rtype(result = "Result<ExecResult, SandboxError>")]
pub(super) struct Run {
    pub(super) id: u64,
    pub(super) request: RunRequest,
    pub(super) session: Option<String>,
    pub(super) hold: Hold,
}

/// What a run takes until it has ended, whoever still waits for it.
pub(super) struct Hold {
    pub(super) _place: OwnedSemaphorePermit,
    pub(super) _session: Option<OwnedMutexGuard<()>>,
}

/// Stops a run.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Cancel(pub(super) u64);

/// Gives the agent any other order, made from the id that its answer has.
#[derive(Message)]
#[rtype(result = "Result<(Done, Vec<u8>), SandboxError>")]
pub(super) struct Tell {
    pub(super) id: u64,
    pub(super) order: Errand,
    pub(super) body: Vec<u8>,
}

/// What can be asked of the agent beside runs.
pub(super) enum Errand {
    Put { path: String, append: bool, executable: bool },
    Get { path: String, offset: u64, length: u64 },
    List { path: String },
    CloseSession { session: String },
    Reset,
    Ping,
}

/// Ends the container, and returns when it is gone.
#[derive(Message)]
#[rtype(result = "Result<(), SandboxError>")]
pub(super) struct Stop;

#[derive(Message)]
#[rtype(result = "()")]
struct Started(Result<(Link, Voice), SandboxError>);

#[derive(Message)]
#[rtype(result = "()")]
struct FromContainer(Heard);

enum State {
    Idle,
    Starting,
    Ready(Link),
    Stopped(SandboxError),
}

type Answer<T> = oneshot::Sender<Result<T, SandboxError>>;

/// Who waits for the end of an order.
enum Slot {
    Run { so_far: Box<ExecResult>, request: RunRequest, answer: Answer<ExecResult>, _hold: Hold },
    Exec(CancellationToken),
    Told(Answer<(Done, Vec<u8>)>),
}

/// Owns one container.
pub(super) struct SandboxActor {
    config: Arc<SandboxConfig>,
    owner: Arc<Owner>,
    state: State,
    slots: HashMap<u64, Slot>,
    waiting: Vec<Answer<()>>,
    /// Who waits for the end of a container that was stopped while it was starting.
    leaving: Vec<Answer<()>>,
    /// Tells the handles whether the container is there.
    up: Arc<AtomicBool>,
}

impl SandboxActor {
    pub(super) fn new(config: Arc<SandboxConfig>, owner: Arc<Owner>, up: Arc<AtomicBool>) -> Self {
        Self {
            config,
            owner,
            state: State::Idle,
            slots: HashMap::new(),
            waiting: Vec::new(),
            leaving: Vec::new(),
            up,
        }
    }

    fn link(&self) -> Result<&Link, SandboxError> {
        match &self.state {
            State::Ready(link) => Ok(link),
            State::Idle | State::Starting => Err(SandboxError::NotStarted),
            State::Stopped(why) => Err(why.clone()),
        }
    }

    /// Ends everything: answers who waits, and lets go of the container. Gives what is left of it.
    fn end(&mut self, why: &SandboxError) -> Option<Link> {
        for (_, slot) in self.slots.drain() {
            match slot {
                // Who has gone away needs no answer.
                Slot::Run { answer, .. } => drop(answer.send(Err(why.clone()))),
                Slot::Told(answer) => drop(answer.send(Err(why.clone()))),
                Slot::Exec(stop) => stop.cancel(),
            }
        }
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(Err(why.clone()));
        }
        self.up.store(false, Ordering::Relaxed);
        match std::mem::replace(&mut self.state, State::Stopped(why.clone())) {
            State::Ready(link) => Some(link),
            State::Idle | State::Starting => None,
            State::Stopped(before) => {
                self.state = State::Stopped(before);
                None
            }
        }
    }

    /// The agent does not do what it must: nothing but the end of the container helps.
    fn give_up(&mut self, reason: &str) {
        tracing::warn!(reason, "a sandbox is ended");
        if let Some(link) = self.end(&SandboxError::Died { reason: reason.to_owned() }) {
            tokio::spawn(async move { link.daemon.remove(&link.id).await });
        }
    }

    fn give_up_unless_done(&mut self, id: u64) {
        if self.slots.contains_key(&id) {
            self.give_up("its agent did not answer");
        }
    }

    fn hear(&mut self, said: Said, body: Vec<u8>) {
        match said {
            // After a reset; before that it is waited for while starting.
            Said::Ready => {}
            Said::Out { id, stream } => {
                if let Some(Slot::Run { so_far, request, .. }) = self.slots.get_mut(&id) {
                    let (kept, stream) = match stream {
                        1 => (&mut so_far.stdout, OutputStream::Stdout),
                        _ => (&mut so_far.stderr, OutputStream::Stderr),
                    };
                    tell(&mut request.sink, stream, &body);
                    kept.extend_from_slice(&body);
                }
            }
            Said::Done(done) => match self.slots.remove(&done.id) {
                Some(Slot::Run { so_far, answer, .. }) => {
                    let _ = answer.send(finished(*done, *so_far));
                }
                Some(Slot::Told(answer)) => {
                    let _ = answer.send(Ok((*done, body)));
                }
                Some(Slot::Exec(_)) | None => {}
            },
        }
    }

    fn run_by_exec(
        &mut self,
        run: Run,
        limit: Duration,
        ctx: &Context<Self>,
    ) -> Result<ExecEnd, SandboxError> {
        let link = self.link()?;
        if run.session.is_some() || run.request.kind == RunKind::Python {
            return Err(SandboxError::NoPython { image: self.config.image.clone() });
        }
        let stop = CancellationToken::new();
        let (daemon, container) = (link.daemon.clone(), link.id.clone());
        let most = run.request.output_bytes.unwrap_or(self.config.output_bytes);
        self.slots.insert(run.id, Slot::Exec(stop.clone()));
        let actor = ctx.address();
        Ok(Box::pin(async move {
            let ended = exec::run(&daemon, &container, &run.request, limit, most, &stop).await;
            post(&actor, ExecEnded(run.id));
            drop(run.hold);
            ended
        }))
    }
}

type ExecEnd = ResponseFuture<Result<ExecResult, SandboxError>>;

#[derive(Message)]
#[rtype(result = "()")]
struct ExecEnded(u64);

fn finished(done: Done, so_far: ExecResult) -> Result<ExecResult, SandboxError> {
    if let Some(reason) = done.error {
        return Err(SandboxError::NotRun { reason });
    }
    let artifact = |(path, bytes)| Artifact { path, bytes };
    Ok(ExecResult {
        exit_code: done.code,
        signal: done.signal,
        value: done.value,
        timed_out: done.timed_out,
        cancelled: done.cancelled,
        oom: done.oom,
        truncated: done.truncated,
        session_lost: done.session_lost,
        artifacts: done.artifacts.into_iter().map(artifact).collect(),
        artifacts_truncated: done.artifacts_complete == Some(false),
        elapsed: Duration::from_micros(done.elapsed_us),
        ..so_far
    })
}

impl Actor for SandboxActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Start> for SandboxActor {
    type Result = ResponseFuture<Result<(), SandboxError>>;

    fn handle(&mut self, _: Start, ctx: &mut Self::Context) -> Self::Result {
        match &self.state {
            State::Ready(_) => return Box::pin(async { Ok(()) }),
            State::Stopped(why) => {
                let why = why.clone();
                return Box::pin(async { Err(why) });
            }
            State::Starting => {}
            State::Idle => {
                let (config, owner, actor) = (self.config.clone(), self.owner.clone(), ctx.address());
                tokio::spawn(async move {
                    let opened = timeout(config.start_timeout, Link::open(&config, &owner)).await;
                    let late = |_| Err(SandboxError::StartTimedOut { after: config.start_timeout });
                    post(&actor, Started(opened.unwrap_or_else(late)));
                });
                self.state = State::Starting;
            }
        }
        let (send, receive) = oneshot::channel();
        self.waiting.push(send);
        Box::pin(async { receive.await.unwrap_or(Err(SandboxError::NotStarted)) })
    }
}

impl Handler<Started> for SandboxActor {
    type Result = ();

    fn handle(&mut self, Started(opened): Started, ctx: &mut Self::Context) {
        match opened {
            Ok((link, voice)) if matches!(self.state, State::Starting) => {
                // Who listens must not keep a sandbox alive that nobody holds any more.
                let actor = ctx.address().downgrade();
                tokio::spawn(voice.listen(move |heard| {
                    if let Some(actor) = actor.upgrade() {
                        post(&actor, FromContainer(heard));
                    }
                }));
                self.state = State::Ready(link);
                self.up.store(true, Ordering::Relaxed);
                for waiting in self.waiting.drain(..) {
                    let _ = waiting.send(Ok(()));
                }
            }
            // It was stopped in between.
            Ok((link, _)) => {
                let leaving = std::mem::take(&mut self.leaving);
                tokio::spawn(async move {
                    let removed = link.daemon.remove(&link.id).await;
                    leaving.into_iter().for_each(|answer| drop(answer.send(removed.clone())));
                });
            }
            Err(error) => {
                self.end(&error);
                self.leaving.drain(..).for_each(|answer| drop(answer.send(Ok(()))));
            }
        }
    }
}

impl Handler<FromContainer> for SandboxActor {
    type Result = ();

    fn handle(&mut self, FromContainer(heard): FromContainer, _: &mut Self::Context) {
        match heard {
            Heard::Frames(frames) => frames.into_iter().for_each(|(said, body)| self.hear(said, body)),
            Heard::Ended(reason) => {
                if matches!(self.state, State::Ready(_)) {
                    self.give_up(&reason);
                }
            }
        }
    }
}

impl Handler<Run> for SandboxActor {
    type Result = ResponseFuture<Result<ExecResult, SandboxError>>;

    fn handle(&mut self, run: Run, ctx: &mut Self::Context) -> Self::Result {
        let limit = run.request.timeout.unwrap_or(self.config.timeout);
        let link = match self.link() {
            Ok(link) => link,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        if link.service == Service::Exec {
            return self.run_by_exec(run, limit, ctx).unwrap_or_else(|error| Box::pin(async { Err(error) }));
        }
        let Run { id, request, session, hold } = run;
        let kind = if request.kind == RunKind::Python { "python" } else { "shell" };
        let order = Order::Run {
            id,
            kind,
            session: session.as_deref(),
            timeout_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            max_output: request.output_bytes.unwrap_or(self.config.output_bytes),
            artifacts: request.artifacts,
            code_len: request.code.len(),
        };
        link.order(&order, &[&request.code, &request.stdin]);
        let (answer, receive) = oneshot::channel();
        self.slots.insert(id, Slot::Run { so_far: Box::default(), request, answer, _hold: hold });
        let actor = ctx.address();
        Box::pin(async move {
            match timeout(limit.saturating_add(GRACE), receive).await {
                Ok(answered) => answered.unwrap_or(Err(SandboxError::NotStarted)),
                Err(_) => {
                    post(&actor, Overdue(id));
                    Err(SandboxError::Died { reason: "its agent did not answer".to_owned() })
                }
            }
        })
    }
}

/// The agent should have answered by now.
#[derive(Message)]
#[rtype(result = "()")]
struct Overdue(u64);

impl Handler<Overdue> for SandboxActor {
    type Result = ();

    fn handle(&mut self, Overdue(id): Overdue, _: &mut Self::Context) {
        self.give_up_unless_done(id);
    }
}

impl Handler<ExecEnded> for SandboxActor {
    type Result = ();

    fn handle(&mut self, ExecEnded(id): ExecEnded, _: &mut Self::Context) {
        self.slots.remove(&id);
    }
}

impl Handler<Cancel> for SandboxActor {
    type Result = ();

    fn handle(&mut self, Cancel(id): Cancel, ctx: &mut Self::Context) {
        match (self.slots.get(&id), &self.state) {
            (Some(Slot::Run { .. }), State::Ready(link)) => {
                link.order(&Order::Cancel { id }, &[]);
                ctx.run_later(GRACE, move |actor, _| actor.give_up_unless_done(id));
            }
            (Some(Slot::Exec(stop)), _) => stop.cancel(),
            _ => {}
        }
    }
}

impl Handler<Tell> for SandboxActor {
    type Result = ResponseFuture<Result<(Done, Vec<u8>), SandboxError>>;

    fn handle(&mut self, Tell { id, order, body }: Tell, ctx: &mut Self::Context) -> Self::Result {
        let link = match self.link() {
            Ok(link) if link.service == Service::Agent => link,
            Ok(_) => {
                let error = SandboxError::NoPython { image: self.config.image.clone() };
                return Box::pin(async { Err(error) });
            }
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let order = match &order {
            Errand::Put { path, append, executable } => {
                Order::Put { id, path, append: *append, executable: *executable }
            }
            Errand::Get { path, offset, length } => Order::Get { id, path, offset: *offset, length: *length },
            Errand::List { path } => Order::List { id, path },
            Errand::CloseSession { session } => Order::CloseSession { id, session },
            Errand::Reset => Order::Reset { id },
            Errand::Ping => Order::Ping { id },
        };
        link.order(&order, &[&body]);
        let (answer, receive) = oneshot::channel();
        self.slots.insert(id, Slot::Told(answer));
        let actor = ctx.address();
        Box::pin(async move {
            match timeout(ANSWER, receive).await {
                Ok(answered) => answered.unwrap_or(Err(SandboxError::NotStarted)),
                Err(_) => {
                    post(&actor, Overdue(id));
                    Err(SandboxError::Died { reason: "its agent did not answer".to_owned() })
                }
            }
        })
    }
}

impl Handler<Stop> for SandboxActor {
    type Result = ResponseFuture<Result<(), SandboxError>>;

    fn handle(&mut self, _: Stop, _: &mut Self::Context) -> Self::Result {
        if matches!(self.state, State::Starting) {
            self.end(&SandboxError::NotStarted);
            let (send, receive) = oneshot::channel();
            self.leaving.push(send);
            return Box::pin(async { receive.await.unwrap_or(Ok(())) });
        }
        let link = self.end(&SandboxError::NotStarted);
        let keep = !self.config.auto_remove;
        Box::pin(async move {
            match link {
                Some(link) if keep => link.daemon.kill(&link.id).await,
                Some(link) => link.daemon.remove(&link.id).await,
                None => Ok(()),
            }
        })
    }
}
