//! Tools that reach the web, against servers on this machine that behave and misbehave.

mod addresses;
mod answers;
#[cfg(feature = "cli")]
mod cli;
mod faults;
mod redirects;
mod retries;
#[cfg(feature = "search")]
mod search;
mod server;

use std::{net::IpAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, ToolCall, ToolResult,
    builtin::{
        http::HttpTool,
        web::{AddressPolicy, NameResolver, WebConfig},
    },
};

/// Settings that reach this machine and give up soon.
fn local() -> WebConfig {
    let mut config = WebConfig::default();
    config.policy = AddressPolicy::new(["127.0.0.1".parse().unwrap()]);
    config.timeout = Duration::from_secs(20);
    config
}

/// Runs one call of the tool `http`.
fn http(config: WebConfig, arguments: &Value) -> ToolResult {
    http_list(config, std::slice::from_ref(arguments)).remove(0)
}

/// Runs calls of the tool `http` in one list.
fn http_list(config: WebConfig, arguments: &[Value]) -> Vec<ToolResult> {
    let engine = Engine::builder().tool(HttpTool::new(config)).build().unwrap();
    let calls: Vec<_> = arguments.iter().map(|one| ToolCall::new("http", one.clone().into())).collect();
    engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().results
}

fn get(config: WebConfig, url: &str) -> ToolResult {
    http(config, &json!({"url": url}))
}

/// The output as a value.
fn output(result: &ToolResult) -> Value {
    result.output.as_ref().unwrap_or_else(|| panic!("no output: {result:?}")).to_value()
}

fn error(result: &ToolResult) -> &str {
    result.error.as_deref().unwrap_or_else(|| panic!("no error: {result:?}"))
}

/// Answers with the next of the addresses each time, and counts.
struct Changing(Mutex<(Vec<IpAddr>, usize)>);

impl Changing {
    fn new(addresses: &[&str]) -> Arc<Self> {
        let addresses = addresses.iter().rev().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new((addresses, 0))))
    }

    fn asked(&self) -> usize {
        self.0.lock().1
    }
}

impl NameResolver for Changing {
    fn resolve(&self, _: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let mut state = self.0.lock();
        state.1 += 1;
        let next = if state.0.len() > 1 { state.0.pop() } else { state.0.first().copied() };
        Box::pin(std::future::ready(Ok(next.into_iter().collect())))
    }
}
