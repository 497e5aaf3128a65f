//! A tool as a node of a behaviour tree.

use std::{
    collections::BTreeMap,
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use parking_lot::RwLock;
use serde_json::Value;
use toolyard_actors::{EngineError, ExecuteOptions, Report};
use toolyard_contract::{Arguments, ToolCall, ToolResult};

use crate::Engine;

/// Where the nodes of a tree leave things for each other: values by key. Clones share one board.
#[derive(Clone, Debug, Default)]
pub struct Blackboard(Arc<RwLock<BTreeMap<String, Value>>>);

impl Blackboard {
    /// Makes an empty board.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the value under a key.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.0.read().get(key).cloned()
    }

    /// Puts a value under a key.
    pub fn set(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.write().insert(key.into(), value.into());
    }

    /// Takes the value under a key away.
    pub fn remove(&self, key: &str) -> Option<Value> {
        self.0.write().remove(key)
    }
}

/// What a tick of a node comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Not at its end yet: tick again.
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
    running: Option<Running>,
    last: Option<ToolResult>,
}

type Running = Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>;

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
            running: None,
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
        let mut running = match self.running.take() {
            Some(running) => running,
            None => {
                let call = ToolCall::new(&self.tool, self.arguments(board));
                if self.execute == Some(false) {
                    board.set(self.key(&self.output_key), serde_json::json!(call));
                    return NodeStatus::Success;
                }
                self.engine.submit(vec![call], self.options.clone()).into_future()
            }
        };
        match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {
                self.running = Some(running);
                NodeStatus::Running
            }
            Poll::Ready(report) => self.ended(report, board),
        }
    }

    /// Cancels a call that is under way; the next tick is a new one.
    pub fn halt(&mut self) {
        self.running = None;
    }

    fn ended(&mut self, report: Result<Report, EngineError>, board: &Blackboard) -> NodeStatus {
        // A list that was not taken at all has no results.
        self.last = report.ok().and_then(|report| report.results.into_iter().next());
        let key = self.key(&self.output_key);
        match self.last.as_ref().and_then(|result| result.output.as_ref()) {
            Some(output) => board.set(key, output.to_value()),
            None => drop(board.remove(&key)), // what an earlier call left is not this one's
        }
        match &self.last {
            Some(result) if result.is_ok() => NodeStatus::Success,
            _ => NodeStatus::Failure,
        }
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
            .field("running", &self.running.is_some())
            .finish_non_exhaustive()
    }
}
