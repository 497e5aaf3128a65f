//! From options to a running engine.

use std::{path::Path, sync::Arc};

use anyhow::{Context, bail};
use toolyard::{Engine, ExecuteOptions, StubTool, ToolSpec, config::Config, formats::Document, name};

use crate::options::{EngineOptions, ListOptions};

/// Puts the engine together: the configuration, with what the options say over it.
pub(crate) fn engine(options: &EngineOptions) -> anyhow::Result<Engine> {
    #[cfg_attr(not(feature = "mcp"), allow(unused_mut))]
    let mut config = config(options)?;
    #[cfg(feature = "mcp")]
    let servers = {
        let servers = crate::servers::configured(&config, options.mcp_config.as_deref())?;
        // Under one name, that of the file counts.
        config.mcp.servers.clear();
        servers
    };
    #[cfg_attr(not(feature = "python"), allow(unused_mut))]
    let mut builder = Engine::builder().config(&config)?;
    #[cfg(feature = "python")]
    for file in &options.python {
        builder = builder.python_file(file.clone());
    }
    silence_tool_panics();
    let engine = builder.build().context("the engine cannot be started")?;
    #[cfg(feature = "python")]
    for problem in &engine.python_report().problems {
        eprintln!("toolyard: python: {problem}");
    }
    #[cfg(feature = "mcp")]
    crate::servers::add(&engine, servers)?;
    Ok(engine)
}

/// Reads the configuration that was named, else the usual one, if it is there.
pub(crate) fn read_config(named: Option<&Path>) -> anyhow::Result<Config> {
    let usual = Path::new("toolyard.toml");
    Ok(match named {
        Some(file) => Config::read(file)?,
        None if usual.is_file() => Config::read(usual)?,
        None => Config::default(),
    })
}

fn config(options: &EngineOptions) -> anyhow::Result<Config> {
    let mut config = read_config(options.config.as_deref())?;
    config.tools.enable = options.tools.clone().or(config.tools.enable);
    config.tools.root = options.root.clone().or(config.tools.root);
    let files = &options.files;
    config.file_read.max_bytes = files.max_file_bytes.or(config.file_read.max_bytes);
    config.file_write.max_bytes = files.max_file_bytes.or(config.file_write.max_bytes);
    if let Some(extensions) = &files.file_extensions {
        config.file_read.extensions = Some(extensions.clone());
        config.file_write.extensions = Some(extensions.clone());
    }
    if files.no_create_folders {
        config.file_write.create_folders = Some(false);
    }
    config.tools.rule.splice(..0, options.activation.rules.iter().cloned());
    let max_in_flight = options.max_in_flight.map(|calls| calls as usize);
    config.engine.max_in_flight = max_in_flight.or(config.engine.max_in_flight);
    Ok(config)
}

/// A tool's panic is its call's result; the log has it too, the terminal need not.
fn silence_tool_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some("main") {
            usual(panic);
        } else {
            tracing::warn!("{panic}");
        }
    }));
}

/// The options for one document's list.
pub(crate) fn list(options: &ListOptions, document: &Document) -> anyhow::Result<ExecuteOptions> {
    let mut list = ExecuteOptions::new().stop_on_failure(options.stop_on_failure);
    if let Some(agent) = document.agent.as_deref().or(options.agent.as_deref()) {
        list = list.agent(agent);
    }
    list.timeout = options.timeout;
    list.deadline = options.deadline;
    if options.stub { stubs(list, &document.tools) } else { Ok(list) }
}

/// Lets declared tools be answered by their own arguments.
pub(crate) fn stubs(mut list: ExecuteOptions, tools: &[ToolSpec]) -> anyhow::Result<ExecuteOptions> {
    for (index, spec) in tools.iter().enumerate() {
        let before = tools[..index].iter().find(|other| name::key(&other.name) == name::key(&spec.name));
        match before {
            Some(same) if same == spec => {}
            Some(_) => {
                bail!("tools, item {index}: {:?} is declared twice, with different schemas", spec.name)
            }
            None => list = list.guest(Arc::new(StubTool::new(spec.clone()))),
        }
    }
    Ok(list)
}
