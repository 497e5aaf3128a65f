//! The tools that can be had by name.

mod provider;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

#[cfg(feature = "docker")]
use toolyard_actors::sandbox::SandboxPool;
#[cfg(feature = "python")]
use toolyard_contract::IntoTool;
use toolyard_contract::{AliasCycle, Aliases, BuildError, SharedTool, Tool, ToolSource, name};

#[cfg(feature = "http")]
use super::http::HttpTool;
#[cfg(feature = "python")]
use super::python_repl::{NoBackend, PythonReplConfig, PythonReplTool};
#[cfg(feature = "docker")]
use super::sandbox::SandboxTool;
use super::{
    calculator::CalculatorTool,
    file::{FileReadTool, FileRoot, FileWriteTool},
};
#[cfg(feature = "search")]
use super::{
    web::WebConfig,
    web_search::{DuckDuckGo, WebSearchTool},
};

/// What a call of `python_repl` is told where nothing runs its sessions.
#[cfg(feature = "python")]
pub(crate) const NO_REPL: &str = "nothing can run Python sessions here: build with the feature `docker` for containers, \
                                  or set `repl = \"unsafe_host_process\"` in the part [python] of the configuration, \
                                  which lets the code do whatever the engine may";

type Made = Result<Arc<dyn Tool>, String>;
type Constructor = Box<dyn Fn() -> Made + Send + Sync>;

/// The tools that can be had by name, and the other names that they go by.
///
/// Names are compared by [`name::key`]: trimmed, in any case. A tool is made when a list of names asks for it.
///
/// ```
/// # let folder = std::env::temp_dir();
/// use toolyard::{CustomTail, ToolSet, builtin::{BuiltinRegistry, file::FileRoot}};
///
/// let registry = BuiltinRegistry::shipped(&FileRoot::open(folder)?);
/// let resolved = ToolSet::resolve(Some(&["calc", "no_such_tool"]), &[], &registry, CustomTail::Append);
/// assert_eq!(resolved.set.names().collect::<Vec<_>>(), ["calculator"]);
/// assert_eq!(resolved.missing, ["no_such_tool"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct BuiltinRegistry {
    /// In the order of registration.
    entries: Vec<Entry>,
    aliases: Aliases,
    /// What it gives as a provider beside its own.
    custom: Vec<SharedTool>,
}

struct Entry {
    name: String,
    make: Constructor,
}

impl BuiltinRegistry {
    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a registry of the tools that come with this crate; the file tools stay inside `root`.
    pub fn shipped(root: &Arc<FileRoot>) -> Self {
        let mut registry = Self::new();
        let (read_root, write_root) = (root.clone(), root.clone());
        registry.add("calculator", || Ok(Arc::new(CalculatorTool::new())));
        registry.add("file_read", move || Ok(Arc::new(FileReadTool::new(read_root.clone()))));
        registry.add("file_write", move || Ok(Arc::new(FileWriteTool::new(write_root.clone()))));
        #[cfg(feature = "http")]
        registry.add("http", || Ok(Arc::new(HttpTool::default())));
        #[cfg(feature = "search")]
        registry.add("web_search", || {
            let made = DuckDuckGo::new(DuckDuckGo::BASE_URL, WebConfig::default());
            Ok(Arc::new(WebSearchTool::new(made.map_err(|error| error.to_string())?)))
        });
        #[cfg(feature = "python")]
        registry.add("python_repl", || {
            let nowhere = NoBackend(NO_REPL.to_owned());
            Ok(PythonReplTool::new(PythonReplConfig::default(), nowhere).into_tool())
        });
        registry.register_alias("calc", "calculator");
        registry.register_alias("read_file", "file_read");
        registry.register_alias("write_file", "file_write");
        #[cfg(feature = "http")]
        registry.register_alias("http_request", "http");
        #[cfg(feature = "python")]
        registry.register_alias("python", "python_repl");
        #[cfg(feature = "search")]
        for alias in ["duckduckgo", "duckduckgo_search"] {
            registry.register_alias(alias, "web_search");
        }
        registry
    }

    /// Registers the tools that run code in the sandboxes of `pool`.
    #[cfg(feature = "docker")]
    pub fn register_sandbox(&mut self, pool: &SandboxPool) {
        let (python, shell) = (pool.clone(), pool.clone());
        self.add("sandbox_python", move || Ok(Arc::new(SandboxTool::python(python.clone()))));
        self.add("sandbox_shell", move || Ok(Arc::new(SandboxTool::shell(shell.clone()))));
    }

    /// Registers how to make the tool `name`; a name that is there already gets the new constructor in its old place.
    ///
    /// The constructor's error is a text for people.
    ///
    /// # Errors
    ///
    /// When a name is there that differs from this one in its spelling alone.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        make: impl Fn() -> Result<Arc<dyn Tool>, String> + Send + Sync + 'static,
    ) -> Result<(), NameClash> {
        let name = name.into();
        match self.entry(&name) {
            Some(entry) if entry.name != name => Err(NameClash { name, registered: entry.name.clone() }),
            _ => {
                self.add(name, make);
                Ok(())
            }
        }
    }

    /// Makes the shipped tool `name` in another way.
    pub(crate) fn configure(&mut self, name: &str, make: impl Fn() -> Made + Send + Sync + 'static) {
        self.add(name, make);
    }

    fn add(&mut self, name: impl Into<String>, make: impl Fn() -> Made + Send + Sync + 'static) {
        let entry = Entry { name: name.into(), make: Box::new(make) };
        match self.entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    /// Registers another name for `target`, which may be an alias in turn and need not be there yet.
    ///
    /// The name of a tool is never an alias, so an alias of that name has no effect.
    pub fn register_alias(&mut self, alias: impl Into<String>, target: impl Into<String>) {
        self.aliases.insert(alias, target);
    }

    /// The aliases and what each stands for, in the order of registration.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter()
    }

    /// The names of the tools, in the order of registration, without aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Tells whether a tool goes by this name or alias.
    pub fn is_builtin(&self, name: &str) -> bool {
        self.canonical_name(name).is_ok_and(|name| self.entry(name).is_some())
    }

    /// Follows aliases to the name of a tool; a name that leads nowhere comes back as the last one on the way.
    ///
    /// # Errors
    ///
    /// When aliases lead back to one another.
    pub fn canonical_name<'a>(&'a self, name: &'a str) -> Result<&'a str, AliasCycle> {
        let found = self.aliases.follow(name, |name| self.entry(name).is_some())?;
        Ok(self.entry(found).map_or(found, |entry| &entry.name))
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| name::key(&entry.name) == name::key(name))
    }
}

impl ToolSource for BuiltinRegistry {
    fn canonical_names(&self) -> Vec<&str> {
        self.names().collect()
    }

    fn canonical_name<'a>(&'a self, name: &'a str) -> Result<&'a str, AliasCycle> {
        self.canonical_name(name)
    }

    fn build(&self, canonical: &str) -> Result<SharedTool, BuildError> {
        let entry = self.entry(canonical).ok_or(BuildError::Unknown)?;
        (entry.make)().map_err(BuildError::Failed)
    }
}

impl fmt::Debug for BuiltinRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltinRegistry")
            .field("names", &self.names().collect::<Vec<_>>())
            .field("aliases", &self.aliases().collect::<Vec<_>>())
            .finish()
    }
}

/// Two names that differ in their spelling alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tool {name:?}: {registered:?} is registered, and names are compared without case: choose another name"
)]
pub struct NameClash {
    /// The new name.
    pub name: String,
    /// The name that is there.
    pub registered: String,
}
