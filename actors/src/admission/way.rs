//! What calls have to pass before they begin, and the right that they get.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use smallvec::SmallVec;
use tokio::time::{Instant, timeout_at};

use crate::{
    event::WaitsFor,
    keys::{Hold, Key, KeyTable},
};

use super::{
    AgentPass, ToolGates,
    rate::{RateGate, Room, TooSoon},
    turnstile::{Permit, Turn, Turnstile},
};

/// What calls of one list to one tool have to pass.
///
/// The narrowest gate comes first, because whoever waits for a narrow gate must not hold a wide one: the agent's, so
/// that an agent at its limit is in nobody's way; the row; the tool's; the blocking pool's; the engine's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    pub(super) agent: &'a AgentPass,
    pub(super) tool: &'a ToolGates,
    /// The row that they work on one at a time, whatever the number of permits.
    pub(super) row: Option<(&'a Arc<KeyTable>, &'a Key)>,
    pub(super) blocking: Option<&'a Arc<Turnstile>>,
    pub(super) engine: &'a Arc<Turnstile>,
    /// Whether rates count: they do not for a call that has passed them already.
    pub(super) rates: bool,
}

impl Way<'_> {
    /// The same way for a call that has passed the rates already.
    pub(crate) fn once_more(mut self) -> Self {
        self.rates = false;
        self
    }

    /// Tells whether a rate lets calls pass one by one.
    pub(crate) fn has_rate(&self) -> bool {
        self.agent_rate().or(self.tool_rate()).is_some()
    }

    /// Takes up to `wanted` permits at once, as many as there are at every gate; `None` when there
    /// is none.
    pub(crate) fn try_pass(&self, wanted: usize) -> Option<Permits> {
        let rate = match (self.agent_rate(), self.tool_rate()) {
            // What one rate lets pass and the other does not would be lost: wait at both in turn.
            (Some(_), Some(_)) => return None,
            (agents, tools) => agents.or(tools),
        };
        let row = match self.row {
            Some((keys, row)) => Some(keys.try_take(row)?),
            None => None,
        };
        let mut permits = self.try_gates(wanted, row)?;
        if let Some(rate) = rate {
            permits.count = rate.try_pass(permits.count);
        }
        let count = permits.count;
        permits.held.iter_mut().for_each(|permit| permit.keep(count));
        (count > 0).then_some(permits)
    }

    /// Takes what is free at every gate, up to `wanted`.
    fn try_gates(&self, wanted: usize, row: Option<Hold>) -> Option<Permits> {
        let mut permits = Permits { count: wanted, held: SmallVec::new(), row };
        let gates = self.agent_gate().into_iter().chain(&self.tool.in_flight).chain(self.blocking);
        for gate in gates.chain([self.engine]) {
            let permit = gate.try_take(permits.count)?;
            permits.count = permit.count();
            permits.held.push(permit);
        }
        Some(permits)
    }

    /// Takes up to `more` permits beside those that were had by waiting, as many as are free.
    pub(crate) fn widen(&self, permits: &mut Permits, more: usize) {
        if more == 0 || self.has_rate() {
            return;
        }
        let Some(mut added) = self.try_gates(more, None) else { return };
        let count = added.count;
        permits.count += count;
        // Both were taken gate by gate, in the same order.
        for (held, mut added) in permits.held.iter_mut().zip(added.held.drain(..)) {
            added.keep(count);
            held.join(added);
        }
    }

    /// Waits for one permit of every gate.
    ///
    /// # Errors
    /// When it is not had by `until`, so after `patience`, or it is clear that it will not be.
    ///
    /// # Cancellation
    /// Dropping the future gives back what was had.
    pub(crate) fn pass(
        self,
        until: Instant,
        patience: Duration,
    ) -> impl Future<Output = Result<Permits, Refusal>> + Send + use<> {
        let waiting = Waiting {
            turn: self.agent.turn.clone(),
            agent_rate: self.agent_rate().cloned(),
            agent_gate: self.agent_gate().cloned(),
            row: self.row.map(|(keys, row)| (keys.clone(), row.clone())),
            at_row: AtomicBool::new(false),
            tool_rate: self.tool_rate().cloned(),
            wide: self.tool.in_flight.iter().chain(self.blocking).chain([self.engine]).cloned().collect(),
        };
        async move {
            let passed = timeout_at(until, waiting.pass(until)).await;
            passed.unwrap_or_else(|_| {
                let at_row = waiting.at_row.load(Ordering::Relaxed);
                let cause = if at_row { Cause::Row } else { Cause::Places };
                Err(Refusal { cause, retry_after: patience })
            })
        }
    }

    /// What stands in the way of a call, for those who listen.
    pub(crate) fn shut_on(&self) -> WaitsFor {
        let shut = |gate: Option<&Arc<Turnstile>>| gate.is_some_and(|gate| gate.free() == 0);
        match () {
            () if shut(self.agent_gate()) => WaitsFor::Agent,
            () if self.row.is_some_and(|(keys, row)| keys.is_taken(row)) => WaitsFor::Row,
            () if shut(self.tool.in_flight.as_ref()) => WaitsFor::Tool,
            () if shut(self.blocking) => WaitsFor::Thread,
            () if shut(Some(self.engine)) => WaitsFor::Engine,
            () => WaitsFor::Rate,
        }
    }

    fn agent_rate(&self) -> Option<&Arc<RateGate>> {
        self.agent.gates.as_ref().filter(|_| self.rates)?.rate.as_ref()
    }

    fn tool_rate(&self) -> Option<&Arc<RateGate>> {
        self.tool.rate.as_ref().filter(|_| self.rates)
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
    row: Option<(Arc<KeyTable>, Key)>,
    /// It waits for its row now.
    at_row: AtomicBool,
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
        let row = match &self.row {
            Some((keys, row)) => {
                self.at_row.store(true, Ordering::Relaxed);
                let taken = keys.take(row, &self.turn).await;
                self.at_row.store(false, Ordering::Relaxed);
                Some(taken)
            }
            None => None,
        };
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
        Ok(Permits { count: 1, held, row })
    }
}

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: Cause,
    /// When trying again may help.
    pub(crate) retry_after: Duration,
}

/// What was in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A rate leaves no room.
    Rate,
    /// Another call was at work on its row.
    Row,
    /// Too many calls were running.
    Places,
}

impl Refusal {
    /// Why, in words.
    pub(crate) fn reason(self) -> String {
        let seconds = self.retry_after.as_secs_f64();
        match self.cause {
            Cause::Rate => format!("its rate limit leaves no room; try again in {seconds} s"),
            Cause::Row => format!("its state was busy for {seconds} s; try again later"),
            Cause::Places => format!("too many calls were running for {seconds} s; try again later"),
        }
    }
}

impl From<TooSoon> for Refusal {
    fn from(TooSoon(retry_after): TooSoon) -> Self {
        Self { cause: Cause::Rate, retry_after }
    }
}

/// The right of some calls to run; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permits {
    count: usize,
    held: SmallVec<[Permit; 3]>,
    /// The row that they work on.
    row: Option<Hold>,
}

impl Permits {
    /// How many calls may run.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Splits off the right of one call.
    pub(crate) fn split_one(&mut self) -> Self {
        self.count = self.count.saturating_sub(1);
        Self { count: 1, held: self.held.iter_mut().map(Permit::split_one).collect(), row: None }
    }

    /// Takes the row out, which is then given back apart from the permits.
    pub(crate) fn take_row(&mut self) -> Option<Hold> {
        self.row.take()
    }

    /// Tells whether a row comes with them.
    pub(crate) fn has_row(&self) -> bool {
        self.row.is_some()
    }
}
