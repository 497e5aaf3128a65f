//! ```text
//! PythonWorkerActor
//! Receives  Load; RunCall, Go and Forget from the tools of its file; Restart, Retire; its process's frames as a stream
//! Sends     nothing: answers go to the waiting tool, progress to the call's list
//! Owns      one Python process at a time, the calls that wait for it and those that it runs
//! Lives on  one arbiter, chosen when the file is added
//! Fails     with its process alone: calls under way are lost, waiting ones go to the next process
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use actix::{Actor, AsyncContext, Context, Handler, Message, ResponseFuture, StreamHandler};
use futures::StreamExt;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use super::answer::{Answer, lost};
use super::config::{PythonConfig, PythonFile};
use super::frames::{Described, FromWorker, Op, call_frame, cancel_frame};
use super::lanes::{Go, Lanes, RunCall};
use super::process::{End, Event, WorkerProcess};
use crate::code::CodePlace;
use crate::extension::Place;
use crate::reply::MAILBOX;

/// What a file gives.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) functions: Vec<Described>,
    pub(super) problems: Vec<String>,
    /// What else its process takes code from.
    pub(super) code: Vec<CodePlace>,
}

/// Starts a process, if there is none, and says what its file gives; the error says why it gives nothing.
#[derive(Message)]
#[rtype(result = "Result<Loaded, String>")]
pub(super) struct Load;

/// Tells that nobody waits for a call any more: it was cancelled, or its time is over.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Forget(pub(super) u64);

/// Ends the process once all calls are answered; the reply comes when it is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Retire;

/// Ends the process once the calls that it has begun are answered; those that wait go to the next one. The reply comes
/// when it is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Restart;

/// Runs the functions of one Python file in a process of its own.
pub(super) struct PythonWorkerActor {
    config: Arc<PythonConfig>,
    file: PythonFile,
    path: PathBuf,
    current: Option<Current>,
    /// Counts the processes, to tell a late word of an old one.
    generation: u64,
    lanes: Lanes,
    under_way: FxHashMap<u64, UnderWay>,
    /// Calls that slots are kept for until their callers say that they may begin.
    granted: FxHashMap<u64, RunCall>,
    loading: Vec<oneshot::Sender<Result<Loaded, String>>>,
    retiring: Vec<oneshot::Sender<()>>,
    restarting: Vec<oneshot::Sender<()>>,
    _place: Place,
}

struct Current {
    process: WorkerProcess,
    phase: Phase,
}

impl Current {
    fn start(&self, mut call: RunCall) -> UnderWay {
        let arguments = std::mem::take(&mut call.arguments);
        let name = &call.function.name_json;
        self.process.send(call_frame(call.id, name, &arguments, call.state.as_deref()));
        call.reply.begun();
        UnderWay { call, forgotten: false, stuck: false }
    }

    fn leave(&mut self) {
        self.phase = Phase::Leaving;
        self.process.close();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Loading,
    Ready,
    /// A call in it cannot be stopped: it takes no more, and is killed when the others have ended.
    Condemned,
    /// Its import took too long.
    TooSlow,
    /// It was told to end.
    Leaving,
}

/// A call that a process has begun.
struct UnderWay {
    call: RunCall,
    /// Nobody waits for it.
    forgotten: bool,
    /// It was forgotten and does not end.
    stuck: bool,
}

impl PythonWorkerActor {
    pub(super) fn new(config: Arc<PythonConfig>, file: PythonFile, path: PathBuf, place: Place) -> Self {
        Self {
            lanes: Lanes::new(config.threads, config.tasks),
            config,
            file,
            path,
            current: None,
            generation: 0,
            under_way: FxHashMap::default(),
            granted: FxHashMap::default(),
            loading: Vec::new(),
            retiring: Vec::new(),
            restarting: Vec::new(),
            _place: place,
        }
    }

    fn start_process(&mut self, ctx: &mut Context<Self>) {
        self.generation += 1;
        let generation = self.generation;
        match WorkerProcess::start(&self.config, &self.file, &self.path) {
            Ok((process, events)) => {
                self.current = Some(Current { process, phase: Phase::Loading });
                ctx.add_stream(events.map(move |event| (generation, event)));
                ctx.run_later(self.config.load_timeout, move |actor, _| actor.end_slow_load(generation));
            }
            Err(error) => self.refuse_all(&error.to_string()),
        }
    }

