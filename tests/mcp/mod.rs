//! MCP servers.

mod asking;
mod book;
mod callers;
mod calls;
mod chaos;
mod cli;
mod configured;
mod conformance;
mod drain;
mod engine_killed;
mod faulty;
mod health;
mod http_ends;
mod http_faults;
mod http_sessions;
mod kills;
mod listening;
mod lists;
mod many;
mod proxy;
mod real_servers;
mod reasons;
mod reload;
mod restarts;
#[cfg(feature = "python")]
mod runner;
mod scripted;
mod session;
mod sessions;
mod sse;

use std::{collections::BTreeMap, future::Future, time::Duration};

use serde_json::Value;
use tokio::time::{sleep, timeout};
use toolyard::{
    Engine, ExecuteOptions, ToolCall, ToolResult,
    mcp::{McpServerConfig, McpServerStatus},
};

/// The path of `server.py`, a server that can do what a well-behaved one never does.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");

/// How `server.py` is started.
fn server<'a>(arguments: impl IntoIterator<Item = &'a str>) -> McpServerConfig {
    McpServerConfig::stdio("python3", std::iter::once(SERVER).chain(arguments))
}

/// An engine whose servers have listed their tools, or failed.
async fn engine_with(servers: impl IntoIterator<Item = (&str, McpServerConfig)>) -> Engine {
    let engine = Engine::builder().build().expect("an engine");
    for (name, mut config) in servers {
        // Where nothing else is said: a busy machine starts servers slowly.
        if config.connect_timeout == Duration::from_secs(30) {
            config = config.connect_timeout(Duration::from_mins(2));
        }
        engine.mcp().add(name, config).await.expect("a usable name");
    }
    engine.mcp().settled(Duration::from_mins(2), || false).await;
    engine
}

async fn run(engine: &Engine, name: &str, arguments: Value) -> ToolResult {
    run_with(engine, name, arguments, ExecuteOptions::new()).await
}

async fn run_with(engine: &Engine, name: &str, arguments: Value, options: ExecuteOptions) -> ToolResult {
    let calls = vec![ToolCall::new(name, arguments.into())];
    engine.execute(calls, options).await.expect("the list is taken").results.remove(0)
}

/// The output of a call that must work.
async fn output(engine: &Engine, name: &str, arguments: Value) -> Value {
    let result = run(engine, name, arguments).await;
    assert!(result.is_ok(), "{result:?}");
    result.output.map_or(Value::Null, |output| output.to_value())
}

fn tools(engine: &Engine) -> Vec<String> {
    engine.specs().into_iter().map(|spec| spec.name).collect()
}

fn status(engine: &Engine) -> BTreeMap<String, McpServerStatus> {
    engine.mcp().status().into_iter().map(|status| (status.name.clone(), status)).collect()
}

/// Waits for something that another process brings about.
async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let watching = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    within(what, watching).await;
}

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    timeout(Duration::from_mins(1), work).await.unwrap_or_else(|_| panic!("within a minute: {what}"))
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}
