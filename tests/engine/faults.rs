//! Panics, cancels, deadlines at every point of a call's way: one answer each, siblings untouched.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use serde_json::json;
use tokio::sync::Notify;
use toolyard::{Engine, EngineBuilder, ExecuteOptions, Failure, Output, Report, RunControl, ToolSpec};

use super::tools::{LONG, blocking, call, echo, outcomes, paused, tool};

/// Where a call is when something happens to it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// Waiting for a permit.
    Queued,
    /// At its first await.
    Started,
    /// In a body that blocks a thread.
    Blocking,
    /// Its result is on the way.
    Finished,
}

const EVERYWHERE: [At; 4] = [At::Queued, At::Started, At::Blocking, At::Finished];

/// An engine with a victim tool that says over the channel when it has got to `at`, and stays there
/// until it is let go.
fn victim(at: At) -> (EngineBuilder, mpsc::Receiver<()>, Arc<Notify>) {
    let (arrived, arrivals) = mpsc::channel();
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let spec = ToolSpec::new("victim").parallel_safe(true);
    let builder = Engine::builder().tool(echo("echo"));
    let builder = match at {
        At::Queued => {
            // One place, taken by the first call: the second one queues.
            builder.tool(tool(spec.max_in_flight(1), move |_| {
                let (arrived, gate) = (arrived.clone(), gate.clone());
                async move {
                    arrived.send(()).unwrap();
                    gate.notified().await;
                    Ok("done".into())
                }
            }))
        }
        At::Started => builder.tool(tool(spec, move |_| {
            let (arrived, gate) = (arrived.clone(), gate.clone());
            async move {
                arrived.send(()).unwrap();
                gate.notified().await;
                Ok("done".into())
            }
        })),
        At::Blocking => builder.tool(blocking(spec, move |_| {
            arrived.send(()).unwrap();
            futures::executor::block_on(gate.notified());
            Ok("late".into())
        })),
        At::Finished => builder.tool(tool(spec, move |_| {
            let arrived = arrived.clone();
            async move {
                arrived.send(()).unwrap();
                Ok("done".into())
            }
        })),
    };
    (builder, arrivals, go)
}

/// Runs a sibling, one or two victims, and `act` once the first victim has got there.
fn run(at: At, options: ExecuteOptions, act: impl FnOnce(&RunControl) + Send) -> Report {
    let (builder, arrivals, go) = victim(at);
    let engine = builder.build().unwrap();
    let mut calls = vec![call("echo", json!({"n": 1})), call("victim", json!({}))];
    if at == At::Queued {
        calls.push(call("victim", json!({})));
    }
    let run = engine.submit(calls, options);
    let control = run.control();
    std::thread::scope(|scope| {
        let list = scope.spawn(|| futures::executor::block_on(run.into_future()).unwrap());
        arrivals.recv_timeout(LONG).expect("the victim begins");
        act(&control);
        let report = list.join().unwrap();
        go.notify_waiters();
        report
    })
}

#[test]
fn a_cancel_of_the_list_gives_every_call_one_outcome_wherever_it_is() {
    for at in EVERYWHERE {
        let report = run(at, ExecuteOptions::new(), RunControl::cancel);
        let expected: &[&str] = match at {
            At::Queued => &["ok", "cancelled", "skipped"],
            At::Started | At::Blocking => &["ok", "cancelled"],
            At::Finished => &["ok", "ok"],
        };
        assert_eq!(outcomes(&report), expected, "{at:?}");
        let still_running = report.results[1].detail.as_ref().is_some_and(|detail| detail.still_running);
        assert_eq!(still_running, at == At::Blocking, "{at:?}");
    }
}

#[test]
fn a_cancel_of_one_call_leaves_its_siblings() {
    for (at, index, expected) in [
        (At::Started, 1, vec!["ok", "cancelled"]),
        (At::Blocking, 1, vec!["ok", "cancelled"]),
        (At::Finished, 1, vec!["ok", "ok"]),
        (At::Finished, 0, vec!["ok", "ok"]),
    ] {
        let report = run(at, ExecuteOptions::new(), |control| control.cancel_call(index));
        assert_eq!(outcomes(&report), expected, "{at:?}");
    }
    let (builder, arrivals, go) = victim(At::Queued);
    let engine = builder.build().unwrap();
    let run =
        engine.submit(vec![call("victim", json!({})), call("victim", json!({}))], ExecuteOptions::new());
    let control = run.control();
    std::thread::scope(|scope| {
        let list = scope.spawn(|| futures::executor::block_on(run.into_future()).unwrap());
        arrivals.recv_timeout(LONG).unwrap();
        control.cancel_call(1);
        go.notify_one();
        assert_eq!(outcomes(&list.join().unwrap()), ["ok", "skipped"]);
    });
}

