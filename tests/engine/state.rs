//! State: one call at a time on a row, rollback, rows by agent, access from outside.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use futures::executor::block_on;
use serde_json::{json, value::to_raw_value};
use tokio::sync::Notify;
use toolyard::{
    Engine, ExecuteOptions, Execution, Failure, Invocation, Report, StateError, StateScope, StateWork,
    Stateful, StatefulTool, ToolRows, ToolSpec,
};

use super::tools::{call, field, outcomes, paused};

/// A counter whose calls count at once, after a wait, or on a thread, and end as they are told.
pub(crate) struct Counter {
    spec: ToolSpec,
    scope: StateScope,
    gate: Option<Arc<Notify>>,
}

impl Counter {
    pub(crate) fn new(name: &str, scope: StateScope) -> Self {
        Self { spec: ToolSpec::new(name).parallel_safe(true), scope, gate: None }
    }

    pub(crate) fn with_spec(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    fn behind(mut self, gate: &Arc<Notify>) -> Self {
        self.gate = Some(gate.clone());
        self
    }
}

fn end(how: &str, count: i64) -> toolyard::ToolReturn {
    match how {
        "fail" => Err(Failure::failed("as asked")),
        "panic" => panic!("as asked"),
        _ => Ok(json!(count).into()),
    }
}

impl StatefulTool for Counter {
    type State = i64;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        self.scope
    }

    fn initial(&self, _: Option<&str>) -> i64 {
        0
    }

    fn work(self: Arc<Self>, invocation: Invocation, count: i64) -> StateWork<i64> {
        let arguments = |name: &str| field(&invocation, name).as_str().unwrap_or_default().to_owned();
        let (work, how) = (arguments("work"), arguments("how"));
        let millis = field(&invocation, "ms").as_u64().unwrap_or(1);
        let count = count + 1;
        match work.as_str() {
            "wait" => StateWork::Waits(Box::pin(async move {
                match &self.gate {
                    Some(gate) => gate.notified().await,
                    None => tokio::time::sleep(Duration::from_millis(millis)).await,
                }
                (end(&how, count), count)
            })),
            "block" => StateWork::Blocks(Box::new(move || {
                if let Some(gate) = &self.gate {
                    block_on(gate.notified());
                }
                (end(&how, count), count)
            })),
            _ => StateWork::Done(end(&how, count), count),
        }
    }
}

fn count(engine: &Engine, tool: &str, agent: Option<&str>) -> i64 {
    let raw = block_on(engine.state(tool, agent)).unwrap();
    raw.map_or(0, |raw| serde_json::from_str(raw.get()).unwrap())
}

fn run(engine: &Engine, agent: &str, calls: Vec<toolyard::ToolCall>) -> Report {
    engine.execute_blocking(calls, ExecuteOptions::new().agent(agent)).unwrap()
}

#[test]
fn a_thousand_increments_in_ten_lists_at_once_are_a_thousand() {
    let engine =
        Engine::builder().tool(Stateful::new(Counter::new("count", StateScope::Engine))).build().unwrap();
    std::thread::scope(|scope| {
        for list in 0..10 {
            let engine = &engine;
            scope.spawn(move || {
                let work = ["now", "wait", "block"][list % 3];
                let calls = (0..100).map(|_| call("count", json!({"work": work}))).collect();
                assert!(run(engine, &format!("agent {list}"), calls).all_ok());
            });
        }
    });
    assert_eq!(count(&engine, "count", None), 1000);
}

