//! One event as it is written down.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Value, value::RawValue};
use toolyard_actors::{CallInfo, EngineEvent, EventKind, PlanPlace, WaitsFor};
use toolyard_contract::{BatchKind, CallId, Outcome, Verdict};

/// The version of the records that this program writes, and the newest that it reads.
pub const RECORD_VERSION: u32 = 1;

/// How long a text of a model or a tool may be on record, in bytes; what is longer is cut.
const LONGEST_TEXT: usize = 256;

/// How long a piece of progress may be on record, in bytes of JSON; of what is longer only the size
/// is kept.
const LONGEST_PIECE: usize = 1024;

/// Something that happened, as it is written down: one line of JSON. Arguments, outputs, and the
/// resources that permissions are about are not on record, because they may be secrets; but errors are,
/// as results say them, and these may quote what was wrong or what waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The version of the record; [`RECORD_VERSION`] for those that this program makes.
    #[serde(deserialize_with = "known_version")]
    pub v: u32,
    /// Nanoseconds since the engine started, on a clock that never goes back. Events of different
    /// threads may be on record in another order than that of their times.
    pub at_ns: u64,
    /// The list that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub event: RecordedEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedEvent {
    /// A list was taken.
    ListAccepted {
        /// How many calls it has.
        calls: usize,
        /// On whose behalf it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The list and position of the call that submitted it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<(u64, usize)>,
    },
    /// The permission policy was asked about a call.
    Judged {
        /// The call.
        call: RecordedCall,
        /// What kind of thing it wants to do.
        action: String,
        /// What the policy said.
        verdict: Verdict,
        /// The rule that decided.
        rule: String,
        /// The version of the policy.
        policy: String,
    },
    /// A call passed the gate and was planned.
    Accepted {
        /// The call.
        call: RecordedCall,
        /// The actor that will run it.
        actor: String,
        /// The number of its batch, from 0.
        batch: usize,
        /// The strategy of the batch.
        strategy: BatchKind,
        /// All planned calls up to this position must have ended before it starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<usize>,
        /// Why it may or may not overlap.
        reason: Cow<'static, str>,
    },
    /// A call waits for something that is not a call before it in its list.
    Waiting {
        /// The call.
        call: RecordedCall,
        /// What it waits for.
        on: WaitsFor,
    },
    /// A call's work began.
    Started {
        /// The call.
        call: RecordedCall,
    },
    /// A running call sent a piece of progress or partial output.
    Progress {
        /// The call.
        call: RecordedCall,
        /// The piece; left out when it is long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<Value>,
    },
    /// A call has its answer.
    Finished {
        /// The call.
        call: RecordedCall,
        /// How it ended.
        outcome: Outcome,
        /// What went wrong; cut when it is long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// From the list's start to the start of the work, in nanoseconds.
        waited_ns: u64,
        /// From the start of the work to its end, in nanoseconds.
        elapsed_ns: u64,
    },
    /// A list has all its answers.
    ListFinished {
        /// From the list's start, in nanoseconds.
        elapsed_ns: u64,
    },
    /// Events that happened before this one are not on record: they came faster than they could be
    /// taken.
    Dropped {
        /// How many.
        count: u64,
    },
}

/// Which call a record is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The call's position in its list.
    pub index: usize,
    /// The tool's name as the model spelled it; cut when it is long.
    pub tool: String,
    /// The provider's id; cut when it is long.
    #[serde(deserialize_with = "any_id")]
    pub id: CallId,
    /// The node of a behaviour tree that makes the call, if one does; cut when it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl EventRecord {
    /// Writes an event down; `None` for kinds that this version has no record for.
    pub fn of(event: &EngineEvent) -> Option<Self> {
        let recorded = RecordedEvent::of(&event.kind)?;
        let at_ns = nanos(event.at);
        Some(Self { v: RECORD_VERSION, at_ns, run: Some(event.run.0), event: recorded })
    }

    /// How much memory it takes, roughly, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.event.texts()
    }
}

impl RecordedEvent {
    fn of(kind: &EventKind) -> Option<Self> {
        Some(match kind {
            EventKind::ListAccepted { calls, agent, parent } => Self::ListAccepted {
                calls: *calls,
                agent: agent.as_deref().map(short),
                parent: parent.map(|(run, index)| (run.0, index)),
            },
            EventKind::Judged { call, check, decision, version } => Self::Judged {
                call: call.into(),
                action: short(&check.action),
                verdict: decision.verdict,
                rule: short(&decision.rule),
                policy: short(version),
            },
            EventKind::Accepted { call, place } => {
                let PlanPlace { batch, strategy, after, decision, .. } = place;
                Self::Accepted {
                    call: call.into(),
                    actor: short(&place.actor()),
                    batch: *batch,
                    strategy: *strategy,
                    after: *after,
                    reason: match &decision.reason {
                        Cow::Borrowed(reason) => Cow::Borrowed(reason),
                        Cow::Owned(reason) => short(reason).into(),
                    },
                }
            }
            EventKind::Waiting { call, on } => Self::Waiting { call: call.into(), on: *on },
            EventKind::Started(call) => Self::Started { call: call.into() },
            EventKind::Progress { call, payload } => {
                Self::Progress { call: call.into(), payload: fits(payload).then(|| payload.clone()) }
            }
            EventKind::Finished { call, outcome, error, waited, elapsed } => Self::Finished {
                call: call.into(),
                outcome: *outcome,
                error: error.as_deref().map(short),
                waited_ns: nanos(*waited),
                elapsed_ns: nanos(*elapsed),
            },
            EventKind::ListFinished { elapsed } => Self::ListFinished { elapsed_ns: nanos(*elapsed) },
            _ => return None,
        })
    }
}

