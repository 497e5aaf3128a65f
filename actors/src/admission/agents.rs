//! What single agents may take.

use std::{num::NonZeroU32, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use toolyard_contract::Rate;

use super::{
    rate::{Keyed, RateGate},
    turnstile::{Turn, Turnstile},
};
use crate::activity::InUse;

/// The limits of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentLimits {
    /// How many of its calls may be under way, those that wait for their tool among them. Default:
    /// no limit but the engine's.
    pub max_in_flight: Option<usize>,
    /// How often a call of it may be admitted. Default: no limit.
    pub rate: Option<Rate>,
    /// How many calls it gets in one turn where several agents wait. Default 1.
    pub weight: NonZeroU32,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { max_in_flight: None, rate: None, weight: NonZeroU32::MIN }
    }
}

/// The limits of all agents. Memory is taken only for those that have calls under way, or whose
/// rate still remembers one.
#[derive(Debug)]
pub(crate) struct Agents {
    all: AgentLimits,
    rates: Option<Arc<Keyed>>,
    named: FxHashMap<String, Named>,
    live: Mutex<Live>,
}

/// An agent with limits of its own. Its rate stays, because the configuration bounds their number.
#[derive(Debug)]
struct Named {
    limits: AgentLimits,
    rate: Option<Arc<RateGate>>,
}

#[derive(Debug, Default)]
struct Live {
    agents: FxHashMap<Arc<str>, Arc<AgentGates>>,
    /// At this size whoever is idle is looked for.
    sweep_at: usize,
    /// How many agents were forgotten since recovered rates were looked for.
    forgotten: usize,
}

/// The gates of one agent.
#[derive(Debug)]
pub(crate) struct AgentGates {
    pub(crate) in_flight: Option<Arc<Turnstile>>,
    pub(crate) rate: Option<Arc<RateGate>>,
}

/// What one list needs to know of its agent; the agent's gates live at least as long.
#[derive(Debug)]
pub(crate) struct AgentPass {
    pub(crate) turn: Turn,
    pub(crate) gates: Option<Arc<AgentGates>>,
    agents: Arc<Agents>,
    /// Keeps the agent from being forgotten.
    pub(crate) in_use: Option<InUse>,
}

impl Agents {
    pub(crate) fn new(all: AgentLimits, named: impl IntoIterator<Item = (String, AgentLimits)>) -> Self {
        let named = named.into_iter().map(|(agent, limits)| {
            let rate = limits.rate.map(|rate| Arc::new(RateGate::new(rate)));
            (agent, Named { limits, rate })
        });
        Self {
            rates: all.rate.map(|rate| Arc::new(Keyed::new(rate))),
            all,
            named: named.collect(),
            live: Mutex::default(),
        }
    }

    /// The same limits for lists one deeper: their rates are shared, their places are their own.
    pub(crate) fn deeper(&self) -> Self {
        let named = self.named.iter().map(|(agent, Named { limits, rate })| {
            let rate = rate.as_ref().map(|rate| Arc::new(rate.deeper()));
            (agent.clone(), Named { limits: limits.clone(), rate })
        });
        Self {
            all: self.all.clone(),
            rates: self.rates.clone(),
            named: named.collect(),
            live: Mutex::default(),
        }
    }

    /// The turn of an agent.
    pub(crate) fn turn(&self, agent: Option<&Arc<str>>) -> Turn {
        let (limits, _) = self.limits(agent);
        Turn { lane: agent.cloned(), weight: limits.weight }
    }

    fn limits(&self, agent: Option<&Arc<str>>) -> (&AgentLimits, Option<&Named>) {
        let named = agent.and_then(|agent| self.named.get(&**agent));
        (named.map_or(&self.all, |named| &named.limits), named)
    }

    /// Gives the pass of a list's agent. Nobody's calls have no limits but the engine's.
    pub(crate) fn pass(self: &Arc<Self>, agent: Option<&Arc<str>>) -> AgentPass {
        let (limits, named) = self.limits(agent);
        let gates = agent
            .filter(|_| limits.max_in_flight.is_some() || limits.rate.is_some())
            .map(|agent| self.gates(agent, limits, named));
        AgentPass { turn: self.turn(agent), gates, agents: self.clone(), in_use: None }
    }

    fn gates(&self, agent: &Arc<str>, limits: &AgentLimits, named: Option<&Named>) -> Arc<AgentGates> {
        let mut live = self.live.lock();
        if let Some(gates) = live.agents.get(agent) {
            return gates.clone();
        }
        live.sweep(self.rates.as_deref());
        let rate = match (named, &self.rates) {
            (Some(named), _) => named.rate.clone(),
            (None, rates) => rates.as_ref().map(|rates| Arc::new(RateGate::of_key(rates, agent.clone()))),
        };
        let gates = Arc::new(AgentGates { in_flight: limits.max_in_flight.map(Turnstile::new), rate });
        live.agents.insert(agent.clone(), gates.clone());
        gates
    }

    /// Forgets an agent, unless a thread that could not be stopped still has a place. Its rate goes once it has
    /// recovered: being forgotten is no way around it.
    pub(crate) fn forget(&self, agent: &str) {
        let mut live = self.live.lock();
        if live.agents.get(agent).is_some_and(|gates| Arc::strong_count(gates) == 1 && gates.is_idle()) {
            live.agents.remove(agent);
        }
        live.forgotten += 1;
        // Looking at all costs more than one agent is worth, so it is done for half of them.
        if self.rates.as_ref().is_some_and(|rates| 2 * live.forgotten >= rates.len()) {
            live.forgotten = 0;
            drop(live);
            self.tidy();
        }
    }

