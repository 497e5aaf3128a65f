//! Who may run now: permits of an agent, of a tool, of the blocking pool, of the engine.

mod agents;
pub(crate) mod fair;
mod rate;
pub(crate) mod turnstile;
mod way;
mod window;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use toolyard_contract::{Rate, ToolSpec, name};

use self::{
    agents::Agents,
    rate::RateGate,
    turnstile::{Turn, Turnstile},
};

use crate::keys::{Key, KeyTable};

pub use self::agents::AgentLimits;
pub(crate) use self::{
    agents::AgentPass,
    way::{Permits, Refusal, Way},
};

/// The engine's limits on what runs at once. Every wait for them has a deadline.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many calls may run at once in the engine. Default 16,384: a waiting call costs about
    /// 1 KB, so that the default stays under 20 MB.
    pub max_in_flight: usize,
    /// How many calls may occupy a thread of the blocking pool. Default 64: threads mostly wait.
    pub max_blocking: usize,
    /// How many lists may be under way. Default 10,000.
    pub max_lists: usize,
    /// How long a call or a list waits to be admitted. Default 30 s.
    pub admission_timeout: Duration,
    /// What one agent may take, where it is not named below. Default: no limit but the engine's.
    pub agent: AgentLimits,
    /// What agents with these ids may take instead. Default: none.
    pub agents: BTreeMap<String, AgentLimits>,
    /// Limits of tools with these names, over what the tools say themselves. Default: none.
    pub tools: BTreeMap<String, ToolLimits>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_in_flight: 16_384,
            max_blocking: 64,
            max_lists: 10_000,
            admission_timeout: Duration::from_secs(30),
            agent: AgentLimits::default(),
            agents: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }
}

/// The limits of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolLimits {
    /// How many calls may run at once. Default: what the tool says, else the engine's limit alone.
    pub max_in_flight: Option<usize>,
    /// How often a call may begin. Default: what the tool says, else no limit.
    pub rate: Option<Rate>,
}

/// The permits behind [`Limits`], shared by all supervisors of an engine.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) limits: Limits,
    in_flight: Arc<Turnstile>,
    blocking: Arc<Turnstile>,
    pub(crate) lists: Arc<Turnstile>,
    agents: Arc<Agents>,
}

impl Admission {
    /// The permits for each depth of nested lists. Rates are the same at every depth; places are
    /// not, so that a list never waits for a place that a call around it holds.
    pub(crate) fn for_depths(limits: &Limits, depths: usize) -> Vec<Arc<Self>> {
        let first = Agents::new(limits.agent.clone(), limits.agents.clone());
        let deeper = (1..depths).map(|_| first.deeper()).collect::<Vec<_>>();
        std::iter::once(first)
            .chain(deeper)
            .map(|agents| Arc::new(Self::new(limits.clone(), agents)))
            .collect()
    }

    fn new(limits: Limits, agents: Agents) -> Self {
        Self {
            in_flight: Turnstile::new(limits.max_in_flight),
            blocking: Turnstile::new(limits.max_blocking),
            lists: Turnstile::new(limits.max_lists),
            agents: Arc::new(agents),
            limits,
        }
    }

    /// The turn of an agent.
    pub(crate) fn turn(&self, agent: Option<&Arc<str>>) -> Turn {
        self.agents.turn(agent)
    }

    /// The pass of a list's agent.
    pub(crate) fn agent(&self, agent: Option<&Arc<str>>) -> AgentPass {
        self.agents.pass(agent)
    }

    /// How many places of the engine and of the blocking pool are taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> (usize, usize) {
        (self.in_flight.taken(), self.blocking.taken())
    }

    /// Forgets an agent that has no list under way.
    pub(crate) fn forget(&self, agent: &str) {
        self.agents.forget(agent);
    }

    /// Forgets rates that have recovered.
    pub(crate) fn tidy(&self) {
        self.agents.tidy();
    }

    /// How many agents take memory: for what they have under way, and for rates.
    pub(crate) fn known_agents(&self) -> (usize, usize) {
        self.agents.live()
    }

    /// The way of the calls of one list to one tool.
    pub(crate) fn way<'a>(
        &'a self,
        agent: &'a AgentPass,
        tool: &'a ToolGates,
        blocking: bool,
        row: Option<(&'a Arc<KeyTable>, &'a Key)>,
    ) -> Way<'a> {
        let blocking = blocking.then_some(&self.blocking);
        Way { agent, tool, row, blocking, engine: &self.in_flight, rates: true }
    }
}

/// The gates of one tool, for one depth of nested lists.
#[derive(Debug)]
pub(crate) struct ToolGates {
    in_flight: Option<Arc<Turnstile>>,
    rate: Option<Arc<RateGate>>,
}

impl ToolGates {
    /// The gates of a tool for each depth. Where the limits are those of the tool that it replaces,
    /// so are the gates: replacing a tool does not lift its limits.
    pub(crate) fn for_depths(
        limits: &Limits,
        spec: &ToolSpec,
        depths: usize,
        replaced: &[Self],
    ) -> Vec<Self> {
        let key = name::key(&spec.name);
        let set = limits.tools.iter().find(|(tool, _)| name::key(tool) == key).map(|(_, limits)| limits);
        let places = set.and_then(|set| set.max_in_flight).or(spec.max_in_flight);
        let rate = set.and_then(|set| set.rate).or(spec.rate);
        let old_rate = replaced.first().and_then(|old| old.rate.as_ref());
        let rate = rate.map(|rate| match old_rate.filter(|old| old.rate() == rate) {
            Some(old) => old.clone(),
            None => Arc::new(RateGate::new(rate)),
        });
        let in_flight = |depth: usize| {
            let places = places?.max(1);
            let old = replaced.get(depth).and_then(|old| old.in_flight.as_ref());
            Some(old.filter(|old| old.places() == places).cloned().unwrap_or_else(|| Turnstile::new(places)))
        };
        let rate_at = |depth: usize| {
            let first = rate.as_ref()?;
            Some(if depth == 0 { first.clone() } else { Arc::new(first.deeper()) })
        };
        (0..depths).map(|depth| Self { in_flight: in_flight(depth), rate: rate_at(depth) }).collect()
    }
}

#[cfg(test)]
mod tests;