#[test]
fn the_deadline_of_a_list_keeps_what_has_finished() {
    let nap = |name: &str, safe| {
        tool(ToolSpec::new(name).parallel_safe(safe), |_| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok("woke".into())
        })
    };
    let engine = paused().tool(echo("echo")).tool(nap("nap", true)).tool(nap("late", false)).build().unwrap();
    let calls = vec![call("echo", json!({})), call("nap", json!({})), call("late", json!({}))];
    let report =
        engine.execute_blocking(calls, ExecuteOptions::new().deadline(Duration::from_secs(1))).unwrap();
    assert_eq!(outcomes(&report), ["ok", "timed_out", "skipped"]);
    assert_eq!(report.elapsed.as_secs(), 1);
    assert!(report.results[2].error.as_ref().unwrap().contains("deadline of its list"));
}

#[test]
fn a_calls_own_timeout_ends_it_alone_and_drops_its_future() {
    struct Dropped(mpsc::Sender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (dropped, drops) = mpsc::channel();
    let never =
        tool(ToolSpec::new("never").parallel_safe(true).timeout(Duration::from_millis(1500)), move |_| {
            let guard = Dropped(dropped.clone());
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                Ok("never".into())
            }
        });
    let engine = paused().tool(never).tool(echo("echo")).build().unwrap();
    let calls = vec![call("never", json!({})), call("echo", json!({}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["timed_out", "ok"]);
    assert_eq!(report.results[0].error.as_deref(), Some("tool \"never\": timed out after 1.5 s"));
    drops.recv_timeout(LONG).expect("the future is dropped");
}

#[test]
fn a_blocking_body_past_its_deadline_keeps_its_place_until_it_ends() {
    let (release, gate) = crossbeam_channel::bounded::<()>(0);
    let stuck =
        blocking(ToolSpec::new("stuck").parallel_safe(true).timeout(Duration::from_millis(20)), move |_| {
            let _ = gate.recv_timeout(LONG);
            Ok("late".into())
        });
    let engine = Engine::builder()
        .tool(stuck)
        .max_blocking(1)
        .admission_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let once = || engine.execute_blocking(vec![call("stuck", json!({}))], ExecuteOptions::new()).unwrap();
    let first = once();
    assert_eq!(outcomes(&first), ["timed_out"]);
    assert!(first.results[0].detail.as_ref().unwrap().still_running);
    let second = once();
    assert_eq!(outcomes(&second), ["not_started"], "the only thread is still taken");
    assert!(second.results[0].detail.as_ref().unwrap().retry_after_ms.is_some());
    release.send_timeout((), LONG).unwrap();
    // The place is free once the body has ended: the next call is admitted.
    let third = loop {
        let report = once();
        if outcomes(&report) != ["not_started"] {
            break report;
        }
    };
    assert_eq!(outcomes(&third), ["timed_out"]);
}

#[test]
fn a_panicking_tool_fails_only_its_own_call() {
    fn before_the_first_await(_: toolyard::Invocation) -> toolyard::ToolFuture {
        panic!("before any future exists")
    }
    struct Early(ToolSpec);
    impl toolyard::Tool for Early {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn call(self: Arc<Self>, invocation: toolyard::Invocation) -> toolyard::ToolFuture {
            before_the_first_await(invocation)
        }
    }
    let late = tool(ToolSpec::new("late").parallel_safe(true), |_| async {
        tokio::task::yield_now().await;
        panic!("after an await")
    });
    let on_thread = blocking(ToolSpec::new("thread").parallel_safe(true), |_| panic!("on a thread"));
    let engine = Engine::builder()
        .tool(Early(ToolSpec::new("early").parallel_safe(true)))
        .tool(late)
        .tool(on_thread)
        .tool(echo("echo"))
        .build()
        .unwrap();
    for _ in 0..3 {
        let calls = ["echo", "early", "late", "thread", "echo"].map(|name| call(name, json!({})));
        let report = engine.execute_blocking(Vec::from(calls), ExecuteOptions::new()).unwrap();
        assert_eq!(outcomes(&report), ["ok", "panicked", "panicked", "panicked", "ok"]);
        assert_eq!(report.results[1].error.as_deref(), Some("tool \"early\": panicked"));
    }
}

#[test]
fn a_future_that_panics_while_being_dropped_touches_nobody_else() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let bomb = tool(ToolSpec::new("bomb").parallel_safe(true), |_| async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
        Ok("never".into())
    });
    let engine = paused().tool(bomb).tool(echo("echo")).build().unwrap();
    let calls = || vec![call("bomb", json!({})), call("echo", json!({}))];
    let options = || ExecuteOptions::new().timeout(Duration::from_secs(1));
    for _ in 0..2 {
        let report = engine.execute_blocking(calls(), options()).unwrap();
        assert_eq!(outcomes(&report), ["timed_out", "ok"]);
    }
}

