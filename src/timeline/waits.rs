//! What each call waited for, and from when to when.

use toolyard_actors::WaitsFor;

use super::collect::{Call, Timeline};

/// A stretch of time before a call's last try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) call: usize,
    pub(super) kind: StretchKind,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// What a stretch was spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StretchKind {
    /// Calls before it in the plan had to end.
    Order,
    /// It was on its way to its actor.
    Turn,
    /// A try that was not the last.
    Try,
    /// Something was taken, busy or not there yet.
    On(WaitsFor),
}

impl StretchKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Turn => "turn",
            Self::Try => "try",
            Self::On(waits_for) => waits_for.as_str(),
        }
    }
}

impl Timeline {
    /// The stretches of all calls, call by call, each in the order of time.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        let mut marks = self.marks.clone();
        // A begin is marked late, when the next one comes.
        marks.sort_by_key(|mark| (mark.call, mark.at_ns));
        let mut marks = marks.into_iter().peekable();
        let mut out = Vec::new();
        for list in &self.lists {
            let calls = &self.calls[list.first_call..list.first_call + list.calls];
            let ended = ended_up_to(calls, self.last_ns);
            for (index, call) in calls.iter().enumerate() {
                let place = list.first_call + index;
                let until = call.started_ns.or_else(|| call.ended_ns()).unwrap_or(self.last_ns);
                let planned = call.plan.as_ref().map_or(list.from_ns, |plan| plan.at_ns).min(until);
                let after = call.plan.as_ref().and_then(|plan| plan.after);
                let free = after.map_or(planned, |after| ended[after].clamp(planned, until));
                let mut push = |kind, from_ns, to_ns| {
                    if from_ns < to_ns {
                        out.push(Stretch { call: place, kind, from_ns, to_ns });
                    }
                };
                push(StretchKind::Order, planned, free);
                let mut open = (StretchKind::Turn, free);
                while let Some(mark) = marks.next_if(|mark| mark.call == place) {
                    let at = mark.at_ns.clamp(open.1, until);
                    // From being planned to being told to wait, nothing was waited for but that.
                    let is_first_wait = open.0 == StretchKind::Turn && mark.waits_for.is_some();
                    let from = if is_first_wait { open.1 } else { at };
                    push(open.0, open.1, from);
                    open = (mark.waits_for.map_or(StretchKind::Try, StretchKind::On), from);
                }
                if call.plan.is_some() || open.0 != StretchKind::Turn {
                    push(open.0, open.1, until);
                }
            }
        }
        out
    }
}

/// By position: when the last of the planned calls up to there ended.
fn ended_up_to(calls: &[Call], last_ns: u64) -> Vec<u64> {
    let ended = calls.iter().scan(0, |latest, call| {
        if call.plan.is_some() {
            *latest = call.ended_ns().unwrap_or(last_ns).max(*latest);
        }
        Some(*latest)
    });
    ended.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The stretches of a list of `calls` whose events are given by time and name.
    fn stretches(calls: usize, events: &[(u64, usize, Value)]) -> Vec<(usize, &'static str, u64, u64)> {
        let mut timeline = Timeline::default();
        let start = json!({"v": 1, "at_ns": 0, "run": 1, "event": "list_accepted", "calls": calls});
        timeline.add(serde_json::from_value(start).unwrap());
        for (at_ns, index, event) in events {
            let mut record =
                json!({"v": 1, "at_ns": at_ns, "run": 1, "call": {"index": index, "tool": "t", "id": null}});
            record.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
            timeline.add(serde_json::from_value(record).unwrap());
        }
        timeline.stretches().iter().map(|s| (s.call, s.kind.as_str(), s.from_ns, s.to_ns)).collect()
    }

    fn accepted(after: Option<usize>) -> Value {
        json!({"event": "accepted", "actor": "t", "batch": 0, "strategy": "sequential", "after": after, "reason": ""})
    }

    fn waiting(on: &str) -> Value {
        json!({"event": "waiting", "on": on})
    }

    fn started() -> Value {
        json!({"event": "started"})
    }

    fn finished(waited_ns: u64, elapsed_ns: u64) -> Value {
        json!({"event": "finished", "outcome": "ok", "waited_ns": waited_ns, "elapsed_ns": elapsed_ns})
    }

    #[test]
    fn a_call_waits_for_the_calls_before_it_then_for_its_place_then_begins() {
        let events = [
            (1, 0, accepted(None)),
            (1, 1, accepted(Some(0))),
            (5, 0, started()),
            (15, 0, finished(5, 8)),
            (16, 1, waiting("tool")),
            (21, 1, started()),
            (22, 1, finished(20, 1)),
        ];
        let expected = [(0, "turn", 1, 5), (1, "order", 1, 13), (1, "tool", 13, 20)];
        assert_eq!(stretches(2, &events), expected);
    }

    #[test]
    fn tries_before_the_last_and_the_pauses_between_are_stretches() {
        let events = [
            (0, 0, accepted(None)),
            (2, 0, started()),
            (6, 0, waiting("retry")),
            (9, 0, started()),
            (12, 0, finished(9, 3)),
        ];
        assert_eq!(stretches(1, &events), [(0, "turn", 0, 2), (0, "try", 2, 6), (0, "retry", 6, 9)]);
    }

    #[test]
    fn a_call_that_never_begins_waits_until_its_answer_and_a_refused_one_waits_for_nothing() {
        let events = [
            (1, 0, accepted(None)),
            (2, 0, waiting("engine")),
            (2, 1, finished(0, 0)),
            (9, 0, finished(0, 0)),
        ];
        assert_eq!(stretches(2, &events), [(0, "engine", 1, 9)]);
    }
}
