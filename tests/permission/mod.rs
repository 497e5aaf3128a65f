//! Who may run what: policies, calls that wait, and lists that go on.

mod kill;
mod policy;
mod property;
mod resume;
mod store;
mod suspend;

use std::{collections::BTreeMap, sync::Arc};

use futures::executor::block_on;
use parking_lot::Mutex;
use serde_json::json;
use toolyard::{
    Answers, Engine, EngineBuilder, ExecuteOptions, PermissionRule, PermissionRules, Report, ResumeError,
    RulePolicy, SuspendedList, Tool, ToolCall, ToolSpec, Verdict,
};

use crate::engine::tools::{call, field, tool};

/// How often each call ran, by its argument `n`.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<i64, usize>>>);

impl Counts {
    /// The calls that ran, each once.
    fn ran_once(&self) -> Vec<i64> {
        let counts = self.0.lock();
        assert!(counts.values().all(|times| *times == 1), "something ran twice: {counts:?}");
        counts.keys().copied().collect()
    }

    /// A tool that counts and may overlap.
    fn tool(&self, name: &str) -> impl Tool + use<> {
        let counts = self.clone();
        tool(spec(name), move |invocation| {
            let n = field(&invocation, "n").as_i64().unwrap();
            *counts.0.lock().entry(n).or_default() += 1;
            async move { Ok(format!("did {n}").into()) }
        })
    }
}

fn spec(name: &str) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    ToolSpec::new(name).parallel_safe(true).input_schema(schema)
}

/// Asks about `guarded`, denies `banned`, allows the rest.
fn rules() -> RulePolicy {
    let rule = vec![
        PermissionRule::new(Verdict::Ask, "guarded", "*"),
        PermissionRule::new(Verdict::Deny, "banned", "*"),
    ];
    RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap()
}

/// An engine with the tools `free`, `guarded` and `banned`, which all count.
fn counting() -> (Engine, Counts) {
    let counts = Counts::default();
    (with_tools(&counts).permissions(rules()).build().unwrap(), counts)
}

fn with_tools(counts: &Counts) -> EngineBuilder {
    Engine::builder().tools(["free", "guarded", "banned"].map(|name| counts.tool(name)))
}

/// A call whose position in its list is `n`.
fn nth(tool: &str, n: usize) -> ToolCall {
    call(tool, json!({"n": n}))
}

/// Runs a list and gives what came of it, with the record to go on with.
fn run(engine: &Engine, calls: Vec<ToolCall>) -> (Report, SuspendedList) {
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    let list = report.suspend("list".into());
    (report, list)
}

fn resume(engine: &Engine, list: &mut SuspendedList, answers: &Answers) -> Result<Report, ResumeError> {
    block_on(engine.resume(list, answers, ExecuteOptions::new()))
}

/// The ids of the open requests, in call order.
fn ids(list: &SuspendedList) -> Vec<String> {
    list.parked.iter().map(|parked| parked.call.request_id.clone()).collect()
}