impl RecordedEvent {
    /// How long its texts are in all.
    fn texts(&self) -> usize {
        let texts = |call: &RecordedCall, others: &[&str]| {
            let id = match &call.id {
                CallId::Absent => 0,
                CallId::Text(text) => text.len(),
                CallId::Other(raw) => raw.get().len(),
            };
            let node = call.node.as_ref().map_or(0, String::len);
            call.tool.len() + id + node + others.iter().map(|text| text.len()).sum::<usize>()
        };
        match self {
            Self::ListAccepted { agent, .. } => agent.as_ref().map_or(0, String::len),
            Self::Judged { call, action, rule, policy, .. } => texts(call, &[action, rule, policy]),
            Self::Accepted { call, actor, reason, .. } => texts(call, &[actor, reason]),
            Self::Waiting { call, .. } | Self::Started { call } => texts(call, &[]),
            // A value takes up to so many times the memory of its text.
            Self::Progress { call, payload } => {
                texts(call, &[]) + payload.as_ref().map_or(0, |payload| 16 * payload.to_string().len())
            }
            Self::Finished { call, error, .. } => texts(call, &[error.as_deref().unwrap_or_default()]),
            Self::ListFinished { .. } | Self::Dropped { .. } => 0,
        }
    }
}

impl From<&CallInfo> for RecordedCall {
    fn from(CallInfo { index, tool, id, node }: &CallInfo) -> Self {
        let id = match id {
            CallId::Text(text) => short(text).into(),
            CallId::Other(raw) if raw.get().len() > LONGEST_TEXT => short(raw.get()).into(),
            id => id.clone(),
        };
        Self { index: *index, tool: short(tool), id, node: node.as_deref().map(short) }
    }
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn short(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(LONGEST_TEXT)])
}

/// Tells whether a piece of progress may be on record, without writing out one that is long.
fn fits(payload: &Value) -> bool {
    let mut room = [0; LONGEST_PIECE];
    serde_json::to_writer(&mut room[..], payload).is_ok()
}

fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version > RECORD_VERSION {
        let newer = format!(
            "record version {version} is newer than this program, which reads up to {RECORD_VERSION}"
        );
        return Err(D::Error::custom(newer));
    }
    Ok(version)
}

/// Reads an id from any format; one that is a number beyond 64 bits may lose digits.
fn any_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallId, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => CallId::Absent,
        Value::String(text) => text.into(),
        other => RawValue::from_string(other.to_string()).map_or(CallId::Absent, CallId::Other),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use toolyard_contract::RunId;

    use super::*;

    fn record(kind: EventKind) -> EventRecord {
        EventRecord::of(&EngineEvent { run: RunId(3), at: Duration::from_micros(5), kind }).unwrap()
    }

    fn call(tool: &str) -> CallInfo {
        CallInfo { index: 1, tool: tool.into(), id: "c1".into(), node: None }
    }

    #[test]
    fn a_record_is_one_flat_line_that_reads_back() {
        let finished = record(EventKind::Finished {
            call: call("Calc"),
            outcome: Outcome::TimedOut,
            error: Some("late\n".into()),
            waited: Duration::from_nanos(7),
            elapsed: Duration::from_secs(1),
        });
        let line = serde_json::to_string(&finished).unwrap();
        let expected =
            r#"{"v":1,"at_ns":5000,"run":3,"event":"finished","call":{"index":1,"tool":"Calc","id":"c1"},"#;
        let rest = r#""outcome":"timed_out","error":"late\n","waited_ns":7,"elapsed_ns":1000000000}"#;
        assert_eq!(line, format!("{expected}{rest}"));
        assert_eq!(serde_json::from_str::<EventRecord>(&line).unwrap(), finished);
    }

    #[test]
    fn a_call_of_a_node_names_it() {
        let started = record(EventKind::Started(CallInfo { node: Some("left".into()), ..call("x") }));
        let line = serde_json::to_string(&started).unwrap();
        assert!(line.ends_with(r#""id":"c1","node":"left"}}"#), "{line}");
        assert_eq!(serde_json::from_str::<EventRecord>(&line).unwrap(), started);
    }

    #[test]
    fn odd_ids_are_kept() {
        for id in ["null", "7", "\"\"", "[1,{\"a\":2}]"] {
            let raw: Box<RawValue> = serde_json::from_str(id).unwrap();
            let started = record(EventKind::Started(CallInfo { id: CallId::from_raw(&raw), ..call("x") }));
            let line = serde_json::to_string(&started).unwrap();
            assert!(line.ends_with(&format!(r#""id":{id}}}}}"#)), "{line}");
            assert_eq!(serde_json::from_str::<EventRecord>(&line).unwrap(), started);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_long_progress_is_left_out() {
        let started = record(EventKind::Started(call(&"ä".repeat(1_000))));
        let RecordedEvent::Started { call: recorded } = started.event else { panic!("{started:?}") };
        assert_eq!(recorded.tool, format!("{}…", "ä".repeat(LONGEST_TEXT / 2)));

        let pieces = [json!("a".repeat(LONGEST_PIECE - 2)), json!("a".repeat(LONGEST_PIECE - 1))];
        let kept = pieces.map(|payload| record(EventKind::Progress { call: call("x"), payload }).event);
        let is_kept =
            |event: &RecordedEvent| matches!(event, RecordedEvent::Progress { payload: Some(_), .. });
        assert_eq!(kept.each_ref().map(is_kept), [true, false]);
    }

    #[test]
    fn a_record_of_a_newer_version_is_refused_by_its_version() {
        let line = r#"{"v":2,"at_ns":0,"event":"dropped","count":1}"#;
        let error = serde_json::from_str::<EventRecord>(line).unwrap_err().to_string();
        assert!(error.contains("version 2 is newer"), "{error}");
    }
}
