//! Tools made of closures, and engines whose clock is paused.

use std::{
    future::Future,
    sync::{Arc, mpsc},
    time::Duration,
};

use serde_json::Value;
use toolyard::{
    Engine, EngineBuilder, Execution, Invocation, Report, Tool, ToolCall, ToolFuture, ToolReturn, ToolSpec,
};

/// A tool whose body is a closure.
pub(crate) struct Made<F> {
    spec: ToolSpec,
    body: Arc<F>,
}

/// A tool whose body is an async closure.
pub(crate) fn tool<F, Fut>(spec: ToolSpec, body: F) -> Made<impl Fn(Invocation) -> ToolFuture + Send + Sync>
where
    F: Fn(Invocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolReturn> + Send + 'static,
{
    Made { spec, body: Arc::new(move |invocation| -> ToolFuture { ToolFuture::new(body(invocation)) }) }
}

/// A tool whose body blocks a thread.
pub(crate) fn blocking<F>(spec: ToolSpec, body: F) -> Made<impl Fn(Invocation) -> ToolFuture + Send + Sync>
where
    F: Fn(Invocation) -> ToolReturn + Send + Sync + 'static,
{
    let body = Arc::new(body);
    tool(spec.execution(Execution::Blocking), move |invocation| {
        let body = body.clone();
        async move { body(invocation) }
    })
}

impl<F: Fn(Invocation) -> ToolFuture + Send + Sync + 'static> Tool for Made<F> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        (self.body)(invocation)
    }
}

/// A tool that gives back its own arguments and may overlap.
pub(crate) fn echo(name: &str) -> impl Tool {
    tool(ToolSpec::new(name).parallel_safe(true), |invocation| async move {
        Ok(toolyard::Output::from_json_text(invocation.arguments).unwrap().into())
    })
}

/// A call with these arguments.
pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(name, arguments.into())
}

/// An engine whose clock stands still until everything waits.
pub(crate) fn paused() -> EngineBuilder {
    Engine::builder().system_runtime(paused_runtime)
}

/// As `paused`, and the clock also stands still until the sender is dropped, however long it takes: what comes from
/// outside until then comes at one time.
pub(crate) fn held() -> (EngineBuilder, mpsc::Sender<()>) {
    let (held, until_dropped) = mpsc::channel();
    let builder = Engine::builder().system_runtime(|| {
        let runtime = paused_runtime();
        // A paused clock moves only while no thread of the runtime works.
        runtime.spawn_blocking(move || until_dropped.recv());
        runtime
    });
    (builder, held)
}

fn paused_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// The outcomes of a report, by name.
pub(crate) fn outcomes(report: &Report) -> Vec<&'static str> {
    report.results.iter().map(|result| result.outcome.as_str()).collect()
}

/// Reads a field of the arguments.
pub(crate) fn field(invocation: &Invocation, name: &str) -> Value {
    serde_json::from_str::<Value>(&invocation.arguments).unwrap()[name].take()
}

/// A time-out that a test never reaches unless it hangs.
pub(crate) const LONG: Duration = Duration::from_mins(1);
