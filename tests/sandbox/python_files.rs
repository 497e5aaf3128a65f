//! Functions of Python files whose workers run in containers.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use toolyard::{Engine, ExecuteOptions, Outcome, ToolCall, ToolResult, config::Config};

use super::{config, containers, eventually};

const TOOLS: &str = "
import os, socket
import helper

calls = 0

def count(step: int):
    global calls
    calls += step
    return helper.twice(calls)

async def later(text: str):
    return text.upper()

def where():
    return {'user': os.getuid(), 'network': sorted(os.listdir('/sys/class/net')), 'env': 'CARGO' in os.environ}

def write():
    open(__file__, 'a')

def die():
    os._exit(9)

def hang():
    while True: pass
";

async fn run(engine: &Engine, name: &str, arguments: Value, options: ExecuteOptions) -> ToolResult {
    engine.execute(vec![ToolCall::new(name, arguments.into())], options).await.unwrap().results.remove(0)
}

async fn output(engine: &Engine, name: &str, arguments: Value) -> Value {
    let result = run(engine, name, arguments, ExecuteOptions::new()).await;
    result.output.as_ref().unwrap_or_else(|| panic!("{result:?}")).to_value()
}

#[tokio::test]
async fn by_a_setting_the_functions_of_a_file_run_in_a_container() {
    let name = config().sandbox.name;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("tools.py"), TOOLS).unwrap();
    // Anybody may write the file: what forbids it is the way it is mounted.
    std::fs::set_permissions(folder.path().join("tools.py"), PermissionsExt::from_mode(0o666)).unwrap();
    std::fs::write(folder.path().join("helper.py"), "def twice(n): return 2 * n").unwrap();
    let toml = format!(
        "[tools]\nenable = []\n[python]\nfiles = [\"{}\"]\nsandbox = true\n[sandbox]\nname = \"{name}\"",
        folder.path().join("tools.py").display()
    );
    let settings = Config::parse(&toml).unwrap();
    // Building waits for the import.
    let build = move || Engine::builder().config(&settings).unwrap().build().unwrap();
    let engine = tokio::task::spawn_blocking(build).await.unwrap();
    assert_eq!(engine.python_report().problems, Vec::<String>::new());
    assert_eq!(output(&engine, "count", json!({"step": 2})).await, 4);
    assert_eq!(output(&engine, "count", json!({"step": 1})).await, 6, "the process stays");
    assert_eq!(output(&engine, "later", json!({"text": "it's"})).await, "IT'S");
    assert_eq!(
        output(&engine, "where", json!({})).await,
        json!({"user": 1000, "network": ["lo"], "env": false})
    );
    let written = run(&engine, "write", json!({}), ExecuteOptions::new()).await;
    assert!(written.error.as_ref().unwrap().contains("Read-only file system"), "{written:?}");
    assert_eq!(run(&engine, "die", json!({}), ExecuteOptions::new()).await.outcome, Outcome::Lost);
    assert_eq!(output(&engine, "count", json!({"step": 1})).await, 2, "a new process takes its place");
    let mut short = ExecuteOptions::new();
    short.timeout = Some(std::time::Duration::from_secs(1));
    assert_eq!(run(&engine, "hang", json!({}), short).await.outcome, Outcome::TimedOut);
    assert_eq!(output(&engine, "count", json!({"step": 1})).await, 2);
    assert_eq!(engine.to_config().config.to_toml().unwrap().matches("sandbox = true").count(), 1);
    engine.shutdown(std::time::Duration::ZERO).await;
    eventually("nothing is left", || containers(&name).is_empty()).await;
}
