//! The built-in tools that a configuration asks for.

use std::{path::Path, sync::Arc};

use toolyard_contract::{CustomTail, SharedTool, ToolSet, name};

use super::{Config, ConfigError};
use crate::builtin::{BuiltinRegistry, file::FileRoot};
#[cfg(feature = "docker")]
use toolyard_actors::sandbox::SandboxPool;

/// The tools that an engine has when nobody has named any: they reach nothing but the folder of the file tools.
const BY_DEFAULT: [&str; 3] = ["calculator", "file_read", "file_write"];

/// In the place of names: all that there are.
const ALL: &str = "all";

/// In the place of names: no built-in tool.
const NONE: &str = "none";

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
        let names = self.builtin_names(&registry)?;
        let none: [SharedTool; 0] = [];
        let resolved = ToolSet::resolve(Some(&names), &none, &registry, CustomTail::Omit);
        if let Some(missing) = resolved.missing.first() {
            let hint = name::alternatives(missing, registry.names());
            return Err(ConfigError::new(format!(
                "tools.enable: no built-in tool is named {missing:?}; there is: {hint}"
            )));
        }
        if let Some((tool, reason)) = resolved.failed.first() {
            return Err(ConfigError::new(format!("tools.enable: {tool:?} cannot be made: {reason}")));
        }
        Ok((resolved.set, registry))
    }

    /// The names of the built-in tools to have.
    fn builtin_names<'a>(&'a self, registry: &'a BuiltinRegistry) -> Result<Vec<&'a str>, ConfigError> {
        let Some(enabled) = &self.tools.enable else {
            return Ok(if self.names_tools() { Vec::new() } else { BY_DEFAULT.to_vec() });
        };
        let names: Vec<_> = enabled.iter().map(String::as_str).collect();
        match names[..] {
            [ALL] => Ok(registry.names().collect()),
            [NONE] => Ok(Vec::new()),
            _ => match names.iter().find(|name| [ALL, NONE].contains(name)) {
                Some(word) => Err(ConfigError::new(format!("tools.enable: {word:?} stands alone"))),
                None => Ok(names),
            },
        }
    }

    /// Whether there are tools without those that are built in.
    #[cfg_attr(not(any(feature = "python", feature = "mcp")), allow(clippy::unused_self))]
    fn names_tools(&self) -> bool {
        #[cfg(feature = "python")]
        if !self.python.files.is_empty() {
            return true;
        }
        #[cfg(feature = "mcp")]
        if !self.mcp.servers.is_empty() {
            return true;
        }
        false
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
