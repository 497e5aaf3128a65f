//! The MCP servers that the command line names.

use std::{path::Path, time::Duration};

use anyhow::Context;
use toolyard::{
    Engine, ExecuteOptions,
    formats::Document,
    mcp::{read_servers, stand_ins},
    name,
};

/// How long servers may take to list their tools, beside their own deadlines.
const PATIENCE: Duration = Duration::from_mins(2);

/// Adds the servers of a file to the engine; they connect in the background.
pub(crate) async fn add(engine: &Engine, file: Option<&Path>) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    let source = || format!("--mcp-config {}", file.display());
    let text = std::fs::read_to_string(file).with_context(source)?;
    let servers = read_servers(&text, |name| std::env::var(name).ok()).with_context(source)?;
    for (name, config) in servers {
        engine.mcp().add(name, config).await.with_context(source)?;
    }
    Ok(())
}

/// Waits until all servers have listed their tools, or failed.
pub(crate) async fn settled(engine: &Engine) {
    engine.mcp().settled(PATIENCE, || false).await;
}

/// Waits until the tools are there that a document calls, or no server can bring them any more; what then is still
/// missing because its server cannot be reached says so.
pub(crate) async fn ready_for(engine: &Engine, document: &Document, list: ExecuteOptions) -> ExecuteOptions {
    let called = document.calls.iter().flatten().map(|call| call.name.as_str());
    let missing = || -> Vec<&str> {
        let specs = engine.specs();
        let known: Vec<_> = specs.iter().map(|spec| name::key(&spec.name)).collect();
        called.clone().filter(|name| !known.contains(&name::key(name))).collect()
    };
    if engine.mcp().servers().is_empty() || missing().is_empty() {
        return list;
    }
    engine.mcp().settled(PATIENCE, || missing().is_empty()).await;
    stand_ins(engine.mcp(), missing()).into_iter().fold(list, ExecuteOptions::guest)
}
