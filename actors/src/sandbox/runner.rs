//! Tools whose bodies run in sandboxes.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use serde_json::value::RawValue;
use toolyard_contract::{
    Failure, Invocation, Output, Reply, Runner, Tool, ToolFuture, ToolReturn, name, runner::no_state,
};

use super::{
    container::unique,
    pool::SandboxPool,
    run::{ExecResult, RunRequest},
};

/// Calls the function, and prints its result after a mark that nothing else prints.
const DRIVER: &str = include_str!("runner.py");

/// Runs Python functions in sandboxes, in the place of the tools' own bodies: set it with
/// [`ExecuteOptions::runner`](crate::ExecuteOptions::runner), or on a single tool with [`run_in`](Self::run_in).
///
/// It takes no tools that keep state. Each call is a process of its own; an agent's calls share a container and its files.
pub struct SandboxRunner {
    pool: SandboxPool,
    /// By the keys of the tools' names.
    programs: HashMap<String, Program>,
}

struct Program {
    source: Arc<str>,
    function: String,
}

#[derive(Serialize)]
struct Given<'a> {
    source: &'a str,
    function: &'a str,
    arguments: &'a RawValue,
    mark: &'a str,
}

impl SandboxRunner {
    /// Makes a runner that knows no tool yet.
    pub fn new(pool: SandboxPool) -> Self {
        Self { pool, programs: HashMap::new() }
    }

    /// Lets calls of `tool` run the function of this name in the text of a Python file, with the call's arguments.
    /// What it returns must be JSON.
    #[must_use]
    pub fn python(mut self, tool: &str, source: impl Into<Arc<str>>, function: impl Into<String>) -> Self {
        let program = Program { source: source.into(), function: function.into() };
        self.programs.insert(name::key(tool).into_owned(), program);
        self
    }

    /// Gives a tool like this one whose calls always run here. Calls of a tool that keeps state are `not_started`.
    pub fn run_in(self: &Arc<Self>, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        let keeps_state = tool.state().is_some();
        Arc::new(Elsewhere { tool, keeps_state, runner: self.clone() })
    }
}

impl Runner for SandboxRunner {
    fn run(&self, tool: Arc<dyn Tool>, invocation: Invocation) -> ToolFuture {
        let tool_name = &tool.spec().name;
        let Some(program) = self.programs.get(&*name::key(tool_name)) else {
            let error = format!("tool {tool_name:?}: there is no program for it that a sandbox could run");
            return ToolFuture::ready(Err(Failure::not_started(error)));
        };
        let mark = format!("\u{1e}{}\u{1e}", unique());
        let stdin = RawValue::from_string(invocation.arguments).and_then(|arguments| {
            let (source, function) = (&*program.source, &*program.function);
            serde_json::to_vec(&Given { source, function, arguments: &arguments, mark: &mark })
        });
        let pool = self.pool.clone();
        ToolFuture::new(async move {
            let stdin = stdin.map_err(|error| Failure::bad_arguments(error.to_string()))?;
            let most = usize::try_from(pool.config().sandbox.file_bytes).unwrap_or(usize::MAX);
            let lease = pool.lease(invocation.context.agent()).await?;
            let request = RunRequest::python(DRIVER).stdin(stdin).output_bytes(most).artifacts(false);
            judge(&lease.run(request).await?, &mark)
        })
    }
}

/// Takes the function's result out of what was printed.
fn judge(result: &ExecResult, mark: &str) -> ToolReturn {
    let stdout = result.stdout_text();
    let (printed, returned) = match stdout.rsplit_once(mark) {
        Some((printed, returned)) if result.is_success() => (printed, Some(returned)),
        _ => (stdout.as_str(), None),
    };
    let printed = (!printed.is_empty()).then(|| printed.to_owned());
    if let Some(returned) = returned {
        let output = Output::from_json_text(returned.to_owned())
            .map_err(|error| Failure::failed(error.to_string()))?;
        // Text is text for whoever reads it, however it was sent.
        let output = match output.to_value() {
            serde_json::Value::String(text) => Output::Text(text),
            _ => output,
        };
        let mut reply = Reply::from(output);
        if printed.is_some() {
            reply.detail.get_or_insert_default().printed = printed;
        }
        return Ok(reply);
    }
    let traceback = result.stderr_text();
    let last = traceback.lines().last().unwrap_or("it ended before it returned").to_owned();
    let failure = match result.signal {
        _ if result.timed_out => {
            Failure::timed_out(format!("stopped after {:.1} s", result.elapsed.as_secs_f64()))
        }
        _ if result.oom => Failure::failed("its memory ran out"),
        Some(signal) => Failure::failed(format!("ended by signal {signal}")),
        None => Failure::failed(last),
    };
    Err(failure.detail(|detail| {
        detail.traceback = (!traceback.is_empty()).then_some(traceback);
        detail.printed = printed;
    }))
}

/// A tool whose calls run somewhere else.
struct Elsewhere {
    tool: Arc<dyn Tool>,
    keeps_state: bool,
    runner: Arc<SandboxRunner>,
}

impl Tool for Elsewhere {
    fn spec(&self) -> &toolyard_contract::ToolSpec {
        self.tool.spec()
    }

    fn parallel_decision(
        &self,
        arguments: &str,
        context: &toolyard_contract::DecisionContext,
    ) -> toolyard_contract::ParallelDecision {
        self.tool.parallel_decision(arguments, context)
    }

    fn access(&self, arguments: &str) -> toolyard_contract::Access {
        self.tool.access(arguments)
    }

    fn permission_check(
        &self,
        arguments: &str,
        context: &toolyard_contract::PermissionContext<'_>,
    ) -> Option<toolyard_contract::PermissionCheck> {
        self.tool.permission_check(arguments, context)
    }

    fn call_off(&self, kept: &serde_json::Value) {
        self.tool.call_off(kept);
    }

    fn retire(&self) -> futures::future::BoxFuture<'static, ()> {
        self.tool.retire()
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        if self.keeps_state {
            return ToolFuture::ready(Err(Failure::not_started(no_state(&self.spec().name))));
        }
        self.runner.run(self.tool.clone(), invocation)
    }
}