    fn end_slow_load(&mut self, generation: u64) {
        if let Some(current) = &mut self.current
            && self.generation == generation
            && current.phase == Phase::Loading
        {
            current.phase = Phase::TooSlow;
            current.process.kill();
        }
    }

    /// Answers all who wait: there is no process for them.
    fn refuse_all(&mut self, reason: &str) {
        for waiting in self.loading.drain(..) {
            // Who asked may have gone.
            let _ = waiting.send(Err(reason.to_owned()));
        }
        for call in self.lanes.take_waiting() {
            call.reply.not_started(reason);
        }
    }

    /// Begins the calls that may begin.
    fn dispatch(&mut self, ctx: &mut Context<Self>) {
        match &self.current {
            None if self.lanes.has_waiting() => self.start_process(ctx),
            Some(current) if current.phase == Phase::Ready && self.restarting.is_empty() => {
                while let Some(mut call) = self.lanes.next() {
                    match call.turn.take() {
                        None => {
                            let work = current.start(call);
                            self.under_way.insert(work.call.id, work);
                        }
                        Some(turn) => match turn.send(()) {
                            Ok(()) => drop(self.granted.insert(call.id, call)),
                            Err(()) => self.lanes.ended(call.lane), // its caller has gone
                        },
                    }
                }
            }
            _ => {}
        }
        self.restart_when_idle();
        self.retire_when_idle();
    }

    /// Ends the process if it is to be replaced and has answered what it has begun.
    fn restart_when_idle(&mut self) {
        let Some(current) = self.current.as_mut().filter(|_| !self.restarting.is_empty()) else { return };
        match current.phase {
            // What waits for its import is answered first.
            Phase::Loading | Phase::TooSlow | Phase::Leaving => {}
            _ if !self.granted.is_empty() => {} // they begin in a moment
            _ if self.under_way.is_empty() => current.leave(),
            _ if self.under_way.values().all(|work| work.forgotten) => current.process.kill(),
            Phase::Ready | Phase::Condemned => {}
        }
    }

    fn retire_when_idle(&mut self) {
        if self.retiring.is_empty() || self.lanes.has_waiting() || !self.granted.is_empty() {
            return;
        }
        match &mut self.current {
            None => self.say_retired(),
            Some(current) if self.under_way.is_empty() => current.leave(),
            Some(current) if self.under_way.values().all(|work| work.forgotten) => current.process.kill(),
            Some(_) => {}
        }
    }

    fn say_retired(&mut self) {
        for waiting in self.retiring.drain(..) {
            let _ = waiting.send(());
        }
    }

    /// Judges the process anew after a call was forgotten or has ended.
    fn reconsider(&mut self) {
        let Some(current) = &mut self.current else { return };
        let stuck = self.under_way.values().any(|work| work.stuck);
        match current.phase {
            Phase::Ready if stuck => current.phase = Phase::Condemned,
            Phase::Condemned if !stuck => current.phase = Phase::Ready,
            _ => {}
        }
        if stuck && self.under_way.values().all(|work| work.forgotten) {
            current.process.kill();
        }
    }

    fn frame(&mut self, frame: FromWorker, ctx: &mut Context<Self>) {
        match frame.op {
            Op::Loaded => {
                if let Some(current) = &mut self.current
                    && current.phase == Phase::Loading
                {
                    current.phase = Phase::Ready;
                }
                let code = if self.config.is_contained() { Vec::new() } else { frame.code() };
                for waiting in self.loading.drain(..) {
                    let (functions, problems) = (frame.tools.clone(), frame.problems.clone());
                    let _ = waiting.send(Ok(Loaded { functions, problems, code: code.clone() }));
                }
            }
            Op::Refused => {
                if let Some(current) = &mut self.current {
                    current.leave();
                }
                self.refuse_all(frame.error.as_deref().unwrap_or("it cannot be loaded"));
            }
            Op::Progress => {
                if let Some(work) = self.under_way.get(&frame.id) {
                    work.call.context.progress(frame.payload);
                }
            }
            Op::Ended => {
                if let Some(work) = self.under_way.remove(&frame.id) {
                    self.lanes.ended(work.call.lane);
                    let answer = Answer::of(frame, &work.call.function.name);
                    work.call.reply.send(answer);
                    self.reconsider();
                }
            }
        }
        self.dispatch(ctx);
    }

