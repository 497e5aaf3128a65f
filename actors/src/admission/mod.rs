//! Who may run now: permits of an agent, of a tool, of the blocking pool, of the engine.

mod agents;
mod fair;
mod rate;
pub(crate) mod turnstile;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use smallvec::SmallVec;
use tokio::time::{Instant, timeout_at};
use toolyard_contract::{Rate, ToolSpec, name};

use self::{
    agents::Agents,
    rate::{RateGate, TooSoon},
    turnstile::{Permit, Turn, Turnstile},
};

use crate::event::WaitsFor;

pub use self::agents::AgentLimits;
pub(crate) use self::agents::AgentPass;

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

    /// What stands in the way of a call, for those who listen.
    pub(crate) fn shut_on(&self, way: &Way) -> WaitsFor {
        match way.gates().find(|gate| gate.free() == 0) {
            None => WaitsFor::Rate,
            Some(gate) if Arc::ptr_eq(gate, &self.in_flight) => WaitsFor::Engine,
            Some(gate) if Arc::ptr_eq(gate, &self.blocking) => WaitsFor::Thread,
            Some(gate) if way.first.as_ref().is_some_and(|first| Arc::ptr_eq(gate, first)) => WaitsFor::Agent,
            Some(_) => WaitsFor::Tool,
        }
    }

    /// The way of the calls of one list to one tool.
    ///
    /// The narrowest gate comes first, because whoever waits for a narrow gate must not hold a wide
    /// one. The agent's are narrower than the tool's: an agent at its limit is in nobody's way.
    pub(crate) fn way(&self, agent: &Arc<AgentPass>, tool: &ToolGates, blocking: bool) -> Way {
        let agents_gate = agent.gates.as_ref().and_then(|gates| gates.in_flight.clone());
        let blocking = blocking.then(|| self.blocking.clone());
        Way {
            tool_rate: tool.rate.clone(),
            first: agents_gate,
            then: tool
                .in_flight
                .clone()
                .into_iter()
                .chain(blocking)
                .chain([self.in_flight.clone()])
                .collect(),
            agent: agent.clone(),
        }
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

/// What calls of one list to one tool have to pass.
#[derive(Debug)]
pub(crate) struct Way {
    agent: Arc<AgentPass>,
    first: Option<Arc<Turnstile>>,
    tool_rate: Option<Arc<RateGate>>,
    then: SmallVec<[Arc<Turnstile>; 3]>,
}

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// True: a rate leaves no room. False: too many calls were running.
    pub(crate) by_rate: bool,
    /// When trying again may help.
    pub(crate) retry_after: Duration,
}

impl Refusal {
    /// Why, in words.
    pub(crate) fn reason(self) -> String {
        let seconds = self.retry_after.as_secs_f64();
        if self.by_rate {
            format!("its rate limit leaves no room; try again in {seconds} s")
        } else {
            format!("too many calls were running for {seconds} s; try again later")
        }
    }
}

impl From<TooSoon> for Refusal {
    fn from(TooSoon(retry_after): TooSoon) -> Self {
        Self { by_rate: true, retry_after }
    }
}

impl Way {
    /// Takes up to `wanted` permits at once, as many as are free at every gate; `None` when none is.
    pub(crate) fn try_pass(&self, wanted: usize) -> Option<Permits> {
        let free = self.gates().map(|gate| gate.free()).min().unwrap_or(0).min(wanted);
        let mut rates = self.rates();
        let allowed = match (rates.next(), rates.next()) {
            (None, _) => free,
            (Some(rate), None) => rate.try_pass(free),
            // What one rate lets pass and the other does not would be lost: wait at both in turn.
            (Some(_), Some(_)) => 0,
        };
        let mut permits = Permits { count: allowed, held: SmallVec::new() };
        for gate in self.gates() {
            // Another supervisor may have been faster at this gate.
            let permit = gate.try_take(permits.count)?;
            permits.count = permit.count();
            permits.held.push(permit);
        }
        let count = permits.count;
        permits.held.iter_mut().for_each(|permit| permit.keep(count));
        Some(permits)
    }

    /// Waits for one permit of every gate.
    ///
    /// # Errors
    /// When `patience` is over, or it is clear that it will not do.
    ///
    /// # Cancellation
    /// Dropping the future gives back what was had.
    pub(crate) async fn pass(self, patience: Duration) -> Result<Permits, Refusal> {
        let until = Instant::now().checked_add(patience).unwrap_or_else(far_future);
        let passed = timeout_at(until, self.pass_until(until)).await;
        passed.unwrap_or(Err(Refusal { by_rate: false, retry_after: patience }))
    }

    async fn pass_until(&self, until: Instant) -> Result<Permits, Refusal> {
        let turn = &self.agent.turn;
        let mut held = SmallVec::new();
        if let Some(rate) = self.agent.gates.as_ref().and_then(|gates| gates.rate.as_ref()) {
            rate.pass(turn, until).await?;
        }
        if let Some(gate) = &self.first {
            held.push(gate.take(turn).await);
        }
        // Held to the end: what may begin by the tool's rate begins before the next one may.
        let _turn = match &self.tool_rate {
            Some(rate) => Some(rate.pass(turn, until).await?),
            None => None,
        };
        for gate in &self.then {
            held.push(gate.take(turn).await);
        }
        Ok(Permits { count: 1, held })
    }

    fn gates(&self) -> impl Iterator<Item = &Arc<Turnstile>> {
        self.first.iter().chain(&self.then)
    }

    fn rates(&self) -> impl Iterator<Item = &Arc<RateGate>> {
        self.agent.gates.iter().filter_map(|gates| gates.rate.as_ref()).chain(&self.tool_rate)
    }
}

fn far_future() -> Instant {
    Instant::now() + Duration::from_hours(24 * 365)
}

/// The right of some calls to run; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permits {
    count: usize,
    held: SmallVec<[Permit; 3]>,
}

impl Permits {
    /// How many calls may run.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Splits off the right of one call.
    pub(crate) fn split_one(&mut self) -> Self {
        self.count = self.count.saturating_sub(1);
        Self { count: 1, held: self.held.iter_mut().map(Permit::split_one).collect() }
    }
}

#[cfg(test)]
mod tests;
