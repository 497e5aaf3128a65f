//! From a running engine back to its configuration.

use std::sync::Arc;

use toolyard_actors::{Yard, YardConfig};
use toolyard_contract::SharedTool;

use super::{Config, written::WrittenConfig};

/// What an engine remembers of how it was set up.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: YardConfig,
    pub(crate) builtins: Builtins,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: crate::mcp::setup::McpServers,
}

/// The built-in tools that a configuration asked for.
#[derive(Default)]
pub(crate) struct Builtins {
    pub(crate) tools: Vec<SharedTool>,
    /// What it says about how they work.
    pub(crate) said: Config,
}

impl std::fmt::Debug for Builtins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tools.iter().map(|tool| &tool.spec().name).collect();
        f.debug_struct("Builtins").field("tools", &names).finish_non_exhaustive()
    }
}

impl Settings {
    pub(crate) fn write(&self, yard: &Yard) -> WrittenConfig {
        let is_builtin = |tool: &SharedTool| self.builtins.tools.iter().any(|own| Arc::ptr_eq(own, tool));
        let (mut enable, mut left_out) = (Vec::new(), Vec::new());
        for entry in yard.catalog().entries() {
            let names = if is_builtin(entry.tool()) { &mut enable } else { &mut left_out };
            names.push(entry.spec().name.clone());
        }
        let mut config = Config::of(&self.config, yard.activation().to_rules());
        config.tools.enable = Some(enable);
        let said = &self.builtins.said;
        config.tools.root.clone_from(&said.tools.root);
        config.file_read.clone_from(&said.file_read);
        config.file_write.clone_from(&said.file_write);
        #[cfg(feature = "python")]
        config.python_repl.clone_from(&said.python_repl);
        #[cfg(feature = "http")]
        config.http.clone_from(&said.http);
        #[cfg(feature = "search")]
        config.search.clone_from(&said.search);
        #[cfg(feature = "docker")]
        config.sandbox.clone_from(&said.sandbox);
        WrittenConfig { config, left_out }
    }
}
