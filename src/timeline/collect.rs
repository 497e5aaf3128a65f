//! From records to lists and calls.

use std::{collections::HashMap, io};

use toolyard_actors::WaitsFor;
use toolyard_contract::{BatchKind, CallId, Outcome};

use super::texts::Texts;
use crate::events::{EventRecord, RecordSink, RecordedCall, RecordedEvent};

/// How many calls a timeline shows at most: what a browser still draws smoothly, and some 50 MB here.
const MOST_CALLS: usize = 200_000;

/// What happened, ready to be drawn.
///
/// It takes the lists that begin while fewer than 200,000 calls are known; the page says how many calls
/// it leaves out.
#[derive(Debug, Default)]
pub struct Timeline {
    pub(super) texts: Texts,
    pub(super) lists: Vec<List>,
    /// The calls of each list lie together, in their order.
    pub(super) calls: Vec<Call>,
    /// Waits and begins that are not the last one, in the order of what happened.
    pub(super) marks: Vec<Mark>,
    pub(super) first_ns: Option<u64>,
    pub(super) last_ns: u64,
    pub(super) dropped: u64,
    pub(super) left_out: usize,
    /// Where the lists under way are, by their run.
    under_way: HashMap<u64, usize>,
}

/// One list.
#[derive(Debug)]
pub(super) struct List {
    pub(super) run: u64,
    pub(super) agent: Option<u32>,
    /// The call that submitted it, by its place in the timeline.
    pub(super) parent: Option<usize>,
    pub(super) first_call: usize,
    pub(super) calls: usize,
    pub(super) from_ns: u64,
    pub(super) to_ns: Option<u64>,
}

/// One call. Texts are numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) tool: Option<u32>,
    pub(super) id: Option<u32>,
    pub(super) plan: Option<Planned>,
    /// When its work began; the last try counts.
    pub(super) started_ns: Option<u64>,
    pub(super) end: Option<End>,
}

/// A call's place in the plan.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) at_ns: u64,
    pub(super) actor: u32,
    pub(super) batch: usize,
    pub(super) strategy: BatchKind,
    pub(super) after: Option<usize>,
    pub(super) reason: u32,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) at_ns: u64,
    pub(super) outcome: Outcome,
    pub(super) error: Option<u32>,
    pub(super) elapsed_ns: u64,
}

/// Something that a call did between being planned and its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) call: usize,
    pub(super) at_ns: u64,
    /// What it waits for from here on; `None`: it was tried.
    pub(super) waits_for: Option<WaitsFor>,
}

impl Call {
    /// When its work ended, or when it got an answer without work.
    pub(super) fn ended_ns(&self) -> Option<u64> {
        let end = self.end.as_ref()?;
        Some(self.started_ns.map_or(end.at_ns, |started| started + end.elapsed_ns))
    }
}

impl Timeline {
    /// Takes a record. Records of one list come in the order of what happened.
    pub fn add(&mut self, record: EventRecord) {
        let EventRecord { at_ns, run, event, .. } = record;
        self.first_ns = Some(self.first_ns.map_or(at_ns, |first| first.min(at_ns)));
        self.last_ns = self.last_ns.max(at_ns);
        match (run, event) {
            (_, RecordedEvent::Dropped { count }) => self.dropped += count,
            (Some(run), RecordedEvent::ListAccepted { calls, agent, parent }) => {
                self.begin_list(run, at_ns, calls, agent.as_deref(), parent);
            }
            (Some(run), RecordedEvent::ListFinished { .. }) => {
                if let Some(list) = self.under_way.remove(&run) {
                    self.lists[list].to_ns = Some(at_ns);
                }
            }
            (Some(run), event) => self.add_to_call(run, at_ns, event),
            (None, _) => {}
        }
    }

    fn begin_list(
        &mut self,
        run: u64,
        at_ns: u64,
        calls: usize,
        agent: Option<&str>,
        parent: Option<(u64, usize)>,
    ) {
        let first_call = self.calls.len();
        if first_call + calls > MOST_CALLS {
            self.left_out += calls;
            return;
        }
        let list = List {
            run,
            agent: agent.map(|agent| self.texts.number(agent)),
            parent: parent.and_then(|(run, index)| self.place_of(run, index)),
            first_call,
            calls,
            from_ns: at_ns,
            to_ns: None,
        };
        self.under_way.insert(run, self.lists.len());
        self.lists.push(list);
        self.calls.resize(first_call + calls, Call::default());
    }

    /// Where a call of a list under way is.
    fn place_of(&self, run: u64, index: usize) -> Option<usize> {
        let list = &self.lists[*self.under_way.get(&run)?];
        (index < list.calls).then_some(list.first_call + index)
    }

    fn add_to_call(&mut self, run: u64, at_ns: u64, event: RecordedEvent) {
        let (RecordedEvent::Accepted { call, .. }
        | RecordedEvent::Waiting { call, .. }
        | RecordedEvent::Started { call }
        | RecordedEvent::Finished { call, .. }) = &event
        else {
            return;
        };
        let Some(place) = self.place_of(run, call.index) else { return };
        let list_from_ns = self.lists[self.under_way[&run]].from_ns;
        self.name(place, call);
        let call = &mut self.calls[place];
        match event {
            RecordedEvent::Accepted { actor, batch, strategy, after, reason, .. } => {
                let (actor, reason) = (self.texts.number(&actor), self.texts.number(&reason));
                call.plan = Some(Planned { at_ns, actor, batch, strategy, after, reason });
            }
            RecordedEvent::Waiting { on, .. } => {
                self.marks.push(Mark { call: place, at_ns, waits_for: Some(on) });
            }
            RecordedEvent::Started { .. } => {
                if let Some(before) = call.started_ns.replace(at_ns) {
                    self.marks.push(Mark { call: place, at_ns: before, waits_for: None });
                }
            }
            RecordedEvent::Finished { outcome, error, waited_ns, elapsed_ns, .. } => {
                // The event of the begin comes a little after it; both times are nothing when the end
                // came from somebody who did not know them.
                if call.started_ns.is_some() && (waited_ns, elapsed_ns) != (0, 0) {
                    call.started_ns = Some(list_from_ns + waited_ns);
                }
                let error = error.map(|error| self.texts.number(&error));
                call.end = Some(End { at_ns, outcome, error, elapsed_ns });
            }
            _ => {}
        }
    }

    fn name(&mut self, place: usize, named: &RecordedCall) {
        let call = &mut self.calls[place];
        if call.tool.is_none() {
            call.tool = Some(self.texts.number(&named.tool));
            call.id = match &named.id {
                CallId::Absent => None,
                CallId::Text(text) => Some(self.texts.number(text)),
                CallId::Other(raw) => Some(self.texts.number(raw.get())),
            };
        }
    }
}

impl RecordSink for Timeline {
    fn take(&mut self, record: EventRecord) -> io::Result<()> {
        self.add(record);
        Ok(())
    }
}
