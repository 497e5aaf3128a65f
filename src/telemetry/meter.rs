//! Counts and times by the `metrics` facade.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use metrics::{
    SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use parking_lot::{Mutex, RwLock};
use toolyard_actors::{CallInfo, EngineEvent, EventKind, EventTap, WaitsFor};
use toolyard_contract::{RunId, name};

use crate::Engine;

/// How many names are told apart at most: names come from models, and each is a time series.
const MOST_NAMES: usize = 1_000;

/// The name for all that no tool has.
const OTHER: SharedString = SharedString::const_str("(other)");

/// Counts and measures what the engine does from now on, with the recorder that is installed for the
/// [`metrics`] facade.
///
/// | name | kind | labels |
/// |---|---|---|
/// | `toolyard_lists_total` | counter | |
/// | `toolyard_lists_under_way` | gauge | |
/// | `toolyard_list_seconds` | histogram | |
/// | `toolyard_calls_running` | gauge | `tool` |
/// | `toolyard_calls_total` | counter | `tool`, `outcome` |
/// | `toolyard_tries_total` | counter | `tool` |
/// | `toolyard_waits_total` | counter | `tool`, `on`: what was waited for |
/// | `toolyard_wait_seconds` | histogram | `tool`: from the list's start to the work's |
/// | `toolyard_call_seconds` | histogram | `tool`: the work |
/// | `toolyard_blocked_total` | counter | `tool`: it kept its arbiter from all other work for 2 s |
///
/// `tool` is a tool's own name, or `(other)` for calls that named none. Nothing else that a model or a
/// tool says becomes a label.
pub fn measure(engine: &Engine) {
    describe_counter!("toolyard_lists_total", "Lists of calls that were taken.");
    describe_gauge!("toolyard_lists_under_way", "Lists that have not all their answers yet.");
    describe_histogram!("toolyard_list_seconds", Unit::Seconds, "From a list's start to its last answer.");
    describe_gauge!("toolyard_calls_running", "Calls whose work has begun and not ended.");
    describe_counter!("toolyard_calls_total", "Calls that have their answer.");
    describe_counter!("toolyard_tries_total", "How often the work of a call began.");
    describe_counter!("toolyard_waits_total", "Calls that had to wait for something, by what it was.");
    describe_histogram!(
        "toolyard_wait_seconds",
        Unit::Seconds,
        "From a list's start to the start of a call's work."
    );
    describe_histogram!(
        "toolyard_call_seconds",
        Unit::Seconds,
        "From the start of a call's work to its end."
    );
    describe_counter!(
        "toolyard_blocked_total",
        "Turns in which a tool kept its arbiter from all other work."
    );
    let names = Mutex::new(HashSet::new());
    engine.on_blocked(Arc::new(move |tool| {
        let mut names = names.lock();
        let told_apart = names.contains(tool) || names.len() < MOST_NAMES && names.insert(tool.to_owned());
        let tool = if told_apart { tool.to_owned().into() } else { OTHER };
        counter!("toolyard_blocked_total", "tool" => tool).increment(1);
    }));
    engine.tap(Arc::new(Meter::default()));
}

/// Turns events into numbers.
#[derive(Default)]
struct Meter {
    /// The own names of the tools, by what calls may call them.
    names: RwLock<HashMap<String, SharedString>>,
    /// The calls whose work goes on: one may begin again after a pause, or end in one.
    running: Mutex<HashSet<(RunId, usize)>>,
}

impl Meter {
    /// Remembers what a tool is called: only planned calls name tools that exist.
    fn learn(&self, called: &str, tool: &str) {
        let key = name::key(called);
        if self.names.read().contains_key(&*key) {
            return;
        }
        let mut names = self.names.write();
        if names.len() < MOST_NAMES {
            names.insert(key.into_owned(), tool.to_owned().into());
        }
    }

    fn begun(&self, run: RunId, call: &CallInfo) {
        if self.running.lock().insert((run, call.index)) {
            gauge!("toolyard_calls_running", "tool" => self.tool(call)).increment(1);
        }
    }

    fn ended(&self, run: RunId, call: &CallInfo) {
        if self.running.lock().remove(&(run, call.index)) {
            gauge!("toolyard_calls_running", "tool" => self.tool(call)).decrement(1);
        }
    }

    fn tool(&self, call: &CallInfo) -> SharedString {
        self.names.read().get(&*name::key(&call.tool)).cloned().unwrap_or(OTHER)
    }
}

impl EventTap for Meter {
    fn take(&self, event: &EngineEvent) -> bool {
        match &event.kind {
            EventKind::ListAccepted { .. } => {
                counter!("toolyard_lists_total").increment(1);
                gauge!("toolyard_lists_under_way").increment(1);
            }
            EventKind::Accepted { call, place } => self.learn(&call.tool, &place.tool),
            EventKind::Waiting { call, on } => {
                counter!("toolyard_waits_total", "tool" => self.tool(call), "on" => on.as_str()).increment(1);
                if *on == WaitsFor::Retry {
                    self.ended(event.run, call);
                }
            }
            EventKind::Started(call) => {
                counter!("toolyard_tries_total", "tool" => self.tool(call)).increment(1);
                self.begun(event.run, call);
            }
            EventKind::Finished { call, outcome, waited, elapsed, .. } => {
                self.ended(event.run, call);
                let tool = self.tool(call);
                let outcome = outcome.as_str();
                counter!("toolyard_calls_total", "tool" => tool.clone(), "outcome" => outcome).increment(1);
                // Both are nothing for calls that never began.
                if !(waited.is_zero() && elapsed.is_zero()) {
                    histogram!("toolyard_wait_seconds", "tool" => tool.clone()).record(*waited);
                    histogram!("toolyard_call_seconds", "tool" => tool).record(*elapsed);
                }
            }
            EventKind::ListFinished { elapsed } => {
                gauge!("toolyard_lists_under_way").decrement(1);
                histogram!("toolyard_list_seconds").record(*elapsed);
            }
            _ => {}
        }
        true
    }
}
