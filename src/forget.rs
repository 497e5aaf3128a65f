//! Forgetting agents that are gone.

use toolyard_actors::{AgentTables, ForgetError, Forgotten};

use crate::{Attached, Engine};

/// Agents that are gone.
impl Engine {
    /// Forgets an agent: its rows, what was approved for its session, its limits, and its sessions and connections
    /// (`python_repl`, sandboxes, isolated MCP servers). A rate goes when it has recovered, so that being forgotten is no
    /// way around it. The agent's next list finds what that of an unknown agent would; one that comes meanwhile waits.
    ///
    /// [`EngineBuilder::forget_idle_agents`](crate::EngineBuilder::forget_idle_agents) does it by itself.
    ///
    /// ```
    /// # use toolyard::{Engine, ForgetError};
    /// # async fn run(engine: Engine) {
    /// match engine.forget("agent-7").await {
    ///     Ok(forgotten) => println!("{} rows are gone", forgotten.rows),
    ///     Err(ForgetError::InUse { .. }) => println!("its calls are under way"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// When calls of the agent are under way, or the engine has stopped; then nothing is forgotten.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the work.
    pub async fn forget(&self, agent: &str) -> Result<Forgotten, ForgetError> {
        self.yard().forget(agent).await
    }

    /// Counts what there is because of agents.
    pub fn agent_tables(&self) -> AgentTables {
        self.yard().agent_tables()
    }
}

/// Agents that are gone.
impl Attached {
    /// Forgets an agent: as [`Engine::forget`].
    ///
    /// # Errors
    /// As [`Engine::forget`].
    pub async fn forget(&self, agent: &str) -> Result<Forgotten, ForgetError> {
        self.yard().forget(agent).await
    }

    /// Counts what there is because of agents.
    pub fn agent_tables(&self) -> AgentTables {
        self.yard().agent_tables()
    }
}
