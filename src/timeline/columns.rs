//! The data of the page, column by column: half the size of a list of objects, and quickly read.

use serde::Serialize;
use toolyard_contract::{BatchKind, Outcome};

use super::{collect::Timeline, texts::Texts};

/// What the page reads. Times are nanoseconds since the first event; texts, calls and lists are numbers.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    span: u64,
    dropped: u64,
    left_out: usize,
    outcomes: Vec<&'static str>,
    kinds: Vec<&'static str>,
    texts: &'a Texts,
    lists: Lists,
    batches: Batches,
    calls: Calls,
    stretches: Stretches,
}

#[derive(Default, Serialize)]
struct Lists {
    run: Vec<u64>,
    agent: Vec<Option<u32>>,
    parent: Vec<Option<usize>>,
    calls: Vec<usize>,
    from: Vec<u64>,
    to: Vec<u64>,
}

#[derive(Default, Serialize)]
struct Batches {
    list: Vec<usize>,
    number: Vec<usize>,
    concurrent: Vec<u8>,
    calls: Vec<usize>,
    from: Vec<u64>,
    to: Vec<u64>,
}

/// The columns of calls; a call that never began has no `from`, one without an answer no `outcome`.
#[derive(Default, Serialize)]
struct Calls {
    list: Vec<usize>,
    index: Vec<usize>,
    tool: Vec<Option<u32>>,
    id: Vec<Option<u32>>,
    actor: Vec<Option<u32>>,
    batch: Vec<Option<usize>>,
    after: Vec<Option<usize>>,
    reason: Vec<Option<u32>>,
    planned: Vec<Option<u64>>,
    from: Vec<Option<u64>>,
    to: Vec<u64>,
    outcome: Vec<Option<usize>>,
    error: Vec<Option<u32>>,
    elapsed: Vec<u64>,
}

#[derive(Default, Serialize)]
struct Stretches {
    call: Vec<usize>,
    kind: Vec<usize>,
    from: Vec<u64>,
    to: Vec<u64>,
}

impl<'a> Data<'a> {
    pub(super) fn of(timeline: &'a Timeline) -> Self {
        let first = timeline.first_ns.unwrap_or(0);
        let mut data = Self {
            span: timeline.last_ns.saturating_sub(first),
            dropped: timeline.dropped,
            left_out: timeline.left_out,
            outcomes: Outcome::ALL.map(Outcome::as_str).to_vec(),
            kinds: Vec::new(),
            texts: &timeline.texts,
            lists: Lists::default(),
            batches: Batches::default(),
            calls: Calls::default(),
            stretches: Stretches::default(),
        };
        for list in 0..timeline.lists.len() {
            data.add_list(timeline, list, first);
        }
        for stretch in timeline.stretches() {
            let name = stretch.kind.as_str();
            let kind = data.kinds.iter().position(|kind| *kind == name).unwrap_or_else(|| {
                data.kinds.push(name);
                data.kinds.len() - 1
            });
            data.stretches.call.push(stretch.call);
            data.stretches.kind.push(kind);
            data.stretches.from.push(stretch.from_ns.saturating_sub(first));
            data.stretches.to.push(stretch.to_ns.saturating_sub(first));
        }
        data
    }

    fn add_list(&mut self, timeline: &Timeline, number: usize, first: u64) {
        let (list, since) = (&timeline.lists[number], |at: u64| at.saturating_sub(first));
        let until = since(list.to_ns.unwrap_or(timeline.last_ns));
        self.lists.run.push(list.run);
        self.lists.agent.push(list.agent);
        self.lists.parent.push(list.parent);
        self.lists.calls.push(list.calls);
        self.lists.from.push(since(list.from_ns));
        self.lists.to.push(until);
        let mut last_batch = None;
        for index in 0..list.calls {
            let call = &timeline.calls[list.first_call + index];
            let from = call.started_ns.map(since);
            let to = call.ended_ns().map_or(until, since);
            let batch = call.plan.as_ref().map(|plan| {
                if last_batch.replace(plan.batch) != Some(plan.batch) {
                    self.batches.add(number, plan.batch, plan.strategy);
                }
                let place = self.batches.list.len() - 1;
                self.batches.widen(place, from.unwrap_or(to), to);
                place
            });
            let (plan, end) = (call.plan.as_ref(), call.end.as_ref());
            let outcome = |outcome| Outcome::ALL.iter().position(|other| *other == outcome);
            let calls = &mut self.calls;
            calls.list.push(number);
            calls.index.push(index);
            calls.tool.push(call.tool);
            calls.id.push(call.id);
            calls.actor.push(plan.map(|plan| plan.actor));
            calls.batch.push(batch);
            calls.after.push(plan.and_then(|plan| plan.after));
            calls.reason.push(plan.map(|plan| plan.reason));
            calls.planned.push(plan.map(|plan| since(plan.at_ns)));
            calls.from.push(from);
            calls.to.push(to);
            calls.outcome.push(end.and_then(|end| outcome(end.outcome)));
            calls.error.push(end.and_then(|end| end.error));
            calls.elapsed.push(end.map_or(0, |end| end.elapsed_ns));
        }
    }
}

impl Batches {
    /// Adds a batch without calls.
    fn add(&mut self, list: usize, number: usize, strategy: BatchKind) {
        self.list.push(list);
        self.number.push(number);
        self.concurrent.push(u8::from(strategy == BatchKind::Concurrent));
        self.calls.push(0);
        self.from.push(u64::MAX);
        self.to.push(0);
    }

    /// Adds a call to a batch.
    fn widen(&mut self, place: usize, from: u64, to: u64) {
        self.calls[place] += 1;
        self.from[place] = self.from[place].min(from);
        self.to[place] = self.to[place].max(to);
    }
}
