//! Tools whose bodies run in a sandbox, wherever they would run otherwise.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, IntoTool, Invocation, Outcome, Tool, ToolCall, ToolFuture, ToolResult, ToolSpec,
    sandbox::SandboxRunner,
};

use super::config;

const SOURCE: &str = "
import os

def where(path):
    print('looking')
    open(path, 'w').close()
    return {'user': os.getuid(), 'files': os.listdir(), 'big': 2 ** 80}

async def later(n):
    return n + 1

def words(n):
    return 'it\\'s ' * n

def broken():
    return 1 / 0

def odd():
    return float('nan')
";

/// A tool whose own body must not be used.
struct Unused(ToolSpec);

impl Tool for Unused {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        panic!("the body of its own is used")
    }
}

fn tool(name: &str) -> Unused {
    Unused(ToolSpec::new(name))
}

fn engine() -> (Engine, Arc<SandboxRunner>) {
    let names = ["where", "later", "words", "broken", "odd", "unknown"];
    let engine = Engine::builder().sandbox(config()).tools(names.map(tool)).build().unwrap();
    let runner = names[..5].iter().fold(SandboxRunner::new(engine.sandbox().clone()), |runner, name| {
        runner.python(name, SOURCE, *name)
    });
    (engine, Arc::new(runner))
}

async fn run(engine: &Engine, calls: &[(&str, Value)], options: ExecuteOptions) -> Vec<ToolResult> {
    let call = |(name, arguments): &(&str, Value)| ToolCall::new(*name, arguments.clone().into());
    engine.execute(calls.iter().map(call).collect::<Vec<_>>(), options).await.unwrap().results
}

#[tokio::test]
async fn a_runner_takes_calls_into_a_sandbox() {
    let (engine, runner) = engine();
    let calls = [
        ("where", json!({"path": "a"})),
        ("Where", json!({"path": "b"})),
        ("later", json!({"n": 1})),
        ("words", json!({"n": 2})),
        ("broken", json!({})),
        ("odd", json!({})),
        ("unknown", json!({})),
    ];
    let results = run(&engine, &calls, ExecuteOptions::new().agent("a").runner(runner)).await;
    let output =
        |index: usize| results[index].output.as_ref().unwrap_or_else(|| panic!("{:?}", results[index]));
    assert_eq!(output(0).to_text(), r#"{"user": 1000, "files": ["a"], "big": 1208925819614629174706176}"#);
    assert_eq!(results[0].detail.as_ref().unwrap().printed.as_deref(), Some("looking\n"));
    assert_eq!(output(1).to_value()["files"].as_array().unwrap().len(), 2, "an agent's calls share files");
    assert_eq!((output(2).to_text(), output(3).as_text()), ("2", Some("it's it's ")));
    assert_eq!(results[4].outcome, Outcome::Failed);
    assert_eq!(results[4].error.as_deref(), Some("ZeroDivisionError: division by zero"));
    assert!(results[4].detail.as_ref().unwrap().traceback.as_ref().unwrap().contains("in broken"));
    assert!(results[5].error.as_ref().unwrap().contains("not JSON compliant"), "{:?}", results[5]);
    assert_eq!(results[6].outcome, Outcome::NotStarted);
}

#[tokio::test]
async fn one_tool_can_be_sent_there_alone() {
    let (engine, runner) = engine();
    let sent = runner.run_in(tool("later").into_tool());
    let other = Engine::builder().tool(sent).tool(tool("words")).build().unwrap();
    let results =
        run(&other, &[("later", json!({"n": 41})), ("words", json!({"n": 1}))], ExecuteOptions::new()).await;
    assert_eq!(results[0].output.as_ref().map(toolyard::Output::to_text), Some("42"), "{:?}", results[0]);
    assert_eq!(results[1].outcome, Outcome::Panicked);
    drop(engine);
}
