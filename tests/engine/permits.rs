//! Narrow things are waited for before wide ones are taken, and a call's time starts when its work begins.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, executor::block_on, stream::FuturesUnordered};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolyard::{
    Engine, EventKind, ExecuteOptions, Execution, Failure, Invocation, Outcome, Report, StateScope,
    StateWork, Stateful, StatefulTool, ToolSpec, WaitsFor,
};

use super::tools::{LONG, blocking, call, field, held, outcomes, paused, tool};

/// A row that all share, whose calls say that they are at work, wait, and note what they saw.
struct Shared {
    spec: ToolSpec,
    scope: StateScope,
    at_work: Arc<Mutex<BTreeMap<String, bool>>>,
    began: Arc<Mutex<Vec<(u64, u64)>>>,
    running: Arc<AtomicUsize>,
    broken: Arc<AtomicBool>,
    most: usize,
    until: Option<crossbeam_channel::Receiver<()>>,
}

impl Shared {
    fn new(scope: StateScope, most: usize) -> Self {
        Self {
            spec: ToolSpec::new("row").parallel_safe(true),
            scope,
            at_work: Arc::default(),
            began: Arc::default(),
            running: Arc::default(),
            broken: Arc::default(),
            most,
            until: None,
        }
    }

    fn row(&self, invocation: &Invocation) -> String {
        let agent = invocation.context.agent().unwrap_or_default();
        if self.scope == StateScope::Agent { agent.to_owned() } else { String::new() }
    }

    fn enter(&self, invocation: &Invocation) {
        let twice = self.at_work.lock().insert(self.row(invocation), true) == Some(true);
        let many = self.running.fetch_add(1, Ordering::SeqCst) + 1 > self.most;
        self.broken.fetch_or(twice || many, Ordering::SeqCst);
        let number = |name: &str| field(invocation, name).as_u64().unwrap_or_default();
        self.began.lock().push((number("list"), number("at")));
    }

    fn leave(&self, invocation: &Invocation) {
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.at_work.lock().insert(self.row(invocation), false);
    }
}

impl StatefulTool for Shared {
    type State = u64;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        self.scope
    }

    fn initial(&self, _: Option<&str>) -> u64 {
        0
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: u64) -> StateWork<u64> {
        let end = move |tool: &Self, invocation: &Invocation| {
            tool.leave(invocation);
            match field(invocation, "fails") {
                Value::Bool(true) => Err(Failure::failed("as asked")),
                _ => Ok(json!(state + 1).into()),
            }
        };
        match field(&invocation, "work").as_str() {
            Some("wait") => StateWork::Waits(Box::pin(async move {
                self.enter(&invocation);
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                (end(&self, &invocation), state + 1)
            })),
            Some("block") => StateWork::Blocks(Box::new(move || {
                self.enter(&invocation);
                if let Some(until) = &self.until {
                    let _ = until.recv_timeout(LONG);
                }
                (end(&self, &invocation), state + 1)
            })),
            _ => {
                self.enter(&invocation);
                StateWork::Done(end(&self, &invocation), state + 1)
            }
        }
    }
}

#[test]
fn agents_that_wait_for_a_row_are_in_nobodys_way() {
    let (free, until) = crossbeam_channel::unbounded();
    let mut row = Shared::new(StateScope::Engine, 1);
    row.until = Some(until);
    row.spec = row.spec.execution(Execution::Blocking);
    let engine = Engine::builder()
        .tool(Stateful::new(row))
        .tool(blocking(ToolSpec::new("instant"), |_| Ok("at once".into())))
        .max_blocking(4)
        .max_in_flight(6)
        .admission_timeout(Duration::from_secs(10))
        .build()
        .unwrap();
    let mut events = engine.subscribe(1_000);
    std::thread::scope(|scope| {
        let list = |agent: usize| {
            let calls = vec![call("row", json!({"work": "block"})); 2];
            engine.execute_blocking(calls, ExecuteOptions::new().agent(agent.to_string())).unwrap()
        };
        let lists: Vec<_> = (0..20).map(|agent| scope.spawn(move || list(agent))).collect();
        let mut waiting = 0;
        while waiting < 39 {
            let kind = events.next_blocking().unwrap().kind;
            waiting += usize::from(matches!(kind, EventKind::Waiting { on: WaitsFor::Row, .. }));
        }
        let report = engine
            .execute_blocking(vec![call("instant", json!({}))], ExecuteOptions::new().agent("other"))
            .unwrap();
        assert_eq!(outcomes(&report), ["ok"], "{:?}", report.results);
        drop(free);
        assert!(lists.into_iter().all(|list| list.join().unwrap().all_ok()));
    });
}

