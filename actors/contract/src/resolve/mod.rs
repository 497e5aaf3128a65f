//! From a list of names to a set of tools.

use std::collections::HashSet;

use crate::{AliasCycle, DuplicatePolicy, SharedTool, ToolSet, name};

/// Makes tools by name: a registry of tools that need nothing but their defaults.
pub trait ToolSource {
    /// The canonical names, in the order of their registration; aliases are not among them.
    fn canonical_names(&self) -> Vec<&str>;

    /// Follows aliases to the name that a tool is registered under; a name that is no alias is
    /// given back unchanged.
    ///
    /// # Errors
    /// When the aliases lead in a circle.
    fn canonical_name<'a>(&'a self, name: &'a str) -> Result<&'a str, AliasCycle>;

    /// Makes the tool registered under a canonical name.
    ///
    /// # Errors
    /// When there is none, or when it cannot be made.
    fn build(&self, canonical: &str) -> Result<SharedTool, BuildError>;
}

/// Why a name did not lead to a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Nothing is registered under this name.
    #[error("no tool has this name")]
    Unknown,
    /// The name leads back to itself.
    #[error(transparent)]
    AliasCycle(#[from] AliasCycle),
    /// The tool could not be made.
    #[error("{0}")]
    Failed(String),
}

/// Custom tools that no name asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CustomTail {
    /// They follow the named tools: names narrow the registered tools only.
    #[default]
    Append,
    /// They are left out.
    Omit,
}

/// What a list of names led to.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// The tools found, in the order of the names, then the custom ones that were not named.
    pub set: ToolSet,
    /// Names that no tool has, in the order asked for.
    pub missing: Vec<String>,
    /// Names whose tool could not be made, with the reason.
    pub failed: Vec<(String, BuildError)>,
}

impl ToolSet {
    /// Finds the tools that `names` stand for, among `custom` tools and those of `source`.
    ///
    /// Without names, every tool of the source is meant; with an empty list, none. A custom tool wins
    /// over a registered one and over an alias of its name; of two custom tools with one name the
    /// later replaces the earlier in its place. A name, or another name for the same tool, counts once.
    pub fn resolve(
        names: Option<&[&str]>,
        custom: &[SharedTool],
        source: &dyn ToolSource,
        tail: CustomTail,
    ) -> Resolved {
        let custom = Self::new().merge_with(DuplicatePolicy::LastWins, &[custom]);
        let all = source.canonical_names();
        let mut resolving = Resolving { custom: &custom, source, done: HashSet::new(), tools: Vec::new() };
        let mut out = Resolved::default();
        for &name in names.unwrap_or(&all) {
            match resolving.take(name) {
                Ok(()) => {}
                Err(BuildError::Unknown) => out.missing.push(name.to_owned()),
                Err(error) => out.failed.push((name.to_owned(), error)),
            }
        }
        let Resolving { done, mut tools, .. } = resolving;
        if tail == CustomTail::Append {
            let unnamed = |tool: &&SharedTool| !done.contains(&*name::key(&tool.spec().name));
            tools.extend(custom.tools().iter().filter(unnamed).cloned());
        }
        out.set = Self::from_tools(tools);
        out
    }
}

struct Resolving<'a> {
    custom: &'a ToolSet,
    source: &'a dyn ToolSource,
    done: HashSet<String>,
    tools: Vec<SharedTool>,
}

impl Resolving<'_> {
    fn take(&mut self, name: &str) -> Result<(), BuildError> {
        // The name as asked for comes before its aliases: an alias must not hide a custom tool.
        if self.custom.get(name).is_some() {
            return self.take_canonical(name);
        }
        let canonical = self.source.canonical_name(name)?;
        self.take_canonical(canonical)
    }

    fn take_canonical(&mut self, canonical: &str) -> Result<(), BuildError> {
        let key = name::key(canonical);
        if !self.done.insert(key.to_string()) {
            return Ok(());
        }
        self.tools.push(match self.custom.get(&key) {
            Some(tool) => tool.clone(),
            None => self.source.build(canonical)?,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
