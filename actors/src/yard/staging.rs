//! States on their way in and out as streams of rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolyard_contract::{RowValue, Shard, StateScope};

use super::{
    Yard,
    cut::StateCut,
    state::{Owner, StateError},
};
use crate::{
    rows::{RowTable, SharedShard, hold_all},
    supervisor::catalog::Catalog,
};

impl Yard {
    /// Cuts through the rows of one tool, or of every tool that keeps state: as they are between the same two
    /// commits, over all shards and all tools. Calls go on meanwhile.
    ///
    /// # Errors
    /// When the named tool is not there or keeps no state, or the engine has stopped.
    pub fn cut(&self, tool: Option<&str>) -> Result<StateCut, StateError> {
        let catalog = self.catalog();
        if self.is_closed() && catalog.entries().is_empty() {
            return Err(StateError::Stopped);
        }
        let owners = match tool {
            Some(tool) => vec![Owner::find(&catalog, tool)?],
            None => catalog.entries().iter().filter_map(|entry| Owner::new(entry)).collect(),
        };
        let types =
            owners.iter().filter_map(|owner| Some((owner.entry.spec().name.clone(), owner.state_type()?)));
        let types = types.collect();
        let named = |owner: Owner<'_>| (owner.entry.spec().name.clone(), owner.rows.clone());
        Ok(StateCut::take(owners.into_iter().map(named), types))
    }

    /// Begins to collect rows that shall replace those of their tools.
    pub fn stage(&self) -> Staging {
        Staging {
            catalog: self.catalog(),
            tools: BTreeMap::new(),
            unknown: BTreeSet::new(),
            agents: BTreeSet::new(),
            notes_agents: self.shared.activity.remembers(),
        }
    }

    /// Replaces all rows of the tools of which rows were collected, at one moment; other tools keep theirs. Calls
    /// that work on copies of replaced rows end `lost`.
    pub fn adopt(&self, staging: Staging) {
        let owners = staging.tools.into_iter().filter_map(|(place, shards)| {
            let owner = staging.catalog.entries().get(place).and_then(|entry| Owner::new(entry))?;
            Some((owner.rows.clone(), shards))
        });
        let (tables, shards): (Vec<_>, Vec<_>) = owners.unzip();
        self.shared.activity.seen(staging.agents);
        let old: Vec<SharedShard> = tables.iter().flat_map(RowTable::shards).cloned().collect();
        let replaced: Vec<_> = hold_all(&old, |old| {
            old.zip(shards.into_iter().flatten()).map(|(old, new)| old.adopt(new)).collect()
        });
        drop(replaced); // a million rows take a while: nobody waits for that
    }

    /// Forgets every row of every tool, at one moment.
    pub fn forget_states(&self) {
        let catalog = self.catalog();
        let owners = catalog.entries().iter().filter_map(|entry| Owner::new(entry));
        let shards: Vec<SharedShard> = owners.flat_map(|owner| owner.rows.shards()).cloned().collect();
        hold_all(&shards, |shards| shards.for_each(|shard| shard.clear()));
    }
}

/// Rows that were collected, and the tools that have none for them.
pub struct Staging {
    catalog: Arc<Catalog>,
    /// By the tool's place in the catalogue; parallel to the tool's shards.
    tools: BTreeMap<usize, Vec<Box<dyn Shard>>>,
    unknown: BTreeSet<String>,
    /// Whose rows they are, where idle agents are forgotten.
    agents: BTreeSet<Arc<str>>,
    notes_agents: bool,
}

impl Staging {
    /// Begins with the rows of a tool, of which there may be none: then it keeps none. Tells whether
    /// there is such a tool and it keeps state; if not, that is noted.
    pub fn tool(&mut self, tool: &str) -> bool {
        self.shards(tool).is_some()
    }

    /// Checks that a tool's states are of the type that rows of it were saved with. A tool that does not say what
    /// its type is called takes any.
    ///
    /// # Errors
    /// When it is another type.
    pub fn check_type(&self, tool: &str, saved: &str) -> Result<(), StateError> {
        let entry = self.catalog.place_of(tool).map(|place| &self.catalog.entries()[place]);
        match entry.and_then(|entry| Owner::new(entry)).and_then(|owner| owner.state_type()) {
            Some(expected) if *expected != *saved => Err(StateError::OtherType {
                tool: tool.to_owned(),
                saved: saved.to_owned(),
                expected: expected.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Takes one row. One of a tool that is not there or keeps no state is passed over and noted.
    ///
    /// # Errors
    /// When the value is not a state of the tool, or the row was there before.
    pub fn put(&mut self, tool: &str, row: &RowValue) -> Result<(), StateError> {
        let Some((owner, shards)) = self.shards(tool) else { return Ok(()) };
        let key = row.key();
        let reason = if let (StateScope::Engine, Some(agent)) = (owner.rows.scope(), key.agent()) {
            format!("it has one row for the whole engine, and none for agent {agent:?}")
        } else {
            let shard = &mut shards[owner.rows.place_of(&key)];
            match (shard.contains(&key), key.agent()) {
                (true, Some(agent)) => format!("the row of agent {agent:?} is there twice"),
                (true, None) => "the row of the whole engine is there twice".to_owned(),
                (false, _) => match shard.put(row) {
                    Ok(()) => {
                        self.agents.extend(row.agent.clone().filter(|_| self.notes_agents));
                        return Ok(());
                    }
                    Err(error) => match key.agent() {
                        Some(agent) => format!("the row of agent {agent:?}: {error}"),
                        None => error.to_string(),
                    },
                },
            }
        };
        Err(StateError::BadRow { tool: tool.to_owned(), reason })
    }

    /// The names of rows' tools that are not there or keep no state.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(String::as_str)
    }

    /// The shards in the making of a tool's rows.
    fn shards(&mut self, tool: &str) -> Option<(Owner<'_>, &mut Vec<Box<dyn Shard>>)> {
        let place = self.catalog.place_of(tool);
        let owner = place.and_then(|place| Owner::new(&self.catalog.entries()[place]));
        let (Some(place), Some(owner)) = (place, owner) else {
            self.unknown.insert(tool.to_owned());
            return None;
        };
        let shards = self.tools.entry(place).or_insert_with(|| {
            let empty =
                std::iter::repeat_with(|| owner.entry.tool().state()).map_while(|part| Some(part?.shard));
            empty.take(owner.rows.shards().len()).collect()
        });
        (shards.len() == owner.rows.shards().len()).then_some((owner, shards))
    }
}
