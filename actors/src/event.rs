//! What the engine tells those who watch it.

use std::{sync::Arc, time::Duration};

use actix::Message;
use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_contract::{
    BatchKind, CallId, Outcome, ParallelDecision, PermissionCheck, PermissionDecision, RunId,
};

/// Something that happened in the engine, in the order in which it happened. It is a message too, for
/// actors that listen.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct EngineEvent {
    /// The list.
    pub run: RunId,
    /// Since the engine started, on a clock that never goes back.
    pub at: Duration,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of [`EngineEvent`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// A list was taken.
    ListAccepted {
        /// How many calls it has.
        calls: usize,
        /// On whose behalf it runs.
        agent: Option<Arc<str>>,
        /// The list and position of the call that submitted it, if one did.
        parent: Option<(RunId, usize)>,
    },
    /// The permission policy was asked about a call.
    Judged {
        /// The call.
        call: CallInfo,
        /// What it wants to do.
        check: PermissionCheck,
        /// What the policy said, and why.
        decision: PermissionDecision,
        /// The version of the policy.
        version: String,
    },
    /// A call passed the gate and was planned.
    Accepted {
        /// The call.
        call: CallInfo,
        /// Its place in the plan.
        place: PlanPlace,
    },
    /// A call waits for something that is not a call before it in its list. Told once for each thing
    /// that it waits for.
    Waiting {
        /// The call.
        call: CallInfo,
        /// What it waits for.
        on: WaitsFor,
    },
    /// A call's work began, for the first time or once more.
    Started(CallInfo),
    /// A running call sent a piece of progress or partial output.
    Progress {
        /// The call.
        call: CallInfo,
        /// The piece, as the tool made it.
        payload: Value,
    },
    /// A call has its answer.
    Finished {
        /// The call.
        call: CallInfo,
        /// How it ended.
        outcome: Outcome,
        /// What went wrong, as the result says it.
        error: Option<String>,
        /// From the list's start to the start of the work.
        waited: Duration,
        /// From the start of the work to its end.
        elapsed: Duration,
    },
    /// A list has all its answers.
    ListFinished {
        /// From the list's start.
        elapsed: Duration,
    },
}

/// Which call an event is about.
#[derive(Clone, Debug)]
pub struct CallInfo {
    /// The call's position in its list.
    pub index: usize,
    /// The tool's name as the model spelled it.
    pub tool: CompactString,
    /// The provider's id.
    pub id: CallId,
    /// The node of a behaviour tree that makes the call, if one does.
    pub node: Option<Arc<str>>,
}

/// Where a call stands in the plan of its list.
#[derive(Clone, Debug)]
pub struct PlanPlace {
    /// The tool's own name, which is that of its actor.
    pub tool: String,
    /// Which of the tool's actors will run it, from 1; `None` where there is one.
    pub shard: Option<usize>,
    /// The number of its batch, from 0.
    pub batch: usize,
    /// The strategy of the batch.
    pub strategy: BatchKind,
    /// Position of the last of the calls that must have ended before it starts: all planned ones up
    /// to there. `None`: it waits for no call.
    pub after: Option<usize>,
    /// Why it may or may not overlap.
    pub decision: ParallelDecision,
}

impl PlanPlace {
    /// The name of the actor that will run the call.
    pub fn actor(&self) -> String {
        match self.shard {
            Some(shard) => format!("{} {shard}", self.tool),
            None => self.tool.clone(),
        }
    }
}

/// What a call can wait for, beside the calls before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitsFor {
    /// A place among the calls of its agent.
    Agent,
    /// A place among the calls of its tool.
    Tool,
    /// A thread for work that blocks.
    Thread,
    /// A place among the calls of the engine.
    Engine,
    /// The time at which the rate of its tool or agent lets it begin.
    Rate,
    /// The row of state that it works on.
    Row,
    /// The actor in the place of one that died.
    Actor,
    /// The time of its next try.
    Retry,
    /// Somebody's approval.
    Approval,
}

impl WaitsFor {
    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Thread => "thread",
            Self::Engine => "engine",
            Self::Rate => "rate",
            Self::Row => "row",
            Self::Actor => "actor",
            Self::Retry => "retry",
            Self::Approval => "approval",
        }
    }
}
