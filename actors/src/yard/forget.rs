//! Forgetting agents that are gone.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::time::{sleep, timeout};
use toolyard_contract::{RowKey, StateScope};

use super::Yard;
use crate::{
    activity::Leaving,
    rows::RowTable,
    supervisor::{Shared, catalog::Entry},
};

/// How long sessions and connections of an agent may take to end before nobody waits for that any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an engine had of an agent that it has forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forgotten {
    /// Rows of tools that keep a state for each agent.
    pub rows: usize,
    /// What people had approved for the agent's session.
    pub grants: usize,
}

/// An agent that cannot be forgotten; nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// Its calls are under way, or somebody else is forgetting it.
    #[error("agent {agent:?} has calls under way: it can be forgotten when they have ended")]
    InUse {
        /// The agent.
        agent: String,
    },
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

/// How many entries an engine's tables have because of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentTables {
    /// Agents with lists under way, and with [`forget_idle_agents`](crate::YardConfig::forget_idle_agents) those that
    /// were seen and not forgotten yet.
    pub agents: usize,
    /// Rows of tools that keep a state for each agent.
    pub rows: usize,
    /// Limits of agents on what they have under way.
    pub limits: usize,
    /// Rates of agents that may not have recovered yet.
    pub rates: usize,
    /// What people have approved for the sessions of agents.
    pub grants: usize,
}

impl Yard {
    /// Forgets an agent: its rows, what was approved for its session, its limits, and its sessions and connections.
    /// A rate goes when it has recovered, so that being forgotten is no way around it. What the agent's next list finds
    /// is what an unknown agent's would; a list that comes meanwhile waits.
    ///
    /// Calls that were answered while a thread of theirs could not be stopped keep nobody; what they bring is not
    /// committed. Suspended lists of the agent whose tools had a row are refused when they are resumed.
    ///
    /// # Errors
    /// When calls of the agent are under way, or the engine has stopped; then nothing is forgotten.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the work.
    pub async fn forget(&self, agent: &str) -> Result<Forgotten, ForgetError> {
        let in_use = || ForgetError::InUse { agent: agent.to_owned() };
        let leaving = self.shared.activity.leave(agent).ok_or_else(in_use)?;
        let (shared, agent) = (self.shared.clone(), agent.to_owned());
        let work = async move { shared.forget(&agent, leaving).await };
        self.drive(work).await.map_err(|_| ForgetError::Stopped)
    }

    /// Counts what there is because of agents.
    pub fn agent_tables(&self) -> AgentTables {
        let shared = &self.shared;
        let catalog = shared.published.catalog();
        let rows = catalog.entries().iter().filter_map(|entry| agent_rows(entry));
        let known = shared.common.admissions.iter().map(|admission| admission.known_agents());
        AgentTables {
            agents: shared.activity.len(),
            rows: rows.flat_map(RowTable::shards).map(|shard| shard.lock().len()).sum(),
            limits: known.clone().map(|(limits, _)| limits).sum(),
            rates: known.map(|(_, rates)| rates).max().unwrap_or(0),
            grants: shared.common.permissions.grants(),
        }
    }

    /// Begins to forget agents that have had no list for so long.
    pub(super) fn forget_idle(&self, age: Duration) {
        let shared = Arc::downgrade(&self.shared);
        if let Some(first) = self.shared.placement.lock().arbiters().next() {
            first.spawn(watch(shared, age));
        }
    }
}

/// Forgets who is idle, until the engine stops.
async fn watch(shared: Weak<Shared>, age: Duration) {
    const OFTEN: Duration = Duration::from_millis(10);
    const SELDOM: Duration = Duration::from_mins(1);
    loop {
        sleep(age.checked_div(4).unwrap_or(age).clamp(OFTEN, SELDOM)).await;
        let Some(shared) = shared.upgrade() else { return };
        if shared.gone.is_cancelled() {
            return;
        }
        for agent in shared.activity.idle_for(age) {
            // Whoever has come back meanwhile stays.
            if let Some(leaving) = shared.activity.leave(&agent) {
                shared.forget(&agent, leaving).await;
            }
        }
        shared.common.admissions.iter().for_each(|admission| admission.tidy());
    }
}

impl Shared {
    async fn forget(&self, agent: &str, _leaving: Leaving) -> Forgotten {
        let catalog = self.published.catalog();
        let key = RowKey::Agent(agent.into());
        let tables = catalog.entries().iter().filter_map(|entry| agent_rows(entry));
        let rows = tables.filter(|rows| rows.shard(&key).lock().remove(&key)).count();
        let grants = self.common.permissions.forget(agent);
        self.common.admissions.iter().for_each(|admission| admission.forget(agent));
        let ending: FuturesUnordered<_> =
            catalog.entries().iter().map(|entry| entry.tool.forget(agent)).collect();
        // What does not end in time is not waited for.
        let _ = timeout(PATIENCE, ending.collect::<()>()).await;
        self.extensions.forget(agent).await;
        Forgotten { rows, grants }
    }
}

/// The rows of a tool that has one for each agent.
fn agent_rows(entry: &Entry) -> Option<&RowTable> {
    entry.rows().filter(|rows| rows.scope() == StateScope::Agent)
}
