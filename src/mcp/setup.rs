//! The MCP servers that an engine begins with.

use std::collections::BTreeMap;

use super::{McpHost, McpPool, McpServerConfig};
use crate::config::{ConfigError, McpSection, WrittenConfig};

/// What a configuration says about servers.
#[derive(Debug, Default)]
pub(crate) struct McpServers {
    section: McpSection,
    servers: BTreeMap<String, McpServerConfig>,
}

impl McpServers {
    /// Takes what a configuration says.
    pub(crate) fn take(&mut self, section: &McpSection) -> Result<(), ConfigError> {
        self.servers.extend(section.servers(|name| std::env::var(name).ok())?);
        self.section.servers.extend(section.servers.clone());
        Ok(())
    }

    /// The pool that begins with them.
    pub(crate) fn pool(&self, host: McpHost) -> McpPool {
        McpPool::new(host, self.servers.clone()).expect("names that were checked")
    }

    /// Adds those that are as they were to a written configuration.
    pub(crate) fn write_to(&self, pool: &McpPool, written: &mut WrittenConfig) {
        let now = pool.configs();
        let is_same = |name: &str| now.get(name).map(|config| &**config) == self.servers.get(name);
        let kept = self.section.servers.iter().filter(|(name, _)| is_same(name));
        written.config.mcp.servers = kept.map(|(name, section)| (name.clone(), section.clone())).collect();
        for server in written.config.mcp.servers.keys() {
            let tools = pool.all_tools(Some(server)).unwrap_or_default();
            written.left_out.retain(|name| !tools.iter().any(|tool| tool.name == *name));
        }
    }
}
