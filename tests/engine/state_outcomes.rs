//! Every end but `ok` leaves the row as it was, on every way that a body can go; `ok` commits on each.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, executor::block_on, future::BoxFuture};
use parking_lot::{Condvar, Mutex};
use serde_json::{json, value::RawValue};
use toolyard::{
    Engine, ExecuteOptions, Execution, Failure, InPlace, Invocation, Outcome, Runner, StateReturn, StateWork,
    Stateful, StatefulTool, Tool, ToolFuture, ToolReturn, ToolSpec,
};

use super::tools::{call, field};

/// The ways that a body can go.
const WAYS: [&str; 6] = ["done", "ready", "waits", "blocks", "in_place", "elsewhere"];

/// What every row begins with, and what every body makes of it.
const BEFORE: i64 = 7;
const AFTER: i64 = 8;

/// A door that stays shut until it is opened.
#[derive(Default)]
struct Door(Mutex<bool>, Condvar);

impl Door {
    fn open(&self) {
        *self.0.lock() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        self.1.wait_while(&mut self.0.lock(), |open| !*open);
    }
}

/// Changes its state, whatever its call's end is to be.
struct Changes {
    spec: ToolSpec,
    way: &'static str,
    /// Open when a body has begun that is not to end by itself.
    begun: Arc<Door>,
    /// Lets a body on a thread end that cannot be stopped.
    goes_on: Arc<Door>,
}

/// The end that a call's arguments ask for.
fn end(how: &str) -> ToolReturn {
    let failure = match how {
        "panicked" => panic!("as asked"),
        "suspended" => Failure::needs_input("{}".to_owned(), "what now?"),
        "ok" => return Ok(json!(AFTER).into()),
        "ok with an error" => return Err(Failure { outcome: Outcome::Ok, ..Failure::failed("as asked") }),
        _ => Failure::failed("as asked"),
    };
    let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == how);
    Err(Failure { outcome: outcome.expect("a known outcome"), ..failure })
}

/// Tells whether somebody else ends the call.
fn is_stopped(how: &str) -> bool {
    matches!(how, "timed_out" | "cancelled")
}

fn asked(invocation: &Invocation) -> String {
    field(invocation, "how").as_str().unwrap_or_default().to_owned()
}

impl StatefulTool for Changes {
    type State = i64;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn initial(&self, _: Option<&str>) -> i64 {
        BEFORE
    }

    fn work(self: Arc<Self>, invocation: Invocation, _: i64) -> StateWork<i64> {
        let how = asked(&invocation);
        match self.way {
            "done" => StateWork::Done(end(&how), AFTER),
            "ready" => StateWork::Waits(async move { (end(&how), AFTER) }.boxed()),
            "waits" => StateWork::Waits(Box::pin(async move {
                tokio::task::yield_now().await;
                if is_stopped(&how) {
                    self.begun.open();
                    std::future::pending::<()>().await;
                }
                (end(&how), AFTER)
            })),
            "blocks" => StateWork::Blocks(Box::new(move || {
                if is_stopped(&how) {
                    self.begun.open();
                    self.goes_on.wait();
                    return (end("ok"), AFTER);
                }
                (end(&how), AFTER)
            })),
            other => unreachable!("{other} has no body of its own"),
        }
    }

    fn in_place(&self) -> Option<InPlace<Self>> {
        (self.way == "in_place").then_some(|_: &Self, invocation: Invocation, state: &mut i64| {
            *state = AFTER;
            end(&asked(&invocation))
        })
    }
}

/// Does the work in place of the tool.
struct Elsewhere(Arc<Door>);

impl Runner for Elsewhere {
    fn run(&self, _: Arc<dyn Tool>, _: Invocation) -> ToolFuture {
        unreachable!("the tool keeps state")
    }

    fn takes_state(&self, _: &dyn Tool) -> bool {
        true
    }

    fn run_with_state(
        &self,
        _: Arc<dyn Tool>,
        invocation: Invocation,
        _: Box<RawValue>,
    ) -> BoxFuture<'static, StateReturn> {
        let (how, begun) = (asked(&invocation), self.0.clone());
        Box::pin(async move {
            if is_stopped(&how) {
                begun.open();
                std::future::pending::<()>().await;
            }
            (end(&how), Some(serde_json::value::to_raw_value(&AFTER).unwrap()))
        })
    }
}

/// Runs one call that is to end so, and gives how it ended and what its row is afterwards.
fn run(way: &'static str, how: &str) -> (Outcome, i64) {
    let (begun, goes_on) = (Arc::<Door>::default(), Arc::<Door>::default());
    let mut spec = ToolSpec::new("change");
    if way == "blocks" {
        spec = spec.execution(Execution::Blocking);
    }
    let tool = Changes { spec, way, begun: begun.clone(), goes_on: goes_on.clone() };
    let engine = Engine::builder().tool(Stateful::new(tool)).build().unwrap();
    let mut options = ExecuteOptions::new();
    if way == "elsewhere" {
        options = options.runner(Arc::new(Elsewhere(begun.clone())));
    }
    if how == "timed_out" {
        options = options.timeout(Duration::from_millis(20));
    }
    let list = engine.submit(vec![call("change", json!({ "how": how }))], options);
    let control = list.control();
    let report = std::thread::scope(|scope| {
        let list = scope.spawn(move || block_on(list.into_future()).unwrap());
        if how == "cancelled" {
            begun.wait();
            control.cancel();
        }
        list.join().unwrap()
    });
    // A body that outlived its call ends now, and brings its state too late.
    goes_on.open();
    let state = || block_on(engine.state("change", None)).unwrap();
    let row = |state: Option<Box<RawValue>>| state.map_or(BEFORE, |state| state.get().parse().unwrap());
    let then = engine.execute_blocking(vec![call("change", json!({"how": "failed"}))], later(way)).unwrap();
    assert_eq!(then.results[0].outcome, Outcome::Failed, "{way} {how}: the row is free again");
    (report.results[0].outcome, row(state()))
}

fn later(way: &str) -> ExecuteOptions {
    let options = ExecuteOptions::new();
    if way == "elsewhere" { options.runner(Arc::new(Elsewhere(Arc::default()))) } else { options }
}

#[test]
fn every_end_but_ok_leaves_the_row_as_it_was_on_every_way() {
    for way in WAYS {
        for how in Outcome::ALL.map(Outcome::as_str) {
            if is_stopped(how) && matches!(way, "done" | "ready" | "in_place") {
                continue; // such a body has ended before anybody can stop it
            }
            let expected = if how == "ok" { AFTER } else { BEFORE };
            let (outcome, row) = run(way, how);
            assert_eq!((outcome.as_str(), row), (how, expected), "{way}");
        }
    }
}

#[test]
fn a_failure_whose_outcome_is_ok_commits_on_every_way() {
    for way in WAYS {
        assert_eq!(run(way, "ok with an error"), (Outcome::Ok, AFTER), "{way}: the outcome alone counts");
    }
}