#[test]
fn only_calls_that_end_ok_count_among_failures_panics_and_timeouts() {
    for seed in 0..10_u64 {
        let counter = Counter::new("count", StateScope::Engine)
            .with_spec(|spec| spec.timeout(Duration::from_millis(50)));
        let engine = paused().tool(Stateful::new(counter)).build().unwrap();
        let ok = AtomicI64::new(0);
        std::thread::scope(|scope| {
            for list in 0..10_u64 {
                let (engine, ok) = (&engine, &ok);
                scope.spawn(move || {
                    let mut random = seed * 1_000_003 + list * 7919 + 1;
                    let mut pick = |from: &[&'static str]| {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        from[usize::try_from(random >> 33).unwrap() % from.len()]
                    };
                    let calls = (0..100).map(|_| {
                        let (work, how) =
                            (pick(&["now", "wait", "block"]), pick(&["ok", "ok", "fail", "panic"]));
                        // Some waits are longer than the time-out.
                        let ms = pick(&["1", "99"]).parse::<u64>().unwrap();
                        call("count", json!({"work": work, "how": how, "ms": ms}))
                    });
                    let report = run(engine, "a", calls.collect());
                    assert_eq!(report.results.len(), 100);
                    let count = report.results.iter().filter(|result| result.is_ok()).count();
                    ok.fetch_add(i64::try_from(count).unwrap(), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(count(&engine, "count", None), ok.load(Ordering::SeqCst), "seed {seed}");
    }
}

#[test]
fn agents_have_rows_of_their_own_on_every_arbiter() {
    let counter = Counter::new("count", StateScope::Agent);
    let engine = Engine::builder().arbiters(3).tool(Stateful::new(counter)).build().unwrap();
    for agent in 0..30 {
        let calls = (0..=agent).map(|_| call("count", json!({}))).collect();
        assert!(run(&engine, &format!("agent-{agent}"), calls).all_ok());
    }
    for agent in 0..30 {
        assert_eq!(count(&engine, "count", Some(&format!("agent-{agent}"))), agent + 1);
    }
    assert_eq!(block_on(engine.forget("agent-7")).unwrap().rows, 1);
    assert_eq!(block_on(engine.state("count", Some("agent-7"))).unwrap().map(|raw| raw.to_string()), None);
    let rows: usize = block_on(engine.snapshot(None)).unwrap().iter().map(|tool| tool.rows.len()).sum();
    assert_eq!(rows, 29);
}

#[test]
fn a_busy_row_keeps_others_waiting_in_order_while_reads_and_other_rows_go_on() {
    let gate = Arc::new(Notify::new());
    let counter = Counter::new("count", StateScope::Agent).behind(&gate);
    let engine = Engine::builder().tool(Stateful::new(counter)).build().unwrap();
    let mut events = engine.subscribe(100);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let calls = vec![call("count", json!({"work": "wait"})), call("count", json!({}))];
            run(&engine, "busy", calls)
        });
        while !matches!(events.next_blocking().unwrap().kind, toolyard::EventKind::Started(_)) {}
        assert!(run(&engine, "other", vec![call("count", json!({}))]).all_ok());
        assert_eq!(count(&engine, "count", Some("busy")), 0, "a snapshot sees what is committed");
        gate.notify_one();
        let report = busy.join().unwrap();
        let counts: Vec<_> = report.results.iter().map(|r| r.output.as_ref().unwrap().to_text()).collect();
        assert_eq!(counts, ["1", "2"]);
    });
}

#[test]
fn calls_that_wait_for_a_row_can_be_cancelled_and_do_not_wait_for_ever() {
    let gate = Arc::new(Notify::new());
    let counter = Counter::new("count", StateScope::Engine).behind(&gate);
    let engine = Engine::builder()
        .tool(Stateful::new(counter))
        .admission_timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let mut events = engine.subscribe(100);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| run(&engine, "a", vec![call("count", json!({"work": "wait"}))]));
        while !matches!(events.next_blocking().unwrap().kind, toolyard::EventKind::Started(_)) {}
        let late = run(&engine, "b", vec![call("count", json!({}))]);
        assert_eq!(outcomes(&late), ["not_started"]);
        let options = ExecuteOptions::new().deadline(Duration::from_millis(20));
        let cut = engine.execute_blocking(vec![call("count", json!({}))], options).unwrap();
        assert_eq!(outcomes(&cut), ["skipped"]);
        let waiting = engine.submit(vec![call("count", json!({})); 2], ExecuteOptions::new());
        let control = waiting.control();
        let cancelled = scope.spawn(|| block_on(waiting.into_future()).unwrap());
        control.cancel_call(1);
        control.cancel();
        assert_eq!(outcomes(&cancelled.join().unwrap()), ["skipped", "skipped"]);
        gate.notify_one();
        assert!(busy.join().unwrap().all_ok());
    });
    assert_eq!(count(&engine, "count", None), 1);
}

