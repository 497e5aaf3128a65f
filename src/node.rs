//! A tool as a node of a behaviour tree.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll, Waker},
};

use toolyard_actors::{Claim, EngineError, ExecuteOptions, Report, RunControl};
use toolyard_contract::{
    Answers, Arguments, CallId, Refusal, Request, SuspendedList, ToolCall, ToolResult, name,
};

pub use self::board::Blackboard;
use crate::Engine;

mod board;

/// What a tick of a node comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Not at its end yet: tick again. Also a call that waits for an approval or a value, so that a
    /// tree takes no other way meanwhile: see [`ToolNode::requests`].
    Running,
    /// Done, and it worked.
    Success,
    /// Done, and it did not.
    Failure,
}

/// One tool of an engine as a leaf of a behaviour tree.
///
/// A tick reads the arguments from the board, starts the call, and says
/// [`Running`](NodeStatus::Running) until the call has ended; it never waits. The output then stands
/// on the board. The tick after that is a new call.
///
/// A call that must be approved, or whose tool asks for a value, keeps the node `Running` until
/// [`answer`](Self::answer) says how it goes on. What waits can be kept elsewhere, and taken up by
/// another node, also in another process: [`suspended`](Self::suspended), [`take_up`](Self::take_up).
///
/// Events about the node's calls name it: [`CallInfo::node`](crate::CallInfo::node).
///
/// ```
/// use toolyard::{Blackboard, Engine, NodeStatus, ToolNode, builtin::calculator::CalculatorTool};
///
/// let engine = Engine::builder().tool(CalculatorTool::new()).build()?;
/// let board = Blackboard::new();
/// board.set("expression", "6*7");
/// let mut node = ToolNode::new(engine, "calculator").input_key("expression").output_key("answer");
/// let status = loop {
///     match node.tick(&board) {
///         NodeStatus::Running => std::thread::yield_now(), // other nodes have their turn
///         ended => break ended,
///     }
/// };
/// assert_eq!(status, NodeStatus::Success);
/// assert_eq!(board.get("answer").unwrap(), "42");
/// # Ok::<(), toolyard::StartError>(())
/// ```
pub struct ToolNode {
    engine: Engine,
    tool: String,
    name: Option<String>,
    input_key: String,
    output_key: String,
    namespace: Option<String>,
    execute: Option<bool>,
    options: ExecuteOptions,
    work: Work,
    last: Option<ToolResult>,
}

/// What a node is at.
enum Work {
    /// Nothing: the next tick is a new call.
    None,
    Running(Running),
    /// The call waits for somebody.
    Waiting(Box<SuspendedList>),
    /// The call was answered, and goes on with the next tick.
    Answered(Box<SuspendedList>, Claim),
}

type Running = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// What came of a call, and the record that it went on with.
struct Ended {
    report: Result<Report, EngineError>,
    record: Option<Box<SuspendedList>>,
}

/// A record that a node cannot take up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node:?} cannot take up the record: {reason}")]
pub struct RecordMismatch {
    /// The node's name.
    pub node: String,
    /// Why not.
    pub reason: String,
}

impl ToolNode {
    /// Makes a node of a tool.
    pub fn new(engine: Engine, tool: impl Into<String>) -> Self {
        Self {
            engine,
            tool: tool.into(),
            name: None,
            input_key: "input".to_owned(),
            output_key: "output".to_owned(),
            namespace: None,
            execute: None,
            options: ExecuteOptions::new(),
            work: Work::None,
            last: None,
        }
    }

    /// Sets the node's name. Default: the tool's.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the key of the arguments: an object, or text for a tool that takes plain text. A key that
    /// is not on the board means no arguments. Default: `input`.
    #[must_use]
    pub fn input_key(mut self, key: impl Into<String>) -> Self {
        self.input_key = key.into();
        self
    }

    /// Sets the key that the output goes to. Default: `output`.
    #[must_use]
    pub fn output_key(mut self, key: impl Into<String>) -> Self {
        self.output_key = key.into();
        self
    }

    /// Puts `namespace/` before both keys, so that several nodes of one tool can share a board.
    /// Default: the keys as they are.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Says whether a tick runs the tool. `false`: it leaves the call that it would make as the
    /// output, so that a tree can be rehearsed. Default: it runs.
    #[must_use]
    pub fn execute(mut self, execute: bool) -> Self {
        self.execute = Some(execute);
        self
    }

