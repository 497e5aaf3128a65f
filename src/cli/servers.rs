//! The MCP servers that the command line names.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::Context;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
};
use toolyard::{
    Engine, ExecuteOptions,
    config::Config,
    formats::Document,
    mcp::{McpLink, McpServerConfig, read_servers, stand_ins},
    name,
};

use crate::{options::EngineOptions, setup};

/// How long servers may take to list their tools, beside their own deadlines.
const PATIENCE: Duration = Duration::from_mins(2);

/// The servers of the configuration and of a file of servers; under one name, that of the file counts.
pub(crate) fn configured(
    config: &Config,
    file: Option<&Path>,
) -> anyhow::Result<BTreeMap<String, McpServerConfig>> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut servers = config.mcp.servers(variable)?;
    if let Some(file) = file {
        let source = || format!("--mcp-config {}", file.display());
        let text = std::fs::read_to_string(file).with_context(source)?;
        let read = read_servers(&text, variable).with_context(source)?;
        read.warnings.iter().for_each(|warning| tracing::warn!("{}: {warning}", file.display()));
        let mut read = read.servers;
        read.values_mut().for_each(|server| start_at(file, server));
        servers.extend(read);
    }
    Ok(servers)
}

/// Lets relative paths start at the folder of the file of servers, as with a configuration.
fn start_at(file: &Path, server: &mut McpServerConfig) {
    let McpLink::Stdio { command, folder, .. } = &mut server.link else { return };
    let beside = |path: &Path| std::path::absolute(file.with_file_name("").join(path));
    if command.components().count() > 1
        && let Ok(whole) = beside(command)
    {
        *command = whole;
    }
    if let Some(folder) = folder
        && let Ok(whole) = beside(folder)
    {
        *folder = whole;
    }
}

/// Adds servers to an engine that has none; they connect in the background.
pub(crate) fn add(engine: &Engine, servers: BTreeMap<String, McpServerConfig>) -> anyhow::Result<()> {
    for (name, config) in servers {
        engine.mcp().add_new(name, config)?;
    }
    Ok(())
}

/// Reads the files of servers again whenever the process gets a hang-up signal, until the returned hand is dropped. A
/// file that cannot be used changes nothing.
pub(crate) fn reload_on_hangup(engine: &Engine, options: &EngineOptions) -> anyhow::Result<Reloading> {
    let mut hangup = signal(SignalKind::hangup())?;
    let (engine, files) = (engine.clone(), (options.config.clone(), options.mcp_config.clone()));
    let task = tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let config = setup::read_config(files.0.as_deref());
            let servers = config.and_then(|config| configured(&config, files.1.as_deref()));
            let outcome = match servers {
                Ok(servers) => engine.mcp().replace_all(servers).await.map_err(Into::into),
                Err(error) => Err(error),
            };
            match outcome {
                Ok(changes) => tracing::info!(?changes, "MCP servers reloaded"),
                Err(error) => eprintln!("toolyard: MCP servers stay as they were: {error:#}"),
            }
        }
    });
    Ok(Reloading(task))
}

/// A hand on what reads files again.
pub(crate) struct Reloading(JoinHandle<()>);

impl Drop for Reloading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits until all servers have listed their tools, or failed.
pub(crate) async fn settled(engine: &Engine) {
    engine.mcp().settled(PATIENCE, || false).await;
}

/// Waits until the tools are there that a document calls, or no server can bring them any more; what then is still
/// missing because its server cannot be reached says so.
pub(crate) async fn ready_for(engine: &Engine, document: &Document, list: ExecuteOptions) -> ExecuteOptions {
    let called: Vec<_> = document.calls.iter().flatten().map(|call| call.name.as_str()).collect();
    let missing = wait_for(engine, &called).await;
    stand_ins(engine.mcp(), missing).into_iter().fold(list, ExecuteOptions::guest)
}

/// Waits until these tools are there, or no server can bring them any more; gives those that are still missing.
pub(crate) async fn wait_for<'a>(engine: &Engine, called: &[&'a str]) -> Vec<&'a str> {
    let missing = || -> Vec<&'a str> {
        let specs = engine.specs();
        let known: Vec<_> = specs.iter().map(|spec| name::key(&spec.name)).collect();
        called.iter().filter(|name| !known.contains(&name::key(name))).copied().collect()
    };
    if engine.mcp().servers().is_empty() {
        return Vec::new();
    }
    if !missing().is_empty() {
        engine.mcp().settled(PATIENCE, || missing().is_empty()).await;
    }
    missing()
}
