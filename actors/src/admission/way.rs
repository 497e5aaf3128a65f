//! What calls have to pass before they begin, and the right that they get.

use std::{sync::Arc, time::Duration};

use smallvec::SmallVec;
use tokio::time::{Instant, timeout_at};

use crate::{event::WaitsFor, moment};

use super::{
    AgentPass, ToolGates,
    rate::{RateGate, Room, TooSoon},
    turnstile::{Permit, Turn, Turnstile},
};

/// What calls of one list to one tool have to pass.
///
/// The narrowest gate comes first, because whoever waits for a narrow gate must not hold a wide one.
/// The agent's are narrower than the tool's: an agent at its limit is in nobody's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    pub(super) agent: &'a AgentPass,
    pub(super) tool: &'a ToolGates,
    pub(super) blocking: Option<&'a Arc<Turnstile>>,
    pub(super) engine: &'a Arc<Turnstile>,
}

impl Way<'_> {
    /// Takes up to `wanted` permits at once, as many as there are at every gate; `None` when there
    /// is none.
    pub(crate) fn try_pass(&self, wanted: usize) -> Option<Permits> {
        let rate = match (self.agent_rate(), &self.tool.rate) {
            // What one rate lets pass and the other does not would be lost: wait at both in turn.
            (Some(_), Some(_)) => return None,
            (agents, tools) => agents.or(tools.as_ref()),
        };
        let mut permits = Permits { count: wanted, held: SmallVec::new() };
        let gates = self.agent_gate().into_iter().chain(&self.tool.in_flight).chain(self.blocking);
        for gate in gates.chain([self.engine]) {
            let permit = gate.try_take(permits.count)?;
            permits.count = permit.count();
            permits.held.push(permit);
        }
        if let Some(rate) = rate {
            permits.count = rate.try_pass(permits.count);
        }
        let count = permits.count;
        permits.held.iter_mut().for_each(|permit| permit.keep(count));
        (count > 0).then_some(permits)
    }

    /// Waits for one permit of every gate.
    ///
    /// # Errors
    /// When `patience` is over, or it is clear that it will not do.
    ///
    /// # Cancellation
    /// Dropping the future gives back what was had.
    pub(crate) fn pass(
        self,
        patience: Duration,
    ) -> impl Future<Output = Result<Permits, Refusal>> + Send + use<> {
        let waiting = Waiting {
            turn: self.agent.turn.clone(),
            agent_rate: self.agent_rate().cloned(),
            agent_gate: self.agent_gate().cloned(),
            tool_rate: self.tool.rate.clone(),
            wide: self.tool.in_flight.iter().chain(self.blocking).chain([self.engine]).cloned().collect(),
        };
        async move {
            let until = moment::from_now(patience);
            let passed = timeout_at(until, waiting.pass(until)).await;
            passed.unwrap_or(Err(Refusal { by_rate: false, retry_after: patience }))
        }
    }

    /// What stands in the way of a call, for those who listen.
    pub(crate) fn shut_on(&self) -> WaitsFor {
        let shut = |gate: Option<&Arc<Turnstile>>| gate.is_some_and(|gate| gate.free() == 0);
        match () {
            () if shut(self.agent_gate()) => WaitsFor::Agent,
            () if shut(self.tool.in_flight.as_ref()) => WaitsFor::Tool,
            () if shut(self.blocking) => WaitsFor::Thread,
            () if shut(Some(self.engine)) => WaitsFor::Engine,
            () => WaitsFor::Rate,
        }
    }

    fn agent_rate(&self) -> Option<&Arc<RateGate>> {
        self.agent.gates.as_ref()?.rate.as_ref()
    }

    fn agent_gate(&self) -> Option<&Arc<Turnstile>> {
        self.agent.gates.as_ref()?.in_flight.as_ref()
    }
}

/// One call on its way.
struct Waiting {
    turn: Turn,
    agent_rate: Option<Arc<RateGate>>,
    agent_gate: Option<Arc<Turnstile>>,
    tool_rate: Option<Arc<RateGate>>,
    wide: SmallVec<[Arc<Turnstile>; 3]>,
}

impl Waiting {
    async fn pass(&self, until: Instant) -> Result<Permits, Refusal> {
        let mut held = SmallVec::new();
        let agents_room = match &self.agent_rate {
            Some(rate) => Some(rate.pass(&self.turn, until).await?.1),
            None => None,
        };
        if let Some(gate) = &self.agent_gate {
            held.push(gate.take(&self.turn).await);
        }
        // Held to the end: what may begin by the tool's rate begins before the next one may.
        let tools_room = match &self.tool_rate {
            Some(rate) => Some(rate.pass(&self.turn, until).await?),
            None => None,
        };
        for gate in &self.wide {
            held.push(gate.take(&self.turn).await);
        }
        agents_room.into_iter().for_each(Room::begin);
        if let Some((_turn, room)) = tools_room {
            room.begin();
        }
        Ok(Permits { count: 1, held })
    }
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
