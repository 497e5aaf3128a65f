//! The tools' states, seen from outside: one row, a tool, everything.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_contract::{RowKey, RowValue, StateScope};

use super::Yard;
use crate::{
    rows::RowTable,
    state::{GetRow, RowError, StateActor, UpdateRow},
    supervisor::{
        catalog::{Catalog, Entry},
        published::Current,
        route::Routes,
    },
};

/// All rows of one tool, written as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolRows {
    /// The tool.
    pub tool: String,
    /// Its rows, ordered by agent within each arbiter's part.
    pub rows: Vec<RowValue>,
}

/// A state that cannot be read or replaced.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// No tool has this name.
    #[error("{0}")]
    UnknownTool(String),
    /// The tool keeps no state.
    #[error("tool {tool:?} keeps no state")]
    NoState {
        /// The tool.
        tool: String,
    },
    /// A value is not a state of the tool.
    #[error("tool {tool:?}: {reason}")]
    BadRow {
        /// The tool.
        tool: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// The states of the tool were saved with another type.
    #[error(
        "tool {tool:?}: its states were saved with the type {saved:?}, but the tool expects {expected:?}; load them \
         with the tool that saved them, or leave its rows out"
    )]
    OtherType {
        /// The tool.
        tool: String,
        /// What the type is called where they were saved.
        saved: String,
        /// What the tool calls its type.
        expected: String,
    },
    /// The engine has stopped, and its states are gone.
    #[error("the engine has stopped: its states are gone")]
    Stopped,
    /// The engine has stopped, or the actor of the rows has just died.
    #[error("tool {tool:?}: the actor of its state does not answer")]
    NoAnswer {
        /// The tool.
        tool: String,
    },
}

impl Yard {
    /// Gives the committed state of one row; `None` when it was never used.
    ///
    /// # Errors
    /// When there is no such tool or it keeps no state.
    pub async fn state(&self, tool: &str, agent: Option<&str>) -> Result<Option<Box<RawValue>>, StateError> {
        let Current { catalog, routes } = self.shared.published.current();
        let owner = Owner::find(&catalog, tool)?;
        let key = owner.key(agent);
        owner.ask(&routes, &key, GetRow(key.clone())).await?.map_err(|error| owner.bad(&error))
    }

    /// Replaces the state of one row. A call that works on a copy of it ends `lost`.
    ///
    /// # Errors
    /// When there is no such tool, it keeps no state, or the value is not a state of it.
    pub async fn set_state(
        &self,
        tool: &str,
        agent: Option<&str>,
        state: Box<RawValue>,
    ) -> Result<(), StateError> {
        let Current { catalog, routes } = self.shared.published.current();
        let owner = Owner::find(&catalog, tool)?;
        let key = owner.key(agent);
        let row = RowValue { agent: key.agent().map(Arc::from), state };
        self.shared.activity.seen(row.agent.clone());
        owner.ask(&routes, &key, UpdateRow(row)).await?.map_err(|error| owner.bad(&error))
    }

    /// The names of the tools that keep state.
    pub fn stateful_tools(&self) -> Vec<String> {
        let catalog = self.catalog();
        let owners = catalog.entries().iter().filter_map(|entry| Owner::new(entry));
        owners.map(|owner| owner.entry.spec().name.clone()).collect()
    }

    /// Gives all rows of one tool, or of every tool that keeps state, as they were at one moment.
    ///
    /// # Errors
    /// When the named tool is not there or keeps no state, or the engine has stopped.
    #[allow(clippy::unused_async)] // part of the interface: rows may be elsewhere one day
    pub async fn snapshot(&self, tool: Option<&str>) -> Result<Vec<ToolRows>, StateError> {
        let cut = self.cut(tool)?;
        let mut tools: Vec<_> =
            cut.tools().iter().map(|tool| ToolRows { tool: tool.clone(), rows: Vec::new() }).collect();
        let mut at = 0;
        for row in cut {
            let (tool, row) = row?;
            while tools[at].tool != tool {
                at += 1;
            }
            tools[at].rows.push(row);
        }
        Ok(tools)
    }

    /// Replaces all rows of the tools that are given; other tools keep theirs. Gives the names of
    /// tools that are not there or keep no state, whose rows are passed over.
    ///
    /// # Errors
    /// When one value is not a state of its tool: then nothing is replaced.
    #[allow(clippy::unused_async)] // as with `snapshot`
    pub async fn load(&self, tools: Vec<ToolRows>) -> Result<Vec<String>, StateError> {
        let mut staging = self.stage();
        for ToolRows { tool, rows } in tools {
            if staging.tool(&tool) {
                rows.iter().try_for_each(|row| staging.put(&tool, row))?;
            }
        }
        let unknown = staging.unknown().map(str::to_owned).collect();
        self.adopt(staging);
        Ok(unknown)
    }
}

/// A tool that keeps state.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) entry: &'a Entry,
    pub(super) rows: &'a RowTable,
}

impl<'a> Owner<'a> {
    pub(super) fn new(entry: &'a Entry) -> Option<Self> {
        Some(Self { entry, rows: entry.rows()? })
    }

    /// What the type of its state is called.
    pub(super) fn state_type(&self) -> Option<Arc<str>> {
        self.entry.tool().state()?.state_type
    }

    pub(super) fn find(catalog: &'a Catalog, tool: &str) -> Result<Self, StateError> {
        let unknown = || StateError::UnknownTool(catalog.unknown(tool, |_| true));
        let entry = catalog.get(tool).ok_or_else(unknown)?;
        Self::new(entry).ok_or_else(|| StateError::NoState { tool: entry.spec().name.clone() })
    }

    fn key(&self, agent: Option<&str>) -> RowKey {
        match (self.rows.scope(), agent) {
            (StateScope::Agent, Some(agent)) => RowKey::Agent(agent.into()),
            _ => RowKey::Engine,
        }
    }

    /// Asks the actor of a row.
    async fn ask<M>(&self, routes: &Routes, key: &RowKey, message: M) -> Result<M::Result, StateError>
    where
        StateActor: actix::Handler<M>,
        M: actix::Message + Send + 'static,
        M::Result: Send,
    {
        let no_answer = || StateError::NoAnswer { tool: self.entry.spec().name.clone() };
        let home = routes.of(self.entry).and_then(|route| route.owner(key)).ok_or_else(no_answer)?;
        home.readiness(); // replaces an actor that died
        home.addr().send(message).await.map_err(|_| no_answer())
    }

    pub(super) fn bad(&self, error: &RowError) -> StateError {
        StateError::BadRow { tool: self.entry.spec().name.clone(), reason: error.to_string() }
    }
}
