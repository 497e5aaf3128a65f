mod resolution;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt, sync::Arc};

use toolyard_contract::{Tool, name};

use super::{
    calculator::CalculatorTool,
    file::{FileReadTool, FileRoot, FileWriteTool},
};

use resolution::CustomTools;
pub use resolution::{CustomTail, FailedTool, Resolution};

type Made = Result<Arc<dyn Tool>, String>;
type Constructor = Box<dyn Fn() -> Made + Send + Sync>;

/// The tools that can be had by name, and the other names that they go by.
///
/// Names are compared by [`name::key`]: trimmed, in any case. A tool is made when a list of names asks for it.
///
/// ```
/// # let folder = std::env::temp_dir();
/// use toolyard::builtin::{BuiltinRegistry, CustomTail, file::FileRoot};
///
/// let registry = BuiltinRegistry::shipped(&FileRoot::open(folder)?);
/// let resolution = registry.resolve(["calc", "no_such_tool"], [], CustomTail::Append);
/// assert_eq!(resolution.tools[0].spec().name, "calculator");
/// assert_eq!(resolution.missing, ["no_such_tool"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct BuiltinRegistry {
    /// In the order of registration.
    entries: Vec<Entry>,
    /// In the order of registration.
    aliases: Vec<Alias>,
}

struct Entry {
    name: String,
    make: Constructor,
}

struct Alias {
    name: String,
    target: String,
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
        registry.register_alias("calc", "calculator");
        registry.register_alias("read_file", "file_read");
        registry.register_alias("write_file", "file_write");
        registry
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
        let alias = Alias { name: alias.into(), target: target.into() };
        match self.aliases.iter_mut().find(|known| name::key(&known.name) == name::key(&alias.name)) {
            Some(known) => *known = alias,
            None => self.aliases.push(alias),
        }
    }

    /// The aliases and what each stands for, in the order of registration.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|alias| (alias.name.as_str(), alias.target.as_str()))
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
    pub fn canonical_name<'n>(&'n self, name: &'n str) -> Result<&'n str, AliasCycle> {
        let mut current = name;
        for _ in 0..=self.aliases.len() {
            if let Some(entry) = self.entry(current) {
                return Ok(&entry.name);
            }
            match self.aliases.iter().find(|alias| name::key(&alias.name) == name::key(current)) {
                Some(alias) => current = &alias.target,
                None => return Ok(current),
            }
        }
        Err(AliasCycle { name: name.to_owned() })
    }

    /// Makes the tools that `names` asks for, in that order and each once, and says which cannot be had.
    ///
    /// A custom tool wins over a shipped one and over an alias of its name; of two with one name the later wins, in
    /// the place of the earlier.
    pub fn resolve<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        custom: impl IntoIterator<Item = Arc<dyn Tool>>,
        tail: CustomTail,
    ) -> Resolution {
        let custom = CustomTools::new(custom);
        let mut resolution = Resolution::default();
        let mut taken = HashSet::new();
        for wanted in names {
            let wanted = wanted.as_ref();
            let name = if custom.get(wanted).is_some() { Ok(wanted) } else { self.canonical_name(wanted) };
            let made = match name {
                Ok(name) if !taken.insert(name::key(name).into_owned()) => continue,
                Ok(name) => custom.get(name).cloned().map(Ok).or_else(|| self.make(name)),
                Err(cycle) => Some(Err(cycle.to_string())),
            };
            match made {
                Some(Ok(tool)) => resolution.tools.push(tool),
                Some(Err(reason)) => resolution.failed.push(FailedTool { name: wanted.to_owned(), reason }),
                None => resolution.missing.push(wanted.to_owned()),
            }
        }
        if tail == CustomTail::Append {
            let unnamed = |tool: &Arc<dyn Tool>| taken.insert(name::key(&tool.spec().name).into_owned());
            resolution.tools.extend(custom.tools.into_iter().filter(unnamed));
        }
        resolution
    }

    /// Makes every tool of the registry, and appends the custom ones.
    pub fn resolve_all(&self, custom: impl IntoIterator<Item = Arc<dyn Tool>>) -> Resolution {
        self.resolve(self.names(), custom, CustomTail::Append)
    }

    fn make(&self, name: &str) -> Option<Made> {
        self.entry(name).map(|entry| (entry.make)())
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| name::key(&entry.name) == name::key(name))
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

/// Aliases that lead back to one another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("alias {name:?} leads back to itself: let one of its aliases name a tool")]
pub struct AliasCycle {
    /// The name that was asked for.
    pub name: String,
}