    /// Forgets rates that have recovered.
    pub(crate) fn tidy(&self) {
        if let Some(rates) = &self.rates {
            rates.retain_recent();
        }
    }

    /// How many agents take memory.
    pub(crate) fn live(&self) -> (usize, usize) {
        (self.live.lock().agents.len(), self.rates.as_ref().map_or(0, |rates| rates.len()))
    }
}

impl Live {
    /// Forgets who is idle, once in so many new agents that the cost of looking is spread over them.
    fn sweep(&mut self, rates: Option<&Keyed>) {
        const LEAST: usize = 1_024;
        let size = self.agents.len().max(rates.map_or(0, Keyed::len));
        if size < self.sweep_at.max(LEAST) {
            return;
        }
        self.agents.retain(|_, gates| Arc::strong_count(gates) > 1 || !gates.is_idle());
        self.agents.shrink_to_fit();
        if let Some(rates) = rates {
            rates.retain_recent();
        }
        self.sweep_at = 2 * self.agents.len().max(rates.map_or(0, Keyed::len));
    }
}

impl AgentGates {
    fn is_idle(&self) -> bool {
        self.in_flight.as_ref().is_none_or(|gate| gate.is_idle())
    }
}

impl Drop for AgentPass {
    fn drop(&mut self) {
        let (Some(gates), Some(agent)) = (self.gates.take(), &self.turn.lane) else { return };
        let mut live = self.agents.live.lock();
        drop(gates);
        // A thread that could not be stopped may still have a place.
        let unused = |gates: &Arc<AgentGates>| Arc::strong_count(gates) == 1 && gates.is_idle();
        if live.agents.get(agent).is_some_and(unused) {
            live.agents.remove(agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn agent(number: usize) -> Arc<str> {
        format!("agent-{number}").into()
    }

    #[test]
    fn without_limits_an_agent_takes_no_memory() {
        let agents = Arc::new(Agents::new(AgentLimits::default(), []));
        let pass = agents.pass(Some(&agent(1)));
        assert!(pass.gates.is_none());
        assert_eq!(agents.live(), (0, 0));
    }

    #[test]
    fn lists_of_one_agent_share_its_gates_until_the_last_one_ends() {
        let limits = AgentLimits { max_in_flight: Some(2), ..AgentLimits::default() };
        let agents = Arc::new(Agents::new(limits, []));
        let (one, two) = (agents.pass(Some(&agent(1))), agents.pass(Some(&agent(1))));
        let gate = |pass: &AgentPass| pass.gates.as_ref().unwrap().in_flight.clone().unwrap();
        assert!(Arc::ptr_eq(&gate(&one), &gate(&two)));
        drop(one);
        assert_eq!(agents.live().0, 1);
        drop(two);
        assert_eq!(agents.live().0, 0);
        assert!(agents.pass(None).gates.is_none(), "nobody has no limits");
    }

    #[test]
    fn a_place_that_is_still_taken_keeps_the_agent_known() {
        let limits = AgentLimits { max_in_flight: Some(1), ..AgentLimits::default() };
        let agents = Arc::new(Agents::new(limits, []));
        let pass = agents.pass(Some(&agent(1)));
        let stuck = pass.gates.as_ref().unwrap().in_flight.as_ref().unwrap().try_take(1);
        drop(pass);
        let again = agents.pass(Some(&agent(1)));
        assert!(again.gates.as_ref().unwrap().in_flight.as_ref().unwrap().try_take(1).is_none());
        drop(stuck);
    }

    #[test]
    fn an_agent_with_limits_of_its_own_has_those_alone() {
        let all = AgentLimits { max_in_flight: Some(1), ..AgentLimits::default() };
        let four = AgentLimits { weight: NonZeroU32::new(4).unwrap(), ..AgentLimits::default() };
        let agents = Arc::new(Agents::new(all, [("agent-4".to_owned(), four)]));
        let pass = agents.pass(Some(&agent(4)));
        assert_eq!((pass.turn.weight.get(), pass.gates.is_none()), (4, true));
        assert_eq!(agents.pass(Some(&agent(1))).turn.weight.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_agents_are_forgotten_once_their_rate_has_recovered() {
        let rate = Rate::new(10, Duration::from_secs(1));
        let limits = AgentLimits { max_in_flight: Some(1), rate, ..AgentLimits::default() };
        let agents = Arc::new(Agents::new(limits, []));
        let call = |number| {
            let pass = agents.pass(Some(&agent(number)));
            assert_eq!(pass.gates.as_ref().unwrap().rate.as_ref().unwrap().try_pass(1), 1);
        };
        for number in 0..100_000 {
            call(number);
            if number % 100 == 99 {
                tokio::time::advance(Duration::from_millis(100)).await;
            }
        }
        let (gates, rates) = agents.live();
        assert_eq!(gates, 0);
        assert!(rates < 4_096, "{rates} of 100,000 agents are still known");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_remembered_after_the_agents_last_list() {
        let limits = AgentLimits { rate: Rate::new(2, Duration::from_secs(1)), ..AgentLimits::default() };
        let agents = Arc::new(Agents::new(limits, []));
        let room = || agents.pass(Some(&agent(1))).gates.as_ref().unwrap().rate.as_ref().unwrap().try_pass(9);
        assert_eq!((room(), room()), (2, 0));
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(room(), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(room(), 2);
    }
}