#[test]
fn a_list_that_stops_at_a_failure_skips_what_has_not_begun() {
    let fail = tool(ToolSpec::new("fail"), |_| async { Err(Failure::failed("no")) });
    let engine = paused().tool(fail).tool(echo("echo")).build().unwrap();
    let calls = || ["echo", "fail", "echo", "fail"].map(|name| call(name, json!({}))).to_vec();
    let stopped = engine.execute_blocking(calls(), ExecuteOptions::new().stop_on_failure(true)).unwrap();
    assert_eq!(outcomes(&stopped), ["ok", "failed", "skipped", "skipped"]);
    let all = engine.execute_blocking(calls(), ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&all), ["ok", "failed", "ok", "failed"]);
}

#[test]
fn a_refused_call_stops_only_what_comes_after_it() {
    let write = tool(ToolSpec::new("write"), |_| async { Ok("written".into()) });
    let engine = paused().tool(write).build().unwrap();
    let calls = ["write", "write", "unknown", "write"].map(|name| call(name, json!({}))).to_vec();
    let report = engine.execute_blocking(calls, ExecuteOptions::new().stop_on_failure(true)).unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok", "unknown_tool", "skipped"]);
}

#[test]
fn dropping_the_waiting_future_cancels_the_list() {
    let (arrived, arrivals) = mpsc::channel();
    let patient = blocking(ToolSpec::new("victim"), move |invocation| {
        arrived.send(()).unwrap();
        while !invocation.context.is_cancelled() {
            std::thread::yield_now();
        }
        Ok("noticed".into())
    });
    let engine = Engine::builder().tool(patient).build().unwrap();
    let mut work = Box::pin(engine.execute(vec![call("victim", json!({}))], ExecuteOptions::new()));
    let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(work.as_mut().poll(&mut nobody).is_pending());
    arrivals.recv_timeout(LONG).unwrap();
    drop(work); // the blocking body ends only because it is told
    futures::executor::block_on(engine.shutdown(LONG));
}

#[test]
fn a_shutdown_cancels_what_does_not_end_in_time() {
    let (builder, arrivals, _go) = victim(At::Started);
    let engine = builder.build().unwrap();
    let run = engine.submit(vec![call("victim", json!({}))], ExecuteOptions::new());
    std::thread::scope(|scope| {
        let list = scope.spawn(|| futures::executor::block_on(run.into_future()).unwrap());
        arrivals.recv_timeout(LONG).unwrap();
        futures::executor::block_on(engine.shutdown(Duration::from_millis(10)));
        assert_eq!(outcomes(&list.join().unwrap()), ["cancelled"]);
    });
}

#[test]
fn an_engine_dropped_by_its_own_tool_does_not_deadlock() {
    let slot = Arc::new(parking_lot::Mutex::new(None::<Engine>));
    let inside = slot.clone();
    let (done, waits) = mpsc::channel();
    let suicide = tool(ToolSpec::new("suicide"), move |_| {
        drop(inside.lock().take());
        done.send(()).unwrap();
        async { Ok("gone".into()) }
    });
    let engine = Engine::builder().tool(suicide).build().unwrap();
    *slot.lock() = Some(engine.clone());
    let run = engine.submit(vec![call("suicide", json!({}))], ExecuteOptions::new());
    drop(engine);
    // The list may end or be cancelled, but nothing hangs.
    let _ = futures::executor::block_on(run.into_future());
    waits.recv_timeout(LONG).unwrap();
}

#[test]
fn two_hundred_megabytes_of_output_are_one_calls_matter() {
    let huge = blocking(ToolSpec::new("huge").parallel_safe(true), |_| {
        Ok(Output::Text("x".repeat(200_000_000)).into())
    });
    let liar = tool(ToolSpec::new("liar").parallel_safe(true), |_| async { Ok("error: all is well".into()) });
    let engine = Engine::builder().tool(huge).tool(liar).build().unwrap();
    let calls = vec![call("huge", json!({})), call("liar", json!({}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok"]);
    let huge = &report.results[0];
    assert!(huge.output.as_ref().unwrap().to_text().len() < 1_001_000);
    let whole = std::fs::metadata(huge.detail.as_ref().unwrap().full.as_ref().unwrap()).unwrap();
    assert_eq!(whole.len(), 200_000_000);
}

#[test]
fn blocking_bodies_of_a_list_overlap() {
    let barrier = Arc::new(std::sync::Barrier::new(8));
    let meet = blocking(ToolSpec::new("meet").parallel_safe(true), move |_| {
        barrier.wait(); // passes only when all eight are here at once
        Ok("met".into())
    });
    let engine = Engine::builder().tool(meet).build().unwrap();
    let calls: Vec<_> = (0..8).map(|_| call("meet", json!({}))).collect();
    assert!(engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().all_ok());
}
