//! Which agent has which session, and what became of those that are gone.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Notify, futures::Notified},
    time::Instant,
};

use super::{ReplSession, Snapshot};

/// The state of one agent's row: enough to go on in another process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionState {
    /// Marks what the session looked like after the last call that was `ok`.
    pub mark: u64,
    /// The names after that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Arc<Snapshot>>,
}

/// The sessions of one tool.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Table>, Notify);

/// The agents, by their ids; calls without an agent share a session.
type Agent = Option<Arc<str>>;

#[derive(Default)]
struct Table {
    slots: HashMap<Agent, Slot>,
    /// Counts how often all sessions were let go: one that was at work then is not kept.
    released: u64,
    /// Set when the engine has ended: what comes back then is not kept.
    closed: bool,
}

enum Slot {
    Idle {
        session: Box<dyn ReplSession>,
        mark: u64,
        used: Instant,
    },
    AtWork,
    /// Its session is gone, and with it what the row's state says.
    Gone {
        mark: u64,
        reason: &'static str,
    },
}

/// What an agent's call finds.
pub(super) enum Found {
    /// Its session as it left it.
    Session(Box<dyn ReplSession>),
    /// Nothing; a new session begins with what the row's state says.
    Nothing,
    /// Its session was ended, for this reason; a new one begins empty.
    Ended(&'static str),
    /// There are as many sessions as there may be, and all are at work: wait until one is [freed](Sessions::freed).
    NoRoom,
}

impl Sessions {
    /// Takes the session of an agent whose row bears this mark, and what must be ended to make room. The seat keeps its
    /// place.
    pub(super) fn take(
        self: &Arc<Self>,
        agent: Option<&str>,
        mark: u64,
        most: usize,
    ) -> (Found, Option<Box<dyn ReplSession>>, Seat) {
        let agent: Agent = agent.map(Arc::from);
        let mut table = self.0.lock();
        let released = table.released;
        let seat = |armed| Seat { sessions: self.clone(), agent: agent.clone(), mark, released, armed };
        let mut ended = None;
        let has_place = matches!(table.slots.get(&agent), Some(Slot::Idle { .. }));
        if !has_place && table.taken() >= most {
            ended = table.oldest();
            if ended.is_none() {
                return (Found::NoRoom, None, seat(false));
            }
        }
        let found = match table.slots.insert(agent.clone(), Slot::AtWork) {
            Some(Slot::Idle { session, mark: left, .. }) if left == mark => Found::Session(session),
            // The row was replaced meanwhile.
            Some(Slot::Idle { session, .. }) => {
                ended = Some(session);
                Found::Nothing
            }
            Some(Slot::Gone { mark: left, reason }) if left == mark => Found::Ended(reason),
            _ => Found::Nothing,
        };
        drop(table);
        (found, ended, seat(true))
    }

    /// Resolves when a session has come to rest or has ended since the call.
    pub(super) fn freed(&self) -> Notified<'_> {
        self.1.notified()
    }

    /// Takes the session of an agent that is gone, and what is known of it.
    pub(super) fn forget(&self, agent: &str) -> Option<Box<dyn ReplSession>> {
        let mut table = self.0.lock();
        let agent: Agent = Some(agent.into());
        match table.slots.remove(&agent)? {
            Slot::Idle { session, .. } => Some(session),
            Slot::Gone { .. } => None,
            // A call that could not be stopped in time: its seat ends the session.
            at_work @ Slot::AtWork => {
                table.slots.insert(agent, at_work);
                None
            }
        }
    }

    /// Takes all sessions, for good.
    pub(super) fn close(&self) -> Vec<Box<dyn ReplSession>> {
        let mut table = self.0.lock();
        table.closed = true;
        table.take_all()
    }

    /// Takes all sessions. Those at work end with their calls, and others may begin.
    pub(super) fn release(&self) -> Vec<Box<dyn ReplSession>> {
        let mut table = self.0.lock();
        table.released += 1;
        table.take_all()
    }
}

impl Table {
    fn take_all(&mut self) -> Vec<Box<dyn ReplSession>> {
        let slots = self.slots.drain();
        slots
            .filter_map(|(_, slot)| match slot {
                Slot::Idle { session, .. } => Some(session),
                Slot::AtWork | Slot::Gone { .. } => None,
            })
            .collect()
    }

    fn taken(&self) -> usize {
        self.slots.values().filter(|slot| !matches!(slot, Slot::Gone { .. })).count()
    }

    /// Takes the idle session that was not used for longest. Its names are in its row.
    fn oldest(&mut self) -> Option<Box<dyn ReplSession>> {
        let idle = self.slots.iter().filter_map(|(agent, slot)| match slot {
            Slot::Idle { used, .. } => Some((*used, agent)),
            _ => None,
        });
        let agent = idle.min_by_key(|(used, _)| *used)?.1.clone();
        match self.slots.remove(&agent) {
            Some(Slot::Idle { session, .. }) => Some(session),
            _ => None,
        }
    }
}

/// The place of a session at work. Dropping it says that the session is gone, because its call was stopped.
pub(super) struct Seat {
    sessions: Arc<Sessions>,
    agent: Agent,
    mark: u64,
    /// How often all sessions had been let go when this one was taken.
    released: u64,
    armed: bool,
}

impl Seat {
    /// Puts the session back.
    pub(super) fn put_back(mut self, session: Box<dyn ReplSession>, mark: u64) {
        self.fill(Slot::Idle { session, mark, used: Instant::now() });
    }

    /// Says that the session is gone.
    pub(super) fn gone(mut self, reason: &'static str) {
        let mark = self.mark;
        self.fill(Slot::Gone { mark, reason });
    }

    /// Gives up the place; no session was there.
    pub(super) fn give_up(mut self) {
        self.armed = false;
        let mut table = self.sessions.0.lock();
        // Else the place is somebody else's already.
        if table.released == self.released {
            table.slots.remove(&self.agent);
        }
        drop(table);
        self.sessions.1.notify_waiters();
    }

    fn fill(&mut self, slot: Slot) {
        self.armed = false;
        let mut table = self.sessions.0.lock();
        if !table.closed && table.released == self.released {
            table.slots.insert(self.agent.clone(), slot);
        }
        drop(table);
        self.sessions.1.notify_waiters();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.armed {
            let mark = self.mark;
            self.fill(Slot::Gone { mark, reason: "the last call was stopped" });
        }
    }
}
