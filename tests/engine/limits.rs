//! Admission: never more in flight than the limits allow, and nobody waits for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use toolyard::{EngineError, ExecuteOptions, Tool, ToolSpec};

use super::tools::{call, held, outcomes, paused, tool};

/// A tool that naps, and the most of its calls that were ever running.
fn napping(spec: ToolSpec, nap: Duration) -> (impl Tool, Arc<AtomicUsize>) {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let napping = tool(spec.parallel_safe(true), move |_| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(nap).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok("rested".into())
        }
    });
    (napping, seen)
}

#[test]
fn the_limits_of_engine_and_tool_hold_and_are_used() {
    let nap = Duration::from_secs(1);
    let (narrow, narrow_most) = napping(ToolSpec::new("narrow").max_in_flight(3), nap);
    let (wide, wide_most) = napping(ToolSpec::new("wide"), nap);
    let engine = paused().tool(narrow).tool(wide).max_in_flight(10).build().unwrap();
    let calls: Vec<_> =
        (0..60).map(|i| call(if i % 2 == 0 { "narrow" } else { "wide" }, json!({}))).collect();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert!(report.all_ok());
    assert_eq!(narrow_most.load(Ordering::SeqCst), 3);
    assert!((7..=10).contains(&wide_most.load(Ordering::SeqCst)), "{wide_most:?}");
}

#[test]
fn a_call_that_is_not_admitted_in_time_is_not_started_and_says_when_to_try_again() {
    let (slow, _) = napping(ToolSpec::new("slow").max_in_flight(2), Duration::from_secs(100));
    let engine = paused().tool(slow).admission_timeout(Duration::from_secs(30)).build().unwrap();
    let calls: Vec<_> = (0..4).map(|_| call("slow", json!({}))).collect();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok", "not_started", "not_started"]);
    assert_eq!(report.results[2].detail.as_ref().unwrap().retry_after_ms, Some(30_000));
}

#[tokio::test]
async fn a_list_beyond_the_limit_waits_and_then_is_not_taken() {
    let (slow, _) = napping(ToolSpec::new("slow"), Duration::from_secs(100));
    let (builder, clock) = held();
    let engine = builder.tool(slow).max_lists(1).admission_timeout(Duration::from_secs(30)).build().unwrap();
    let list = || engine.execute(vec![call("slow", json!({}))], ExecuteOptions::new());
    let (first, second, ()) = futures::join!(list(), list(), async { drop(clock) });
    assert!(first.unwrap().all_ok());
    assert!(matches!(second.unwrap_err(), EngineError::Overloaded { lists: 1, .. }));
    assert!(list().await.unwrap().all_ok());
}
