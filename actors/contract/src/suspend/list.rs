//! A list some of whose calls wait: a record that another process, or another engine, can go on with.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

use super::{Answer, Answers, Need, ParkedCall, StoreMark};
use crate::{
    Arguments, Batch, CallId, ExactValue, Outcome, PermissionCheck, ToolResult, name, result::micros,
};

/// The version of the record that is written and read. Approvals of version 1 were not bound to the tool's own name,
/// to the resource and to one use, so they are not taken.
const VERSION: u32 = 2;

/// A list some of whose calls wait, with everything that is settled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuspendedList {
    version: u32,
    /// The document's id.
    pub id: CallId,
    /// On whose behalf the list runs.
    pub agent: Option<String>,
    /// One result per call, in call order; those that wait are `suspended`.
    pub results: Vec<ToolResult>,
    /// How the calls that ran were grouped.
    pub batches: Vec<Batch>,
    /// How long the list has run in all, in microseconds, without the time that it waited.
    pub elapsed_us: u64,
    /// The calls that wait.
    pub parked: Vec<ParkedCall>,
    /// The requests that have been answered or replaced.
    #[serde(deserialize_with = "trimmed")]
    pub used: Vec<String>,
    /// The declared tools that were answered by their own arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stubs: Vec<ExactValue>,
    /// The state file that it works on, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreMark>,
}

/// A call that goes on.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// Its position.
    pub index: usize,
    /// What it may do.
    pub standing: Standing,
}

/// What a call that goes on may do.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It was approved: the policy need not be asked, only obeyed when it denies.
    Approved {
        /// What was approved, and nothing else; `None` for arguments that were changed with the approval.
        check: Option<PermissionCheck>,
    },
    /// Its request no longer holds: it must be asked about again, whatever the policy says now.
    AskAgain,
    /// It goes on with a value.
    Input {
        /// The value.
        value: Box<RawValue>,
        /// What its tool has kept.
        kept: Option<Value>,
    },
}

/// Why answers are not taken. Nothing has run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No call of the list waits for this.
    #[error("request {0:?} is unknown: no call of this list waits for it")]
    Unknown(String),
    /// It has been answered before.
    #[error("request {0:?} has been answered already")]
    Used(String),
    /// Two answers for one request.
    #[error("request {0:?} is answered twice")]
    Twice(String),
    /// It came too late.
    #[error("request {id:?} expired at {at}; resume without an answer to it to be asked again")]
    Expired {
        /// The request.
        id: String,
        /// When it ended.
        at: Timestamp,
    },
    /// It was about something else.
    #[error(
        "request {id:?} does not hold any more: {reason}; resume without an answer to it to be asked again"
    )]
    Changed {
        /// The request.
        id: String,
        /// What has changed.
        reason: String,
    },
    /// The record says two things at once, so that what was approved is not certain.
    #[error("request {id:?} cannot be answered: {reason}")]
    Disagrees {
        /// The request.
        id: String,
        /// What disagrees.
        reason: String,
    },
    /// Its tool keeps state, and that is not here.
    #[error("request {id:?} cannot go on with the state that is here: {reason}")]
    OtherState {
        /// The request.
        id: String,
        /// What is the matter with the state.
        reason: String,
    },
    /// An approval where a value is wanted, or the other way round.
    #[error("request {id:?} waits for {wanted}")]
    Misfit {
        /// The request.
        id: String,
        /// What would fit.
        wanted: &'static str,
    },
}

impl Refusal {
    /// The request that is refused.
    pub fn request(&self) -> &str {
        match self {
            Self::Unknown(id)
            | Self::Used(id)
            | Self::Twice(id)
            | Self::Expired { id, .. }
            | Self::Changed { id, .. }
            | Self::Disagrees { id, .. }
            | Self::OtherState { id, .. }
            | Self::Misfit { id, .. } => id,
        }
    }
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Not such a record.
    #[error("not a record of a suspended list: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// From a program that came later.
    #[error("the record has version {0}, this program reads version {VERSION}: use a newer program")]
    Newer(u32),
    /// From a program that bound approvals to less.
    #[error(
        "the record has version {0}, whose approvals are not bound to tool, resource and use: run the list again"
    )]
    Older(u32),
    /// Parts of the record say different things: somebody has changed it.
    #[error("the record disagrees with itself: {reason}")]
    Disagrees {
        /// The request that it is about.
        request: String,
        /// What disagrees.
        reason: String,
    },
    /// A call that is not there waits.
    #[error("not a record of a suspended list: call {0} waits, but the list has no such call")]
    NoSuchCall(usize),
}

