//! `toolyard doctor`: checks what calls may need.
//!
//! To add a check, write a function that gives a [`Check`], or several, and put it into [`run`].

use serde::Serialize;
use toolyard::{Engine, config::Config};

use crate::{
    ALL_OK, SOME_NOT_OK,
    options::DoctorOptions,
    output::{OutputForm, Printer},
    setup::read_config,
};

/// One thing that calls may need.
#[derive(Debug, Serialize)]
struct Check {
    /// What is checked.
    name: String,
    ok: bool,
    /// What was found, or what is missing and how to get it.
    says: String,
}

impl Check {
    fn new(name: impl Into<String>, found: Result<String, String>) -> Self {
        let ok = found.is_ok();
        Self { name: name.into(), ok, says: found.unwrap_or_else(|missing| missing) }
    }
}

pub(crate) async fn run(options: &DoctorOptions) -> anyhow::Result<u8> {
    let config = read_config(options.config.config.as_deref())?;
    let checks: Vec<Check> = [
        vec![configuration(&config)],
        #[cfg(feature = "python")]
        vec![python(&config).await],
        #[cfg(feature = "docker")]
        vec![docker(&config).await],
        #[cfg(feature = "mcp")]
        servers(&config, options).await?,
    ]
    .into_iter()
    .flatten()
    .collect();
    Printer { form: OutputForm::Native, lines: false }.json(&serde_json::json!({"checks": checks}))?;
    Ok(if checks.iter().all(|check| check.ok) { ALL_OK } else { SOME_NOT_OK })
}

/// The tools and folders that the configuration names.
fn configuration(config: &Config) -> Check {
    let usable = Engine::builder().config(config).map(|_| "usable".to_owned());
    Check::new("configuration", usable.map_err(|error| error.to_string()))
}

/// The interpreter of Python files.
#[cfg(feature = "python")]
async fn python(config: &Config) -> Check {
    let interpreter = config.python.interpreter.clone().unwrap_or_else(|| "python3".into());
    let found = toolyard::python_version(&interpreter).await;
    Check::new("python", found.map_err(|error| format!("{error}: or set `python.interpreter`")))
}

/// The daemon and the image of sandboxes.
#[cfg(feature = "docker")]
async fn docker(config: &Config) -> Check {
    let pool = toolyard::sandbox::SandboxPool::new(config.sandbox.pool_config());
    let image = &pool.config().sandbox.image;
    let found = pool.check().await.map(|version| format!("Docker {version}, image {image:?}"));
    Check::new("docker", found.map_err(|error| error.to_string()))
}

/// The MCP servers, each by a connection of its own.
#[cfg(feature = "mcp")]
async fn servers(config: &Config, options: &DoctorOptions) -> anyhow::Result<Vec<Check>> {
    let servers = crate::servers::configured(config, options.mcp_config.as_deref())?;
    let checks = toolyard::mcp::check_servers(servers).await?;
    let check = |check: toolyard::mcp::ServerCheck| Check::new(format!("mcp {}", check.server), check.found);
    Ok(checks.into_iter().map(check).collect())
}
