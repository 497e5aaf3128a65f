//! Checks servers before anybody calls them.

use std::{collections::BTreeMap, time::Duration};

use super::{McpLink, McpServerConfig, McpServerStatus};
use crate::{Engine, StartError};

/// What was found about one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCheck {
    /// The server.
    pub server: String,
    /// What it offers, or what is wrong with it and what to do.
    pub found: Result<String, String>,
}

/// Connects to each server once, at the same time, lists its tools, and disconnects. A server that cannot be reached
/// takes as long as its [connect timeout](McpServerConfig::connect_timeout) says.
///
/// # Errors
/// When there is no engine to connect with.
pub async fn check_servers(
    servers: BTreeMap<String, McpServerConfig>,
) -> Result<Vec<ServerCheck>, StartError> {
    let engine = Engine::builder().build()?;
    let longest = servers.values().map(|config| config.connect_timeout).max().unwrap_or_default();
    let mut checks = Vec::new();
    for (name, config) in &servers {
        if let Err(error) = engine.mcp().add_new(name, config.clone()) {
            checks.push(ServerCheck { server: name.clone(), found: Err(error.to_string()) });
        }
    }
    // Connecting, then listing.
    engine.mcp().settled(longest.saturating_mul(2), || false).await;
    let checked = engine.mcp().status().into_iter().map(|status| {
        let found = found(&status, &servers[&status.name].link);
        ServerCheck { server: status.name, found }
    });
    checks.extend(checked);
    engine.shutdown(Duration::ZERO).await;
    Ok(checks)
}

fn found(status: &McpServerStatus, link: &McpLink) -> Result<String, String> {
    let Some(tools) = status.tools else {
        let reason = status.last_error.as_deref().unwrap_or("it has not listed its tools in time");
        let advice = match link {
            McpLink::Stdio { command, .. } => {
                format!("see whether {:?} starts by hand", command.display().to_string())
            }
            _ => "see whether its URL and headers are right and it runs".to_owned(),
        };
        return Err(format!("{reason}; {advice}"));
    };
    let era = status.era.as_deref().unwrap_or("an unknown revision");
    let mut says = vec![format!("protocol {era}, {tools} tools")];
    says.extend(status.problems.iter().cloned());
    Ok(says.join("; "))
}