#[test]
fn a_blocking_body_past_its_deadline_keeps_its_row_busy_and_commits_nothing() {
    let gate = Arc::new(Notify::new());
    let counter = Counter::new("count", StateScope::Engine)
        .behind(&gate)
        .with_spec(|spec| spec.execution(Execution::Blocking).timeout(Duration::from_millis(250)));
    let engine = Engine::builder().tool(Stateful::new(counter)).build().unwrap();
    let late = run(&engine, "a", vec![call("count", json!({"work": "block"}))]);
    assert_eq!(outcomes(&late), ["timed_out"]);
    assert!(late.results[0].detail.as_ref().unwrap().still_running);
    std::thread::scope(|scope| {
        let next = scope.spawn(|| run(&engine, "a", vec![call("count", json!({}))]));
        gate.notify_one();
        assert_eq!(next.join().unwrap().results[0].output.as_ref().unwrap().to_text(), "1");
    });
}

#[test]
fn a_state_that_was_replaced_under_a_call_makes_it_lost() {
    let gate = Arc::new(Notify::new());
    let counter = Counter::new("count", StateScope::Engine).behind(&gate);
    let engine = Engine::builder().tool(Stateful::new(counter)).build().unwrap();
    let mut events = engine.subscribe(100);
    std::thread::scope(|scope| {
        let under_way = scope.spawn(|| run(&engine, "a", vec![call("count", json!({"work": "wait"}))]));
        while !matches!(events.next_blocking().unwrap().kind, toolyard::EventKind::Started(_)) {}
        block_on(engine.set_state("count", None, to_raw_value(&500).unwrap())).unwrap();
        gate.notify_one();
        assert_eq!(outcomes(&under_way.join().unwrap()), ["lost"]);
    });
    assert_eq!(count(&engine, "count", None), 500);
}

#[test]
fn a_snapshot_loads_elsewhere_all_or_nothing() {
    let build = |arbiters| {
        let tools = [Counter::new("mine", StateScope::Agent), Counter::new("ours", StateScope::Engine)];
        let builder = Engine::builder().arbiters(arbiters);
        tools.into_iter().fold(builder, |builder, tool| builder.tool(Stateful::new(tool))).build().unwrap()
    };
    let (old, new) = (build(3), build(2));
    for agent in ["a", "b", "c", "d"] {
        assert!(run(&old, agent, vec![call("mine", json!({})), call("ours", json!({}))]).all_ok());
    }
    let mut taken = block_on(old.snapshot(None)).unwrap();
    taken.push(ToolRows { tool: "gone".into(), rows: Vec::new() });
    assert_eq!(block_on(new.load(taken.clone())).unwrap(), ["gone"]);
    assert_eq!((count(&new, "mine", Some("c")), count(&new, "ours", None)), (1, 4));

    taken[0].rows[1].state = to_raw_value("not a number").unwrap();
    assert!(run(&new, "a", vec![call("mine", json!({}))]).all_ok());
    assert!(matches!(block_on(new.load(taken)), Err(StateError::BadRow { .. })));
    assert_eq!(count(&new, "mine", Some("a")), 2, "nothing was replaced");
}

#[test]
fn a_snapshot_in_the_middle_is_a_state_between_two_commits() {
    let engine =
        Engine::builder().tool(Stateful::new(Counter::new("count", StateScope::Agent))).build().unwrap();
    std::thread::scope(|scope| {
        for agent in ["a", "b", "c"] {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..50 {
                    assert!(run(engine, agent, vec![call("count", json!({"work": "wait"}))]).all_ok());
                }
            });
        }
        let mut before = [0, 0, 0];
        for _ in 0..50 {
            let rows = block_on(engine.snapshot(Some("count"))).unwrap().remove(0).rows;
            for row in rows {
                let slot = &mut before
                    [["a", "b", "c"].iter().position(|id| row.agent.as_deref() == Some(id)).unwrap()];
                let seen: i64 = serde_json::from_str(row.state.get()).unwrap();
                assert!((*slot..=50).contains(&seen), "a count never goes back and is never half done");
                *slot = seen;
            }
        }
    });
}
