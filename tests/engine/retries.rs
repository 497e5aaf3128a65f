//! Calls of idempotent tools are tried again, as one call to everybody else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;
use toolyard::{
    Engine, EngineBuilder, ExecuteOptions, Failure, Report, RetryPolicy, RunControl, Tool, ToolSpec,
};

use super::tools::{blocking, call, echo, held, outcomes, paused, tool};

fn three_tries() -> EngineBuilder {
    paused().retry(RetryPolicy { attempts: 3, ..RetryPolicy::default() })
}

/// A tool whose first `failures` calls hang until they time out; counts its calls.
fn hanging_at_first(spec: ToolSpec, failures: u32) -> (impl Tool, Arc<AtomicU32>) {
    let tries = Arc::new(AtomicU32::new(0));
    let counter = tries.clone();
    let flaky = tool(spec.timeout(Duration::from_secs(5)), move |invocation| {
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            if number <= failures {
                std::future::pending::<()>().await;
            }
            Ok(json!(invocation.context.attempt).into())
        }
    });
    (flaky, tries)
}

fn idempotent() -> ToolSpec {
    ToolSpec::new("flaky").idempotent(true)
}

fn run(engine: &Engine, tools: &[&str], options: ExecuteOptions) -> Report {
    engine
        .execute_blocking(tools.iter().map(|tool| call(tool, json!({}))).collect::<Vec<_>>(), options)
        .unwrap()
}

fn attempts(report: &Report, index: usize) -> Option<u32> {
    report.results[index].detail.as_ref().and_then(|detail| detail.attempts)
}

#[test]
fn an_idempotent_tools_call_is_tried_again_and_says_how_often() {
    let (flaky, tries) = hanging_at_first(idempotent(), 2);
    let report = run(&three_tries().tool(flaky).build().unwrap(), &["flaky"], ExecuteOptions::new());
    assert_eq!(outcomes(&report), ["ok"]);
    assert_eq!(report.results[0].output.as_ref().unwrap().to_value(), 3, "the tool knew which try it was");
    assert_eq!((attempts(&report, 0), tries.load(Ordering::SeqCst)), (Some(3), 3));
    // Two time-outs of 5 s, pauses of 100 to 200 and 200 to 400 ms.
    let elapsed = report.elapsed.as_millis();
    assert!((10_300..=10_610).contains(&elapsed), "{elapsed} ms");
}

#[test]
fn the_last_try_decides_when_none_works() {
    let (flaky, tries) = hanging_at_first(idempotent(), 9);
    let report = run(&three_tries().tool(flaky).build().unwrap(), &["flaky"], ExecuteOptions::new());
    assert_eq!(outcomes(&report), ["timed_out"]);
    assert_eq!((attempts(&report, 0), tries.load(Ordering::SeqCst)), (Some(3), 3));
}

#[test]
fn other_tools_and_other_engines_try_once() {
    for (builder, spec) in [(three_tries(), ToolSpec::new("flaky")), (paused(), idempotent())] {
        let (flaky, tries) = hanging_at_first(spec, 9);
        let report = run(&builder.tool(flaky).build().unwrap(), &["flaky"], ExecuteOptions::new());
        assert_eq!(outcomes(&report), ["timed_out"]);
        assert_eq!((attempts(&report, 0), tries.load(Ordering::SeqCst)), (None, 1));
    }
}

#[test]
fn a_failure_is_tried_again_only_when_the_tool_says_when() {
    let busy = |wait: Option<u64>| {
        tool(idempotent(), move |invocation| async move {
            if invocation.context.attempt == 2 {
                return Ok("".into());
            }
            Err(Failure::failed("busy").detail(|detail| detail.retry_after_ms = wait))
        })
    };
    for (wait, outcome) in [(None, "failed"), (Some(3_000), "ok")] {
        let begun = Instant::now();
        let report = run(&three_tries().tool(busy(wait)).build().unwrap(), &["flaky"], ExecuteOptions::new());
        assert_eq!(outcomes(&report), [outcome]);
        assert_eq!(report.elapsed.as_millis() >= 3_000, wait.is_some(), "{:?}", begun.elapsed());
    }
}

