//! What a world's engine says, counted and written down.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use toolyard_contract::{Outcome, result::micros};

use super::log::LogStream;
use crate::{EngineEvent, EventKind, EventTap, events::EventRecord};

/// What has been counted.
pub(super) struct Counts {
    pub(super) lists: u64,
    pub(super) outcomes: BTreeMap<&'static str, u64>,
    /// Microseconds from a list's start to the start of a call's work.
    pub(super) waited: Histogram<u64>,
    /// Microseconds from the start of a call's work to its end.
    pub(super) ran: Histogram<u64>,
    /// Microseconds from a list's start to its end.
    pub(super) listed: Histogram<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        let histogram =
            || Histogram::new(3).unwrap_or_else(|_| unreachable!("3 is a number of digits that there is"));
        Self {
            lists: 0,
            outcomes: BTreeMap::new(),
            waited: histogram(),
            ran: histogram(),
            listed: histogram(),
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.lists += other.lists;
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        for (own, other) in [
            (&mut self.waited, &other.waited),
            (&mut self.ran, &other.ran),
            (&mut self.listed, &other.listed),
        ] {
            own.add(other).unwrap_or_else(|_| unreachable!("histograms that resize take everything"));
        }
    }

    fn finished(&mut self, outcome: Outcome, waited: Duration, ran: Duration) {
        *self.outcomes.entry(outcome.as_str()).or_default() += 1;
        note(&mut self.waited, waited);
        note(&mut self.ran, ran);
    }
}

fn note(histogram: &mut Histogram<u64>, duration: Duration) {
    // One that grows refuses nothing.
    let _ = histogram.record(micros(duration));
}

/// Listens to the engine of one world.
pub(super) struct WorldTap {
    /// The number of the world, where there are several.
    group: Option<u32>,
    log: Option<Arc<LogStream>>,
    counts: Mutex<Counts>,
}

#[derive(Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(flatten)]
    record: EventRecord,
}

impl WorldTap {
    pub(super) fn new(group: Option<u32>, log: Option<Arc<LogStream>>) -> Self {
        Self { group, log, counts: Mutex::default() }
    }

    /// What has been counted since the last time.
    pub(super) fn take(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock())
    }
}

impl EventTap for WorldTap {
    fn take(&self, event: &EngineEvent) -> bool {
        {
            let mut counts = self.counts.lock();
            match &event.kind {
                EventKind::Finished { outcome, waited, elapsed, .. } => {
                    counts.finished(*outcome, *waited, *elapsed);
                }
                EventKind::ListFinished { elapsed } => {
                    counts.lists += 1;
                    note(&mut counts.listed, *elapsed);
                }
                _ => {}
            }
        }
        if let (Some(log), Some(record)) = (&self.log, EventRecord::of(event)) {
            let at = record.at_ns;
            let line = serde_json::to_string(&Line { group: self.group, record });
            line.map_or(true, |line| log.write(at, self.group.unwrap_or_default(), line))
        } else {
            true
        }
    }
}
