//! Beside a runner nothing runs where it would otherwise: no server is called, and no session of Python begins.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use toolyard::{
    CallContext, ExecuteOptions, IntoTool, Invocation, Outcome, Runner, SharedTool, Tool, ToolCall,
    ToolFuture, ToolSpec,
    builtin::python_repl::{HostProcess, PythonReplConfig, PythonReplTool},
};

use super::{engine_with, output, server};

/// Says which tool it was given.
struct Elsewhere;

impl Runner for Elsewhere {
    fn run(&self, tool: SharedTool, invocation: Invocation) -> ToolFuture {
        if tool.spec().name == "nest" {
            return tool.call(invocation);
        }
        ToolFuture::ready(Ok(format!("{} elsewhere", tool.spec().name).into()))
    }
}

/// Submits the list that it is given by name, each call without arguments but for code.
struct Nest(ToolSpec);

async fn nested(context: CallContext) -> Vec<String> {
    let calls = ["s_pid", "python_repl"].map(|name| ToolCall::new(name, json!({"code": "1"}).into()));
    let results = context.submit(calls.into()).await.unwrap();
    results.into_iter().map(|result| format!("{:?} {:?}", result.outcome, result.output)).collect()
}

impl Tool for Nest {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move { Ok(nested(invocation.context).await.join("; ").into()) })
    }
}

#[tokio::test]
async fn no_server_is_called_and_no_session_begins_on_the_host_beside_a_runner() {
    let engine = engine_with([("s", server([]))]).await;
    let mut config = PythonReplConfig::default();
    config.timeout = Duration::from_secs(30);
    let repl = PythonReplTool::new(config, HostProcess::default());
    engine.add_tools([repl.into_tool(), Arc::new(Nest(ToolSpec::new("nest")))]).await.unwrap();
    let marker = tempfile::tempdir().unwrap();
    let made = marker.path().join("made");
    let code = format!("open({:?}, 'w')", made.to_str().unwrap());
    let calls = || {
        vec![
            ToolCall::new("s_pid", json!({}).into()),
            ToolCall::new("python_repl", json!({"code": code}).into()),
            ToolCall::new("nest", json!({}).into()),
        ]
    };
    let options = ExecuteOptions::new().runner(Arc::new(Elsewhere));
    let results = engine.execute(calls(), options).await.unwrap().results;
    let text = |at: usize| results[at].output.as_ref().map(toolyard::Output::to_text).unwrap_or_default();
    assert_eq!(text(0), "s_pid elsewhere");
    assert_eq!(
        results[1].outcome,
        Outcome::NotStarted,
        "it keeps state, and the runner takes none: {results:?}"
    );
    assert!(!made.exists());
    assert!(text(2).contains("s_pid elsewhere") && text(2).contains("NotStarted"), "{}", text(2));
    // Without one, both run here.
    assert!(output(&engine, "s_pid", json!({})).await.as_str().unwrap().parse::<u32>().is_ok());
    let results = engine.execute(calls(), ExecuteOptions::new()).await.unwrap().results;
    assert!(results[1].is_ok() && made.exists(), "{results:?}");
    engine.shutdown(Duration::ZERO).await;
}
