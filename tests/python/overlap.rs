use std::{future::IntoFuture, time::Duration};

use futures::future::join;
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, Outcome};

use super::{call, config, engine_of, engine_with, error_of, output, run_all};

#[test]
fn eight_blocking_parallel_safe_calls_are_in_flight_at_once() {
    // Nobody passes the barrier before the eighth has come.
    let (engine, _files) = engine_of(
        "
import threading
gate = threading.Barrier(8, timeout=60)

def blocks():
    gate.wait()
    return 'passed'

blocks.parallel_safe = True
",
    );
    let report = run_all(&engine, (0..8).map(|_| call("blocks", json!({}))).collect());
    assert!(report.all_ok(), "{report:?}");
    assert_eq!(report.batches.len(), 1);
}

#[test]
fn functions_can_be_declared_parallel_safe_from_outside() {
    let config = config(|config| config.parallel_safe = vec!["blocks".into()]);
    let (engine, _files) = engine_with(
        Engine::builder().python(config),
        "
import threading
gate = threading.Barrier(2, timeout=60)

def blocks():
    gate.wait()
",
    );
    assert!(run_all(&engine, vec![call("blocks", json!({})), call("blocks", json!({}))]).all_ok());
}

#[test]
fn async_functions_of_one_file_overlap() {
    let (engine, _files) = engine_of(
        "
import asyncio
waiting = []

async def meets():
    if waiting:
        waiting.pop().set()
        return 'second'
    event = asyncio.Event()
    waiting.append(event)
    await asyncio.wait_for(event.wait(), 60)
    return 'first'
",
    );
    let report = run_all(&engine, vec![call("meets", json!({})), call("meets", json!({}))]);
    let outputs: Vec<_> =
        report.results.iter().map(|result| result.output.as_ref().unwrap().to_text()).collect();
    assert_eq!(outputs, ["first", "second"]);
}

#[test]
fn a_sync_function_without_a_mark_runs_one_at_a_time_also_for_many_lists() {
    let (engine, _files) = engine_of(
        "
import time
inside = most = 0

def alone():
    global inside, most
    inside += 1
    most = max(most, inside)
    time.sleep(0.002)
    inside -= 1

async def most_at_once():
    return most
",
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert!(run_all(&engine, (0..5).map(|_| call("alone", json!({}))).collect()).all_ok());
            });
        }
    });
    assert_eq!(output(&engine, "most_at_once", json!({})), json!(1));
}

#[test]
fn an_async_call_goes_on_beside_a_blocking_one() {
    let (engine, _files) = engine_of(
        "
import threading
gate = threading.Event()

def blocks():
    assert gate.wait(60)
    return 'freed'

async def frees():
    gate.set()
",
    );
    let run = |name: &str| engine.execute(vec![call(name, json!({}))], ExecuteOptions::new());
    let (blocked, freed) = futures::executor::block_on(join(run("blocks"), run("frees")));
    assert!(blocked.unwrap().all_ok() && freed.unwrap().all_ok());
}

fn run_with_timeout(engine: &Engine, name: &str, milliseconds: u64) -> toolyard::ToolResult {
    let options = ExecuteOptions::new().timeout(Duration::from_millis(milliseconds));
    engine.execute_blocking(vec![call(name, json!({}))], options).unwrap().results.remove(0)
}

#[test]
fn a_timeout_cancels_an_async_call_and_keeps_its_process() {
    let (engine, _files) = engine_of(
        "
import asyncio, os
cancelled = 0

async def sleeps():
    global cancelled
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        cancelled += 1
        raise

async def seen():
    while not cancelled:
        await asyncio.sleep(0.001)
    return os.getpid()

def pid():
    return os.getpid()
",
    );
    let before = output(&engine, "pid", json!({}));
    assert_eq!(run_with_timeout(&engine, "sleeps", 50).outcome, Outcome::TimedOut);
    assert_eq!(output(&engine, "seen", json!({})), before);
}

const STUCK: &str = "
import os, threading, time
entered = threading.Event()
gate = os.path.join(os.path.dirname(__file__), 'gate')

def stuck():
    time.sleep(1000)

def sibling():
    entered.set()
    while not os.path.exists(gate):
        time.sleep(0.001)
    return os.getpid()

sibling.parallel_safe = True

async def sibling_runs():
    import asyncio
    while not entered.is_set():
        await asyncio.sleep(0.001)

def pid():
    return os.getpid()
";

#[test]
fn a_stuck_sync_call_alone_in_its_process_is_killed_at_its_deadline() {
    let (engine, _files) = engine_of(STUCK);
    let before = output(&engine, "pid", json!({}));
    let result = run_with_timeout(&engine, "stuck", 100);
    assert_eq!(result.outcome, Outcome::TimedOut);
    assert!(result.detail.is_none_or(|detail| !detail.still_running));
    assert_ne!(output(&engine, "pid", json!({})), before);
}

#[test]
fn a_stuck_sync_call_is_said_to_go_on_while_siblings_keep_its_process() {
    let (engine, files) = engine_of(STUCK);
    let sibling = engine.submit(vec![call("sibling", json!({}))], ExecuteOptions::new());
    let sibling = std::thread::spawn(move || futures::executor::block_on(sibling.into_future()));
    output(&engine, "sibling_runs", json!({}));

    let stuck = run_with_timeout(&engine, "stuck", 100);
    assert_eq!(stuck.outcome, Outcome::TimedOut);
    assert!(error_of(&stuck).contains("goes on until"), "{stuck:?}");
    assert!(stuck.detail.is_some_and(|detail| detail.still_running));

    files.write("gate", "");
    let sibling = sibling.join().unwrap().unwrap().results.remove(0);
    assert!(sibling.is_ok(), "a sibling is not cut short: {sibling:?}");
    let old_pid = sibling.output.unwrap().to_value();
    assert_ne!(output(&engine, "pid", json!({})), old_pid, "the process was replaced then");
}