    /// Sets how the call is run: agent, time-out and so on. Default: as the engine's defaults say.
    #[must_use]
    pub fn options(mut self, options: ExecuteOptions) -> Self {
        self.options = options;
        self
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.tool)
    }

    /// The engine that runs the tool.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The result of the last call that ended: its outcome, and its error where it failed.
    pub fn last(&self) -> Option<&ToolResult> {
        self.last.as_ref()
    }

    /// Goes on as far as is possible without waiting.
    ///
    /// # Cancellation
    /// [`halt`](Self::halt), or dropping the node, cancels the call.
    pub fn tick(&mut self, board: &Blackboard) -> NodeStatus {
        let mut running = match std::mem::replace(&mut self.work, Work::None) {
            Work::Running(running) => running,
            Work::None if self.execute == Some(false) => {
                board.set(self.key(&self.output_key), serde_json::json!(self.call(board)));
                return NodeStatus::Success;
            }
            Work::None => {
                let run = self.engine.submit(vec![self.call(board)], self.run_options()).into_future();
                Box::pin(async move { Ended { report: run.await, record: None } })
            }
            Work::Answered(record, claim) => self.go_on(record, claim),
            waiting @ Work::Waiting(_) => {
                self.work = waiting;
                return NodeStatus::Running;
            }
        };
        match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {
                self.work = Work::Running(running);
                NodeStatus::Running
            }
            Poll::Ready(ended) => self.ended(ended, board),
        }
    }

    /// What must be answered before the call goes on; empty when it waits for nobody.
    pub fn requests(&self) -> Vec<Request<'_>> {
        match &self.work {
            Work::Waiting(record) => record.parked.iter().map(|parked| parked.request()).collect(),
            _ => Vec::new(),
        }
    }

    /// The record of a call that waits, or was answered and goes on with the next tick. Whoever keeps
    /// it on a disk writes it there after [`answer`](Self::answer) too, before that tick: then the call
    /// is not run twice, also after a crash.
    pub fn suspended(&self) -> Option<&SuspendedList> {
        match &self.work {
            Work::Waiting(record) | Work::Answered(record, _) => Some(record),
            _ => None,
        }
    }

    /// Answers the call that waits: the next tick goes on with it. Without any answers, a request that
    /// has expired or does not hold any more is made anew.
    ///
    /// # Errors
    /// When an answer cannot be taken, because nothing waits for it, say; then nothing has changed.
    pub fn answer(&mut self, answers: &Answers) -> Result<(), Refusal> {
        let options = self.run_options();
        let Work::Waiting(record) = &mut self.work else {
            let first = answers.iter().next();
            return first.map_or(Ok(()), |(id, _)| Err(Refusal::Unknown(id.to_owned())));
        };
        let claim = self.engine.claim(record, answers, &options)?;
        if let Work::Waiting(record) = std::mem::replace(&mut self.work, Work::None) {
            self.work = Work::Answered(record, claim);
        }
        Ok(())
    }

    /// Takes up a call that waits: the [`suspended`](Self::suspended) record of a node of the same
    /// tool. A record from a process that ended goes through [`SuspendedList::recover`] first.
    ///
    /// # Errors
    /// When the node is at work, or the record is not of one call of this tool that waits.
    pub fn take_up(&mut self, record: SuspendedList) -> Result<(), RecordMismatch> {
        let key = name::key(&self.tool);
        let is_own = |tool: &str| name::key(tool) == key;
        let reason = match (&self.work, record.parked.as_slice(), record.results.as_slice()) {
            (Work::None, [parked], [result])
                if [&parked.call.tool, &parked.call.spelling].into_iter().any(|tool| is_own(tool)) =>
            {
                self.last = Some(result.clone());
                self.work = Work::Waiting(Box::new(record));
                return Ok(());
            }
            (Work::None, [parked], [_]) => {
                format!("it is about tool {:?}, the node about {:?}", parked.call.tool, self.tool)
            }
            (Work::None, [], [result]) => format!("its call does not wait, it ended {}", result.outcome),
            (Work::None, ..) => "it is not of one call".to_owned(),
            _ => "the node is at work on another call; halt it first".to_owned(),
        };
        Err(RecordMismatch { node: self.name().to_owned(), reason })
    }

    /// Cancels a call that is under way, and forgets one that waits; the next tick is a new one.
    pub fn halt(&mut self) {
        self.work = Work::None;
    }

    fn go_on(&self, mut record: Box<SuspendedList>, claim: Claim) -> Running {
        let (engine, options) = (self.engine.clone(), self.run_options());
        Box::pin(async move {
            let report = engine.run_claim(&mut record, claim, options, RunControl::new()).await;
            Ended { report, record: Some(record) }
        })
    }

    fn ended(&mut self, Ended { report, record }: Ended, board: &Blackboard) -> NodeStatus {
        let waits = match &report {
            Ok(report) if report.parked.is_empty() => None,
            Ok(report) => record.or_else(|| Some(Box::new(report.suspend(CallId::from(self.name()))))),
            Err(_) => record, // the claim was taken back: it waits as before
        };
        let is_refused = report.is_err();
        // A list that was not taken at all has no results.
        self.last = report.ok().and_then(|report| report.results.into_iter().next());
        let key = self.key(&self.output_key);
        match self.last.as_ref().and_then(|result| result.output.as_ref()) {
            Some(output) => board.set(key, output.to_value()),
            None => drop(board.remove(&key)), // what an earlier call left is not this one's
        }
        let is_waiting = waits.is_some();
        self.work = waits.map_or(Work::None, Work::Waiting);
        match &self.last {
            Some(result) if result.is_ok() => NodeStatus::Success,
            _ if is_waiting && !is_refused => NodeStatus::Running,
            _ => NodeStatus::Failure,
        }
    }

    fn call(&self, board: &Blackboard) -> ToolCall {
        ToolCall::new(&self.tool, self.arguments(board))
    }

    fn run_options(&self) -> ExecuteOptions {
        self.options.clone().node(self.name())
    }

    fn arguments(&self, board: &Blackboard) -> Arguments {
        board.get(&self.key(&self.input_key)).map_or_else(Arguments::empty, Arguments::from)
    }

    fn key(&self, key: &str) -> String {
        self.namespace.as_ref().map_or_else(|| key.to_owned(), |namespace| format!("{namespace}/{key}"))
    }
}

impl fmt::Debug for ToolNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNode")
            .field("name", &self.name())
            .field("tool", &self.tool)
            .field("running", &matches!(self.work, Work::Running(_)))
            .field("waits", &self.suspended().is_some())
            .finish_non_exhaustive()
    }
}
