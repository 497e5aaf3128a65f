//! One set of tools in the place of another, where some may be refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolyard_contract::{SharedTool, name};

use super::host::HostHandle;
use crate::messages::{CatalogChange, EngineError};

/// What an extension has in the catalogue, by the keys of the names. Begin with an empty one.
#[derive(Clone, Default)]
pub struct Offered(BTreeMap<String, SharedTool>);

impl Offered {
    /// The tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &SharedTool> {
        self.0.values()
    }

    /// The tool with this name, compared as the engine does.
    pub fn get(&self, name: &str) -> Option<&SharedTool> {
        self.0.get(&*name::key(name))
    }
}

impl std::fmt::Debug for Offered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools().map(|tool| &tool.spec().name)).finish()
    }
}

/// A tool that did not get into the catalogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// Why.
    pub error: EngineError,
}

impl HostHandle {
    /// Makes the catalogue have exactly `tools` of those that the extension offers, in the place of what it `offered`
    /// before: one change, or, where a tool is refused, one for each tool, so that it keeps no other out. A tool that is
    /// the same (the same [`Arc`]) is let alone. Gives what was refused; of such a name, what was there before stays.
    ///
    /// # Cancellation
    /// Dropping the future may leave some changes made of which `offered` knows nothing.
    pub async fn publish(&self, offered: &mut Offered, tools: Vec<SharedTool>) -> Vec<Refused> {
        let changes = changes(offered, &tools);
        if changes.is_empty() {
            return Vec::new();
        }
        if self.change_catalog(changes.clone()).await.is_ok() {
            offered.0 = tools.into_iter().map(keyed).collect();
            return Vec::new();
        }
        let mut refused = Vec::new();
        for change in changes {
            let name = match &change {
                CatalogChange::Add(tool) | CatalogChange::Replace(tool) => tool.spec().name.clone(),
                CatalogChange::Remove(name) => name.clone(),
                _ => continue,
            };
            match (self.change_catalog(vec![change.clone()]).await, change) {
                (Ok(()), CatalogChange::Add(tool) | CatalogChange::Replace(tool)) => {
                    offered.0.extend([keyed(tool)]);
                }
                // What somebody else has taken out is not there any more.
                (Ok(()), _) | (Err(_), CatalogChange::Remove(_)) => {
                    offered.0.remove(&*name::key(&name));
                }
                (Err(error), _) => refused.push(Refused { name, error }),
            }
        }
        refused
    }
}

/// What goes comes first, so that its name is free for what is new.
fn changes(offered: &Offered, tools: &[SharedTool]) -> Vec<CatalogChange> {
    let (mut seen, mut new) = (BTreeSet::new(), Vec::new());
    for tool in tools {
        let key = key(tool);
        let before = offered.0.get(&key);
        match before {
            // Of two with one name, the catalogue refuses the second.
            _ if !seen.insert(key) => new.push(CatalogChange::Add(tool.clone())),
            Some(before) if Arc::ptr_eq(before, tool) => {}
            Some(_) => new.push(CatalogChange::Replace(tool.clone())),
            None => new.push(CatalogChange::Add(tool.clone())),
        }
    }
    let gone = offered.0.iter().filter(|(key, _)| !seen.contains(*key));
    let gone = gone.map(|(_, tool)| CatalogChange::Remove(tool.spec().name.clone()));
    gone.chain(new).collect()
}

fn keyed(tool: SharedTool) -> (String, SharedTool) {
    (key(&tool), tool)
}

fn key(tool: &SharedTool) -> String {
    name::key(&tool.spec().name).into_owned()
}