#[test]
fn what_comes_after_waits_for_the_last_try() {
    let (flaky, _) = hanging_at_first(idempotent(), 1);
    let seen = Arc::new(AtomicU32::new(0));
    let (noted, order) = (seen.clone(), seen.clone());
    let flaky: Arc<dyn Tool> = Arc::new(flaky);
    let inner = flaky.clone();
    let first = tool(flaky.spec().clone(), move |invocation| {
        let (inner, order) = (inner.clone(), order.clone());
        async move {
            let ended = inner.call(invocation).await;
            order.fetch_add(1, Ordering::SeqCst);
            ended
        }
    });
    let second = tool(ToolSpec::new("second"), move |_| {
        let before = noted.load(Ordering::SeqCst);
        async move { Ok(json!(before).into()) }
    });
    let engine = three_tries().tool(first).tool(second).build().unwrap();
    let report = run(&engine, &["flaky", "second"], ExecuteOptions::new());
    assert_eq!(report.results[1].output.as_ref().unwrap().to_value(), 1);
}

#[test]
fn a_call_that_may_be_tried_again_does_not_stop_its_list() {
    let (flaky, _) = hanging_at_first(idempotent().parallel_safe(true), 1);
    let engine = three_tries().tool(flaky).tool(echo("echo")).build().unwrap();
    let options = || ExecuteOptions::new().stop_on_failure(true);
    assert_eq!(outcomes(&run(&engine, &["flaky", "echo"], options())), ["ok", "ok"]);
    let (hopeless, _) = hanging_at_first(idempotent(), 9);
    let engine = three_tries().tool(hopeless).tool(echo("echo")).build().unwrap();
    assert_eq!(outcomes(&run(&engine, &["flaky", "echo"], options())), ["timed_out", "skipped"]);
}

#[test]
fn a_deadline_or_a_cancel_between_two_tries_leaves_the_last_ones_answer() {
    let long_pause = RetryPolicy {
        attempts: 3,
        first_delay: Duration::from_hours(1),
        max_delay: Duration::from_hours(1),
        ..RetryPolicy::default()
    };
    let (flaky, _) = hanging_at_first(idempotent(), 9);
    let engine = paused().retry(long_pause).tool(flaky).build().unwrap();
    let report = run(&engine, &["flaky"], ExecuteOptions::new().deadline(Duration::from_mins(1)));
    assert_eq!((outcomes(&report), attempts(&report, 0)), (vec!["timed_out"], None));
    assert_eq!(report.elapsed, Duration::from_mins(1));

    // The same by the caller's hand, told by a tool that ends while the first call pauses.
    for cancel in [|control: &RunControl| control.cancel(), |control: &RunControl| control.cancel_call(0)] {
        let (flaky, _) = hanging_at_first(idempotent().parallel_safe(true), 9);
        let control = Arc::new(parking_lot::Mutex::new(None::<RunControl>));
        let hand = control.clone();
        let teller = tool(ToolSpec::new("teller").parallel_safe(true), move |_| {
            let hand = hand.clone();
            async move {
                tokio::time::sleep(Duration::from_mins(1)).await;
                cancel(hand.lock().as_ref().unwrap());
                Ok("".into())
            }
        });
        let (builder, clock) = held();
        let engine = builder.retry(long_pause).tool(flaky).tool(teller).build().unwrap();
        let run =
            engine.submit(vec![call("flaky", json!({})), call("teller", json!({}))], ExecuteOptions::new());
        *control.lock() = Some(run.control());
        drop(clock);
        let report = futures::executor::block_on(run.into_future()).unwrap();
        assert_eq!(outcomes(&report)[0], "timed_out");
        assert_eq!(report.elapsed, Duration::from_mins(1));
    }
}

#[test]
fn a_body_that_is_still_running_is_not_run_a_second_time() {
    let tries = Arc::new(AtomicU32::new(0));
    let (counter, (go, gate)) = (tries.clone(), std::sync::mpsc::channel::<()>());
    let gate = parking_lot::Mutex::new(gate);
    let stuck = blocking(idempotent().timeout(Duration::from_millis(10)), move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        let _ = gate.lock().recv();
        Ok("".into())
    });
    // On the real clock, which runs on while the thread is stuck.
    let builder = Engine::builder().retry(RetryPolicy { attempts: 3, ..RetryPolicy::default() });
    let report = run(&builder.tool(stuck).build().unwrap(), &["flaky"], ExecuteOptions::new());
    assert_eq!(outcomes(&report), ["timed_out"]);
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    drop(go);
}
