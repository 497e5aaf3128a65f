//! The engine under the names that tool managers have: life cycle, listing, calling, changing tools.

use toolyard_actors::{CatalogChange, CatalogError, EngineError, ExecuteOptions};
use toolyard_contract::{FunctionSchema, IntoTool, ToolCall, ToolResult};

use crate::{Engine, IntoCalls, Refresh};

/// An engine as a manager of tools.
impl Engine {
    /// Gets the providers ready that are not, and takes their tools; connects to the MCP servers that are not connected,
    /// and waits for their tools. Its other tools an engine has from the beginning; processes, sessions and containers
    /// begin with the calls that need them.
    ///
    /// Providers have 30 s each, MCP servers their connect timeout. One that fails takes nothing from the others, and
    /// may be tried again by calling this again.
    ///
    /// # Errors
    /// When the engine has stopped.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the work on the providers.
    pub async fn start(&self) -> Result<Refresh, EngineError> {
        let (providers, yard) = (self.providers().clone(), self.yard().clone());
        self.yard().drive(async move { providers.begin(&yard).await }).await?
    }

    /// Asks the providers that are ready for the tools that they have now. Lists under way keep the
    /// tools that they started with; a provider that fails keeps those that it gave last.
    ///
    /// # Errors
    /// When the engine has stopped.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the work.
    pub async fn refresh(&self) -> Result<Refresh, EngineError> {
        let (providers, yard) = (self.providers().clone(), self.yard().clone());
        self.yard().drive(async move { providers.refresh(&yard, false).await }).await?
    }

    /// Takes the providers' tools out of the catalogue and closes the providers; disconnects the MCP servers; ends the
    /// processes of Python files (and their global variables with them), Python sessions, and containers. Committed
    /// states stay.
    ///
    /// The engine goes on with its own tools: a call begins what it needs anew. [`start`](Self::start) brings the
    /// providers' tools back; [`shutdown`](Self::shutdown) is the end.
    ///
    /// What calls under way use goes when they have ended: those of MCP servers have the servers'
    /// time for that (`drain`), those of providers end as the providers end them.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn stop(&self) -> Result<Refresh, EngineError> {
        let (providers, yard) = (self.providers().clone(), self.yard().clone());
        let stopping = async move {
            let closed = providers.close(&yard).await;
            yard.release().await;
            closed
        };
        self.yard().drive(stopping).await?
    }

    /// Begins anew: [stops](Self::stop), forgets all states of all tools, and [starts](Self::start). Tools that were
    /// added stay.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn reset(&self) -> Result<Refresh, EngineError> {
        self.stop().await?;
        self.yard().forget_states();
        self.start().await
    }

    /// The schemas of the tools that are switched on, in the order of registration.
    pub fn list_tools(&self) -> Vec<FunctionSchema> {
        self.active_specs().iter().map(toolyard_contract::ToolSpec::to_schema).collect()
    }

    /// The schemas of the named tools, whether they are switched on or not, in the order asked for.
    ///
    /// # Errors
    /// When a name is not a tool's.
    pub fn find_tools<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<FunctionSchema>, CatalogError> {
        let catalog = self.yard().catalog();
        let find = |name: &'a str| match catalog.get(name) {
            Some(entry) => Ok(entry.spec().to_schema()),
            None => Err(CatalogError::Unknown { name: name.to_owned() }),
        };
        names.into_iter().map(find).collect()
    }

    /// Runs a list and gives its results, in the calls' order: [`execute`](Self::execute) for those
    /// who need no report.
    ///
    /// # Errors
    /// When the list was not taken at all; nothing of it ran.
    pub async fn call_tools(
        &self,
        calls: impl IntoCalls,
        options: ExecuteOptions,
    ) -> Result<Vec<ToolResult>, EngineError> {
        Ok(self.execute(calls, options).await?.results)
    }

    /// Runs one call and gives its result, also that of a name that no tool has.
    ///
    /// # Errors
    /// When the call was not taken at all; nothing ran.
    pub async fn execute_one(
        &self,
        call: ToolCall,
        options: ExecuteOptions,
    ) -> Result<ToolResult, EngineError> {
        let mut results = self.call_tools(vec![call], options).await?;
        // A list has one result for each call.
        results.pop().ok_or(EngineError::Stopped)
    }

    /// Adds tools; one whose name is there takes the old one's place.
    ///
    /// # Errors
    /// When a name is there in another spelling, or a schema cannot be used: then nothing changes.
    pub async fn add_tools(&self, tools: impl IntoIterator<Item = impl IntoTool>) -> Result<(), EngineError> {
        self.change_tools(tools.into_iter().map(|tool| CatalogChange::Put(tool.into_tool())).collect()).await
    }

    /// Replaces tools that are there.
    ///
    /// # Errors
    /// When a name is not there, or a schema cannot be used: then nothing changes.
    pub async fn update_tools(
        &self,
        tools: impl IntoIterator<Item = impl IntoTool>,
    ) -> Result<(), EngineError> {
        self.change_tools(tools.into_iter().map(|tool| CatalogChange::Replace(tool.into_tool())).collect())
            .await
    }

    /// Takes tools out. Lists under way keep them to their end.
    ///
    /// # Errors
    /// When a name is not there: then nothing changes.
    pub async fn delete_tools<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), EngineError> {
        let remove = |name: &'a str| CatalogChange::Remove(name.to_owned());
        self.change_tools(names.into_iter().map(remove).collect()).await
    }
}