#[derive(Clone, Debug)]
struct List {
    agent: u8,
    calls: Vec<(&'static str, bool)>,
    stop_on_failure: bool,
    cancel: bool,
}

fn list() -> impl Strategy<Value = List> {
    let work = proptest::sample::select(&["now", "now", "wait", "block"][..]);
    let calls = proptest::collection::vec((work, proptest::bool::weighted(0.1)), 1..12);
    (0..3_u8, calls, any::<bool>(), proptest::bool::weighted(0.1))
        .prop_map(|(agent, calls, stop_on_failure, cancel)| List { agent, calls, stop_on_failure, cancel })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_on_a_row_run_one_at_a_time_in_the_order_of_their_lists_whatever_waits(
        lists in proptest::collection::vec(list(), 1..8),
        (arbiters, most, blocks) in (1..3_usize, 1..4_usize, any::<bool>()),
        per_agent in any::<bool>(),
    ) {
        let scope = if per_agent { StateScope::Agent } else { StateScope::Engine };
        let mut row = Shared::new(scope, most);
        if blocks {
            row.spec = row.spec.execution(Execution::Blocking);
        }
        let (began, broken) = (row.began.clone(), row.broken.clone());
        let engine = Engine::builder()
            .tool(Stateful::new(row))
            .arbiters(arbiters)
            .max_in_flight(most)
            .max_blocking(2)
            .build()
            .unwrap();
        let running: FuturesUnordered<_> = (0_u64..).zip(&lists).map(|(number, list)| {
            let calls = (0_u64..).zip(&list.calls).map(|(at, (work, fails))| {
                call("row", json!({"list": number, "at": at, "work": work, "fails": fails}))
            });
            let options = ExecuteOptions::new().agent(list.agent.to_string()).stop_on_failure(list.stop_on_failure);
            let run = engine.submit(calls.collect::<Vec<_>>(), options);
            if list.cancel {
                run.control().cancel();
            }
            async move { (list, run.await.unwrap()) }
        }).collect();
        let reports: Vec<(&List, Report)> = block_on(running.collect());
        let mut committed = BTreeMap::<u8, u64>::new();
        for (list, report) in reports {
            for (result, (_, fails)) in report.results.iter().zip(&list.calls) {
                match result.outcome {
                    Outcome::Ok => *committed.entry(if per_agent { list.agent } else { 0 }).or_default() += 1,
                    Outcome::Failed => prop_assert!(fails),
                    Outcome::Skipped | Outcome::Cancelled => prop_assert!(list.stop_on_failure || list.cancel),
                    _ => prop_assert!(false, "{result:?}"),
                }
            }
        }
        prop_assert!(!broken.load(Ordering::SeqCst), "two on one row, or more than the cap");
        for number in 0..lists.len() as u64 {
            let order: Vec<_> =
                began.lock().iter().filter(|(list, _)| *list == number).map(|(_, at)| *at).collect();
            prop_assert!(order.is_sorted(), "{order:?}");
        }
        let rows = block_on(engine.snapshot(Some("row"))).unwrap().remove(0).rows;
        let kept = rows.iter().map(|row| row.state.get().parse::<u64>().unwrap()).sum::<u64>();
        prop_assert_eq!(kept, committed.values().sum::<u64>(), "every call that was ok was committed");
    }
}

/// A tool that first waits for a time, or for ever, and then works for 3 s; gives its deadline in seconds.
fn patient() -> impl toolyard::Tool {
    tool(
        ToolSpec::new("patient").parallel_safe(true).timeout(Duration::from_secs(5)),
        |mut invocation| async move {
            match field(&invocation, "waits").as_u64() {
                Some(waits) => {
                    let wait = tokio::time::sleep(Duration::from_secs(waits));
                    invocation.context.before_work(wait).await;
                }
                None => invocation.context.before_work(std::future::pending()).await,
            }
            let left = invocation.context.deadline.unwrap() - tokio::time::Instant::now().into_std();
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(json!(left.as_secs()).into())
        },
    )
}

#[test]
fn the_time_of_a_call_starts_when_its_work_begins_and_what_never_begins_is_not_started() {
    let engine = paused().tool(patient()).admission_timeout(Duration::from_secs(30)).build().unwrap();
    let run = |arguments: Value, options: ExecuteOptions| {
        engine.execute_blocking(vec![call("patient", arguments)], options).unwrap()
    };
    for waits in [0, 4, 20] {
        let report = run(json!({"waits": waits}), ExecuteOptions::new());
        let result = &report.results[0];
        assert_eq!(result.output.as_ref().map(toolyard::Output::to_text), Some("5"), "{result:?}");
        assert_eq!((result.elapsed.as_secs(), report.elapsed.as_secs()), (3, 3 + waits));
    }
    let report = run(json!({}), ExecuteOptions::new());
    assert_eq!((outcomes(&report), report.elapsed.as_secs()), (vec!["not_started"], 30));
    let (error, detail) =
        (report.results[0].error.clone().unwrap(), report.results[0].detail.clone().unwrap());
    assert!(error.contains("what it needs to begin was not there within 30 s"), "{error}");
    assert_eq!((detail.retry_after_ms, detail.still_running), (Some(30_000), false));
    let report = run(json!({}), ExecuteOptions::new().deadline(Duration::from_secs(10)));
    assert_eq!((outcomes(&report), report.elapsed.as_secs()), (vec!["skipped"], 10));
}

#[test]
fn a_call_that_is_cancelled_before_it_begins_is_skipped() {
    let (builder, held) = held();
    let engine = builder.tool(patient()).build().unwrap();
    let mut events = engine.subscribe(100);
    let list = engine.submit(vec![call("patient", json!({}))], ExecuteOptions::new());
    let control = list.control();
    let report = std::thread::scope(|scope| {
        let list = scope.spawn(|| block_on(async { list.await.unwrap() }));
        while !matches!(events.next_blocking().unwrap().kind, EventKind::Waiting { on: WaitsFor::Place, .. })
        {
        }
        control.cancel_call(0);
        list.join().unwrap()
    });
    assert_eq!(outcomes(&report), ["skipped"], "{:?}", report.results);
    drop(held);
}

#[test]
fn a_call_that_has_not_begun_holds_no_permits_and_takes_its_turn_when_it_can_begin() {
    let nap = tool(ToolSpec::new("nap").parallel_safe(true), |_| async {
        tokio::time::sleep(Duration::from_secs(15)).await;
        Ok("".into())
    });
    let engine = paused()
        .tool(patient())
        .tool(nap)
        .max_in_flight(1)
        .admission_timeout(Duration::from_mins(1))
        .build()
        .unwrap();
    // The first waits for 10 s without a place, the second has the only place for 15 s: so the first begins then.
    let calls = vec![call("patient", json!({"waits": 10})), call("nap", json!({}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok"], "{:?}", report.results);
    assert_eq!(report.elapsed.as_secs(), 18, "15 s for the nap, and 3 s for the work of the first");
}