    fn process_ended(&mut self, end: &End, ctx: &mut Context<Self>) {
        let phase = self.current.take().map(|current| current.phase);
        for waiting in self.restarting.drain(..) {
            // Who asked may have gone.
            let _ = waiting.send(());
        }
        self.lanes.all_ended();
        for (_, work) in self.under_way.drain() {
            let answer = lost(&work.call.function.name, end);
            work.call.reply.send(answer);
        }
        for (_, call) in self.granted.drain() {
            call.reply.not_started("its process ended before the call began; try again");
        }
        match phase {
            Some(Phase::Loading) => self.refuse_all(&end.during_load(&self.path)),
            Some(Phase::TooSlow) => {
                let seconds = self.config.load_timeout.as_secs_f64();
                self.refuse_all(&format!("{}: its import took longer than {seconds} s", self.path.display()));
            }
            _ => {}
        }
        self.dispatch(ctx);
    }
}

impl Actor for PythonWorkerActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Load> for PythonWorkerActor {
    type Result = ResponseFuture<Result<Loaded, String>>;

    fn handle(&mut self, _: Load, ctx: &mut Self::Context) -> Self::Result {
        let (send, receive) = oneshot::channel();
        self.loading.push(send);
        if self.current.is_none() {
            self.start_process(ctx);
        }
        Box::pin(async { receive.await.unwrap_or_else(|_| Err("its worker went away".to_owned())) })
    }
}

impl Handler<RunCall> for PythonWorkerActor {
    type Result = ();

    fn handle(&mut self, call: RunCall, ctx: &mut Self::Context) {
        let (lane, id) = (call.lane, call.id);
        self.lanes.push(call);
        self.dispatch(ctx);
        self.lanes.tell_queued(lane, id);
    }
}

impl Handler<Go> for PythonWorkerActor {
    type Result = ();

    fn handle(&mut self, Go(id): Go, ctx: &mut Self::Context) {
        let Some(call) = self.granted.remove(&id) else { return };
        match &self.current {
            Some(current) if current.phase == Phase::Ready => {
                let work = current.start(call);
                self.under_way.insert(id, work);
            }
            _ => {
                self.lanes.ended(call.lane);
                call.reply.not_started("its process takes no more calls; try again");
                self.dispatch(ctx);
            }
        }
    }
}

impl Handler<Forget> for PythonWorkerActor {
    type Result = ();

    fn handle(&mut self, Forget(id): Forget, ctx: &mut Self::Context) {
        let Some(work) = self.under_way.get_mut(&id) else {
            match self.granted.remove(&id) {
                Some(call) => self.lanes.ended(call.lane),
                None => self.lanes.remove(id),
            }
            return self.dispatch(ctx);
        };
        work.forgotten = true;
        if work.call.lane.can_be_cancelled() {
            if let Some(current) = &self.current {
                current.process.send(cancel_frame(id));
            }
            ctx.run_later(self.config.cancel_grace, move |actor, _| actor.find_stuck(id));
        } else {
            work.stuck = true;
        }
        self.reconsider();
        self.restart_when_idle();
        self.retire_when_idle();
    }
}

impl PythonWorkerActor {
    fn find_stuck(&mut self, id: u64) {
        if let Some(work) = self.under_way.get_mut(&id) {
            work.stuck = true;
            self.reconsider();
        }
    }
}

impl Handler<Retire> for PythonWorkerActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Retire, _: &mut Self::Context) -> Self::Result {
        let (send, receive) = oneshot::channel();
        self.retiring.push(send);
        self.retire_when_idle();
        Box::pin(async { receive.await.unwrap_or_default() })
    }
}

impl Handler<Restart> for PythonWorkerActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Restart, _: &mut Self::Context) -> Self::Result {
        if self.current.is_none() {
            return Box::pin(async {});
        }
        let (send, receive) = oneshot::channel();
        self.restarting.push(send);
        self.restart_when_idle();
        Box::pin(async { receive.await.unwrap_or_default() })
    }
}

impl StreamHandler<(u64, Event)> for PythonWorkerActor {
    fn handle(&mut self, (generation, event): (u64, Event), ctx: &mut Self::Context) {
        if generation != self.generation {
            return;
        }
        match event {
            Event::Frame(frame) => self.frame(*frame, ctx),
            Event::Ended(end) => self.process_ended(&end, ctx),
        }
    }

    /// The next process has a stream of its own; actix's default would stop the actor.
    fn finished(&mut self, _: &mut Self::Context) {}
}
