//! States on their way in and out as streams of rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolyard_contract::{RowValue, Shard, StateScope};

use super::{
    Yard,
    state::{Owner, StateError},
};
use crate::{
    state::{Adopt, ForgetRows, RowSink, StreamRows},
    supervisor::catalog::Catalog,
};

impl Yard {
    /// Hands every row of every tool that keeps state to a sink, with the tool's name, tool by tool
    /// and shard by shard. Each shard's rows existed together between two commits; it serves nobody
    /// while the sink takes them.
    ///
    /// # Errors
    /// When a state cannot be written as JSON, or the sink fails.
    pub async fn stream_rows<S>(&self, sink: S) -> Result<(), StateError>
    where
        S: Fn(&str, RowValue) -> serde_json::Result<()> + Clone + Send + 'static,
    {
        let catalog = self.catalog();
        for owner in catalog.entries().iter().filter_map(|entry| Owner::new(entry)) {
            for home in owner.shards {
                let (sink, tool) = (sink.clone(), owner.entry.spec().name.clone());
                let rows: RowSink = Box::new(move |row| sink(&tool, row));
                owner.ask(home, StreamRows(rows)).await?.map_err(|error| owner.bad(&error))?;
            }
        }
        Ok(())
    }

    /// Begins to collect rows that shall replace those of their tools.
    pub fn stage(&self) -> Staging {
        Staging { catalog: self.catalog(), tools: BTreeMap::new(), unknown: BTreeSet::new() }
    }

    /// Replaces all rows of the tools of which rows were collected; other tools keep theirs. Calls
    /// that work on copies of replaced rows end `lost`.
    ///
    /// # Errors
    /// When the actor of a tool's state does not answer.
    pub async fn adopt(&self, staging: Staging) -> Result<(), StateError> {
        for (place, shards) in staging.tools {
            let Some(owner) = staging.catalog.entries().get(place).and_then(|entry| Owner::new(entry)) else {
                continue;
            };
            for (home, shard) in owner.shards.iter().zip(shards) {
                owner.ask(home, Adopt(shard)).await?;
            }
        }
        Ok(())
    }

    /// Forgets every row of every tool.
    ///
    /// # Errors
    /// When the actor of a tool's state does not answer.
    pub async fn forget_states(&self) -> Result<(), StateError> {
        let catalog = self.catalog();
        for owner in catalog.entries().iter().filter_map(|entry| Owner::new(entry)) {
            for home in owner.shards {
                owner.ask(home, ForgetRows).await?;
            }
        }
        Ok(())
    }
}

/// Rows that were collected, and the tools that have none for them.
pub struct Staging {
    catalog: Arc<Catalog>,
    /// By the tool's place in the catalogue; parallel to the tool's shards.
    tools: BTreeMap<usize, Vec<Box<dyn Shard>>>,
    unknown: BTreeSet<String>,
}

impl Staging {
    /// Begins with the rows of a tool, of which there may be none: then it keeps none. Tells whether
    /// there is such a tool and it keeps state; if not, that is noted.
    pub fn tool(&mut self, tool: &str) -> bool {
        self.shards(tool).is_some()
    }

    /// Takes one row. One of a tool that is not there or keeps no state is passed over and noted.
    ///
    /// # Errors
    /// When the value is not a state of the tool, or the row was there before.
    pub fn put(&mut self, tool: &str, row: &RowValue) -> Result<(), StateError> {
        let Some((owner, shards)) = self.shards(tool) else { return Ok(()) };
        let key = row.key();
        let reason = if let (StateScope::Engine, Some(agent)) = (owner.scope, key.agent()) {
            format!("it has one row for the whole engine, and none for agent {agent:?}")
        } else {
            let shard = &mut shards[owner.place_of(&key)];
            match (shard.contains(&key), key.agent()) {
                (true, Some(agent)) => format!("the row of agent {agent:?} is there twice"),
                (true, None) => "the row of the whole engine is there twice".to_owned(),
                (false, _) => match shard.put(row) {
                    Ok(()) => return Ok(()),
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
            empty.take(owner.shards.len()).collect()
        });
        (shards.len() == owner.shards.len()).then_some((owner, shards))
    }
}