impl SuspendedList {
    /// Makes a record of a list that has run as far as it could.
    pub fn new(id: CallId, agent: Option<String>, results: Vec<ToolResult>, parked: Vec<ParkedCall>) -> Self {
        let (batches, used, stubs) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            version: VERSION,
            id,
            agent,
            results,
            batches,
            elapsed_us: 0,
            parked,
            used,
            stubs,
            store: None,
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When it is none, or comes from a later version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            let wrong = if version > VERSION { RecordError::Newer } else { RecordError::Older };
            return Err(wrong(version));
        }
        let list: Self = serde_json::from_str(text)?;
        list.check().map(|()| list)
    }

    /// Checks that the parts of the record say the same, so that what is approved once runs once, for the
    /// agent that it was approved for.
    ///
    /// # Errors
    /// Names what disagrees.
    pub fn check(&self) -> Result<(), RecordError> {
        let (mut calls, mut requests) = (BTreeSet::new(), BTreeSet::new());
        for parked in &self.parked {
            let ParkedCall { index, call, binding, claimed, .. } = parked;
            let result = self.results.get(*index).ok_or(RecordError::NoSuchCall(*index))?;
            let was_answered = self.used.contains(&call.request_id);
            let reason = if !calls.insert(*index) {
                format!("call {index} waits twice")
            } else if !requests.insert(&call.request_id) {
                "two calls wait for the same request".to_owned()
            } else if result.outcome != Outcome::Suspended {
                format!("call {index} waits, but has ended {}", result.outcome)
            } else if result.request.as_ref() != Some(&call.request_id) {
                format!("the result of call {index} names another request")
            } else if name::key(&binding.tool) != call.tool {
                format!("call {index} is of tool {:?}, its request of {:?}", call.tool, binding.tool)
            } else if binding.agent != self.agent {
                let agent = |agent: &Option<String>| agent.clone().unwrap_or_else(|| "nobody".to_owned());
                format!(
                    "the list runs for {}, call {index} for {}",
                    agent(&self.agent),
                    agent(&binding.agent)
                )
            } else if was_answered != *claimed {
                format!("the request of call {index} is answered and is not")
            } else {
                continue;
            };
            return Err(RecordError::Disagrees { request: call.request_id.clone(), reason });
        }
        Ok(())
    }

    /// Writes the record.
    ///
    /// # Panics
    /// Never: all of it can be written as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record can be written as JSON")
    }

    /// The calls that were given free by a process that did not come to their end: they are `lost`.
    /// Whoever takes up a record from elsewhere does this first.
    pub fn recover(&mut self) {
        for parked in self.parked.extract_if(.., |parked| parked.claimed) {
            let result = &mut self.results[parked.index];
            result.outcome = Outcome::Lost;
            result.request = None;
            result.error = Some(format!("tool {:?}: the process that ran the call went away", result.tool));
        }
    }

    /// Takes answers: all of them, or none. Denials are settled at once; what was approved or given a
    /// value is marked as claimed and returned, with the calls whose unanswered requests no longer
    /// hold. The record must be safe before any of them runs.
    ///
    /// `check` says what has changed since a request was made, or that it was used before.
    ///
    /// # Errors
    /// Names the first answer that cannot be taken; then nothing has changed.
    pub fn claim(
        &mut self,
        answers: &Answers,
        now: Timestamp,
        check: impl Fn(&ParkedCall) -> Result<(), Refusal>,
    ) -> Result<Vec<Resumption>, Refusal> {
        if let Err(error) = self.check() {
            let id = match &error {
                RecordError::Disagrees { request, .. } => request.clone(),
                _ => String::new(),
            };
            return Err(Refusal::Disagrees { id, reason: error.to_string() });
        }
        let mut seen = BTreeSet::new();
        for (id, answer) in answers.iter() {
            if !seen.insert(id) {
                return Err(Refusal::Twice(id.to_owned()));
            }
            self.may_answer(id, answer, now, &check)?;
        }
        let mut resumed = Vec::new();
        for parked in std::mem::take(&mut self.parked) {
            let answer =
                answers.iter().find(|(id, _)| *id == parked.call.request_id).map(|(_, answer)| answer);
            self.apply(parked, answer, now, &check, &mut resumed);
        }
        Ok(resumed)
    }

    fn may_answer(
        &self,
        id: &str,
        answer: &Answer,
        now: Timestamp,
        check: impl Fn(&ParkedCall) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if self.used.iter().any(|used| used == id) {
            return Err(Refusal::Used(id.to_owned()));
        }
        let parked = self.parked.iter().find(|parked| parked.call.request_id == id);
        let parked = parked.ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
        if parked.binding.expires_at <= now {
            return Err(Refusal::Expired { id: id.to_owned(), at: parked.binding.expires_at });
        }
        let misfit = |wanted| Err(Refusal::Misfit { id: id.to_owned(), wanted });
        match (answer, &parked.need) {
            (Answer::Input(_), Need::Approval { .. }) => misfit("an approval or a denial, not a value"),
            // What is denied may have changed; it must not have run.
            (Answer::Deny(_), _) => match check(parked) {
                Err(used @ Refusal::Used(_)) => Err(used),
                _ => Ok(()),
            },
            (Answer::Input(_), Need::Input) | (_, Need::Approval { .. }) => check(parked),
            (_, Need::Input) => misfit("a value or a denial, not an approval"),
        }
    }

    fn apply(
        &mut self,
        mut parked: ParkedCall,
        answer: Option<&Answer>,
        now: Timestamp,
        check: impl Fn(&ParkedCall) -> Result<(), Refusal>,
        resumed: &mut Vec<Resumption>,
    ) {
        let index = parked.index;
        let standing = match answer {
            None => {
                let ask_again = match check(&parked) {
                    Ok(()) => parked.binding.expires_at <= now,
                    // It went on in another copy of this record, or waits for its state.
                    Err(Refusal::Used(_) | Refusal::OtherState { .. }) => false,
                    Err(_) => true,
                };
                if ask_again && !parked.claimed {
                    resumed.push(Resumption { index, standing: Standing::AskAgain });
                }
                self.parked.push(parked);
                return;
            }
            Some(Answer::Deny(reason)) => {
                self.used.push(parked.call.request_id);
                let result = &mut self.results[index];
                result.outcome = Outcome::Denied;
                result.request = None;
                let because = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
                result.error = Some(format!("tool {:?}: denied{because}", result.tool));
                return;
            }
            Some(Answer::Input(value)) => Standing::Input { value: value.clone(), kept: parked.kept.clone() },
            Some(Answer::ApproveChanged(arguments)) => {
                // What is no JSON object is refused by the gate like that of any other call.
                parked.call.arguments = Some(Arguments::Json(arguments.clone()));
                Standing::Approved { check: None }
            }
            Some(Answer::Approve | Answer::ApproveForSession) => {
                Standing::Approved { check: parked.approved() }
            }
        };
        self.used.push(parked.call.request_id.clone());
        parked.claimed = true;
        self.parked.push(parked);
        resumed.push(Resumption { index, standing });
    }

    /// Takes claims back: nothing of what was claimed has begun.
    pub fn release(&mut self, resumed: &[Resumption]) {
        for parked in &mut self.parked {
            if parked.claimed && resumed.iter().any(|resumed| resumed.index == parked.index) {
                parked.claimed = false;
                self.used.retain(|used| *used != parked.call.request_id);
            }
        }
    }

    /// Takes in what came of calls that went on, and the requests that they gave rise to.
    pub fn settle(&mut self, results: Vec<ToolResult>, parked: Vec<ParkedCall>) {
        for result in results {
            let index = result.index;
            for old in self.parked.extract_if(.., |parked| parked.index == index) {
                if !self.used.contains(&old.call.request_id) {
                    self.used.push(old.call.request_id);
                }
            }
            self.results[index] = result;
        }
        self.parked.extend(parked);
        self.parked.sort_by_key(|parked| parked.index);
    }

    /// Adds to the time that the list has run.
    pub fn add_elapsed(&mut self, elapsed: std::time::Duration) {
        self.elapsed_us = self.elapsed_us.saturating_add(micros(elapsed));
    }
}

/// Reads ids of requests, around which space does not count.
fn trimmed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let ids = Vec::<String>::deserialize(deserializer)?;
    Ok(ids.into_iter().map(|id| id.trim().to_owned()).collect())
}
