//! Calls that wait for a place in a worker have not begun: they hold nothing, and their time has not started.

use std::{fs, thread::sleep, time::Duration};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{Engine, EventKind, EventStream, ExecuteOptions, Outcome, ToolSpec, WaitsFor};

use super::{call, engine_with, error_of};
use crate::engine::tools::{outcomes, tool};

/// A function that says that it began and goes on until a file is there.
const GATED: &str = "
import os, time

def gated(folder: str) -> str:
    with open(folder + '/began', 'a') as began:
        began.write('began.')
    while not os.path.exists(folder + '/go'):
        time.sleep(0.01)
    return 'done'
";

fn wait_for(events: &mut EventStream, is_it: impl Fn(&EventKind) -> bool) {
    for _ in 0..6_000 {
        match events.try_next() {
            Some(event) if is_it(&event.kind) => return,
            Some(_) => {}
            None => sleep(Duration::from_millis(10)),
        }
    }
    panic!("it was never told");
}

#[test]
fn a_call_behind_another_is_not_started_when_it_waits_too_long_and_has_all_its_time_when_it_begins() {
    let builder = Engine::builder().admission_timeout(Duration::from_secs(3));
    let (engine, files) = engine_with(builder, GATED);
    let folder = files.path("").to_string_lossy().into_owned();
    let list = |agent: &str, timeout: Duration| {
        engine.submit(
            vec![call("gated", json!({"folder": folder}))],
            ExecuteOptions::new().agent(agent).timeout(timeout),
        )
    };
    std::thread::scope(|scope| {
        let first = list("a", Duration::from_mins(2));
        let first = scope.spawn(|| block_on(async { first.await.unwrap() }));
        while !files.path("began").exists() {
            sleep(Duration::from_millis(5));
        }
        // Its time would be over before it is given up, if waiting counted.
        let second = block_on(async { list("b", Duration::from_millis(500)).await.unwrap() });
        assert_eq!(second.results[0].outcome, Outcome::NotStarted, "{:?}", second.results[0]);
        assert!(error_of(&second.results[0]).contains("what it needs to begin was not there within 3 s"));
        let detail = second.results[0].detail.as_ref().unwrap();
        assert_eq!((detail.still_running, detail.retry_after_ms), (false, Some(3_000)));
        assert_eq!(fs::read_to_string(files.path("began")).unwrap(), "began.", "it never ran");
        let third = list("c", Duration::from_secs(1));
        let third = scope.spawn(|| block_on(async { third.await.unwrap() }));
        sleep(Duration::from_millis(1_500));
        fs::write(files.path("go"), "").unwrap();
        assert_eq!(outcomes(&first.join().unwrap()), ["ok"]);
        let third = third.join().unwrap();
        assert_eq!(outcomes(&third), ["ok"], "{:?}", third.results);
    });
}

#[test]
fn calls_behind_another_are_in_nobodys_way() {
    let instant = tool(ToolSpec::new("instant"), |_| async { Ok("at once".into()) });
    let builder = Engine::builder().tool(instant).max_in_flight(2).admission_timeout(Duration::from_secs(20));
    let (engine, files) = engine_with(builder, GATED);
    let folder = files.path("").to_string_lossy().into_owned();
    let mut events = engine.subscribe(1_000);
    std::thread::scope(|scope| {
        let lists: Vec<_> = (0..4)
            .map(|agent| {
                let calls = vec![call("gated", json!({"folder": folder}))];
                let list = engine.submit(calls, ExecuteOptions::new().agent(agent.to_string()));
                scope.spawn(|| block_on(async { list.await.unwrap() }))
            })
            .collect();
        for _ in 0..3 {
            wait_for(&mut events, |kind| matches!(kind, EventKind::Waiting { on: WaitsFor::Place, .. }));
        }
        let other = ExecuteOptions::new().agent("other");
        let report = engine.execute_blocking(vec![call("instant", json!({}))], other).unwrap();
        assert_eq!(outcomes(&report), ["ok"], "{:?}", report.results);
        fs::write(files.path("go"), "").unwrap();
        for list in lists {
            assert_eq!(outcomes(&list.join().unwrap()), ["ok"]);
        }
    });
}

#[test]
fn a_worker_that_dies_takes_no_call_along_that_waits_behind_the_one_that_killed_it() {
    let source = "
import os, time

def dies(folder: str):
    while not os.path.exists(folder + '/go'):
        time.sleep(0.01)
    os._exit(1)

def lives() -> str:
    return 'alive'
";
    let (engine, files) = engine_with(Engine::builder(), source);
    let folder = files.path("").to_string_lossy().into_owned();
    let mut events = engine.subscribe(1_000);
    std::thread::scope(|scope| {
        let dies = engine.submit(vec![call("dies", json!({"folder": folder}))], ExecuteOptions::new());
        let dies = scope.spawn(|| block_on(async { dies.await.unwrap() }));
        wait_for(&mut events, |kind| matches!(kind, EventKind::Started(_)));
        let lists: Vec<_> = (0..3)
            .map(|_| {
                let list = engine.submit(vec![call("lives", json!({}))], ExecuteOptions::new());
                scope.spawn(|| block_on(async { list.await.unwrap() }))
            })
            .collect();
        for _ in 0..3 {
            wait_for(&mut events, |kind| matches!(kind, EventKind::Waiting { on: WaitsFor::Place, .. }));
        }
        fs::write(files.path("go"), "").unwrap();
        assert_eq!(outcomes(&dies.join().unwrap()), ["lost"]);
        for list in lists {
            let report = list.join().unwrap();
            assert_eq!(outcomes(&report), ["ok"], "{:?}", report.results);
        }
    });
}
