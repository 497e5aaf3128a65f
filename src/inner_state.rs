//! The tools' states, and how their actors fare.

use serde_json::value::RawValue;
use toolyard_actors::{Health, StateError, ToolRows};

use crate::Engine;

/// State of tools, seen from outside their calls.
impl Engine {
    /// Gives the committed state of a tool for an agent (or for the whole engine); `None` when it
    /// was never used.
    ///
    /// # Errors
    /// When there is no such tool or it keeps no state.
    pub async fn state(&self, tool: &str, agent: Option<&str>) -> Result<Option<Box<RawValue>>, StateError> {
        self.yard().state(tool, agent).await
    }

    /// Replaces the state of a tool for an agent. A call that is under way on it ends `lost`.
    ///
    /// # Errors
    /// When there is no such tool, it keeps no state, or the value is not a state of it.
    pub async fn set_state(
        &self,
        tool: &str,
        agent: Option<&str>,
        state: Box<RawValue>,
    ) -> Result<(), StateError> {
        self.yard().set_state(tool, agent, state).await
    }

    /// Gives all states of one tool, or of every tool that keeps state, as they were at one moment: for all tools,
    /// agents and arbiters between the same two commits. Calls go on meanwhile.
    ///
    /// # Errors
    /// When the named tool is not there or keeps no state.
    pub async fn snapshot(&self, tool: Option<&str>) -> Result<Vec<ToolRows>, StateError> {
        self.yard().snapshot(tool).await
    }

    /// Replaces all states of the tools that are given, at one moment; gives the names of tools that are not there,
    /// whose states are passed over.
    ///
    /// # Errors
    /// When one value is not a state of its tool: then nothing is replaced.
    pub async fn load(&self, tools: Vec<ToolRows>) -> Result<Vec<String>, StateError> {
        self.yard().load(tools).await
    }

    /// How a tool's actors have fared: deaths by reason, replacements. `None`: no such tool.
    pub fn health(&self, tool: &str) -> Option<Health> {
        self.yard().health(tool)
    }

    /// Makes the actor behind a tool panic, to see how a host lives with that; tells whether there
    /// is such a tool.
    pub fn crash(&self, tool: &str, agent: Option<&str>) -> bool {
        self.yard().crash(tool, agent)
    }
}
