//! The built-in tools that a configuration asks for.

use std::{path::Path, sync::Arc};

use toolyard_contract::{CustomTail, SharedTool, ToolSet, name};

use super::{Config, ConfigError};
use crate::builtin::{BuiltinRegistry, file::FileRoot};
#[cfg(feature = "docker")]
use crate::sandbox::SandboxPool;

impl Config {
    /// Makes the built-in tools that the configuration asks for, and gives them with the registry
    /// that knows their other names.
    pub(crate) fn builtins(
        &self,
        #[cfg(feature = "docker")] sandboxes: &SandboxPool,
    ) -> Result<(ToolSet, BuiltinRegistry), ConfigError> {
        let registry = self.registry(
            #[cfg(feature = "docker")]
            sandboxes,
        )?;
        let names: Vec<&str> = match &self.tools.enable {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => registry.names().filter(|name| self.has_by_default(name)).collect(),
        };
        let none: [SharedTool; 0] = [];
        let resolved = ToolSet::resolve(Some(&names), &none, &registry, CustomTail::Omit);
        if let Some(missing) = resolved.missing.first() {
            let known: Vec<_> = registry.names().collect();
            let nearest = name::nearest(missing, known.iter().copied());
            let hint = if nearest.is_empty() { known } else { nearest }.join(", ");
            return Err(ConfigError::new(format!(
                "tools.enable: no built-in tool is named {missing:?}; there is: {hint}"
            )));
        }
        if let Some((tool, reason)) = resolved.failed.first() {
            return Err(ConfigError::new(format!("tools.enable: {tool:?} cannot be made: {reason}")));
        }
        Ok((resolved.set, registry))
    }

    /// Tells whether an engine has a tool that nobody named: those that need no service, or whose service is
    /// configured.
    #[cfg_attr(not(any(feature = "search", feature = "python")), allow(clippy::unused_self))]
    fn has_by_default(&self, tool: &str) -> bool {
        match tool {
            #[cfg(feature = "search")]
            "web_search" => self.search.is_some(),
            #[cfg(feature = "python")]
            "python_repl" => self.python.repl.is_some(),
            #[cfg(feature = "docker")]
            "sandbox_python" | "sandbox_shell" => false,
            _ => true,
        }
    }

    fn registry(
        &self,
        #[cfg(feature = "docker")] sandboxes: &SandboxPool,
    ) -> Result<BuiltinRegistry, ConfigError> {
        let root = self.tools.root.as_deref().unwrap_or(Path::new("."));
        let root = FileRoot::open(root).map_err(|error| {
            ConfigError::new(format!("tools.root: {:?}: {error}", root.display().to_string()))
        })?;
        let mut registry = BuiltinRegistry::shipped(&root);
        let (read, write, read_root) = (self.file_read.clone(), self.file_write.clone(), root.clone());
        registry.configure("file_read", move || Ok(Arc::new(read.tool(read_root.clone()))));
        registry.configure("file_write", move || Ok(Arc::new(write.tool(root.clone()))));
        #[cfg(feature = "docker")]
        registry.register_sandbox(sandboxes);
        #[cfg(feature = "python")]
        {
            self.python_repl.check()?;
            let (section, python) = (self.python_repl.clone(), self.python.clone());
            #[cfg(feature = "docker")]
            let sandboxes = sandboxes.clone();
            registry.configure("python_repl", move || {
                Ok(section.tool(
                    &python,
                    #[cfg(feature = "docker")]
                    &sandboxes,
                ))
            });
        }
        #[cfg(feature = "http")]
        {
            let web = self.http.web_config()?;
            #[cfg(feature = "search")]
            if let Some(search) = &self.search {
                let tool = search.tool(web.clone())?;
                registry.configure("web_search", move || Ok(tool.clone()));
            }
            registry
                .configure("http", move || Ok(Arc::new(crate::builtin::http::HttpTool::new(web.clone()))));
        }
        Ok(registry)
    }
}
