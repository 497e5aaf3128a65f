//! Rates and limits of single agents and tools, on a paused clock.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use toolyard::{AgentLimits, ExecuteOptions, Rate, Report, Tool, ToolLimits, ToolSpec};

use super::tools::{call, held, outcomes, paused, tool};

/// A tool that notes when its calls begin, and whose calls take a second.
fn noting(spec: ToolSpec) -> (impl Tool, Arc<Mutex<Vec<Instant>>>) {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let notes = begun.clone();
    let noting = tool(spec.parallel_safe(true), move |_| {
        notes.lock().push(Instant::now());
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok("".into())
        }
    });
    (noting, begun)
}

/// The times between the first begin and each, in whole milliseconds.
fn offsets(begun: &Mutex<Vec<Instant>>) -> Vec<u128> {
    let begun = begun.lock();
    begun.iter().map(|at| (*at - begun[0]).as_millis()).collect()
}

fn rate(calls: u32, seconds: u64) -> Rate {
    Rate::new(calls, Duration::from_secs(seconds)).unwrap()
}

#[test]
fn a_tools_calls_begin_no_more_often_than_its_rate_allows() {
    let (slow, begun) = noting(ToolSpec::new("slow").rate(rate(2, 1)));
    let engine = paused().tool(slow).build().unwrap();
    let calls = vec![call("slow", json!({})); 6];
    assert!(engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().all_ok());
    assert_eq!(offsets(&begun), [0, 0, 1_000, 1_000, 2_000, 2_000]);
}

#[test]
fn a_rate_that_the_engine_sets_wins_and_what_cannot_begin_in_time_says_when_to_try_again() {
    let (slow, begun) = noting(ToolSpec::new("slow").rate(rate(100, 1)));
    let limits = ToolLimits { rate: Some(rate(1, 60)), ..ToolLimits::default() };
    let engine = paused().tool(slow).tool_limits("SLOW", limits).build().unwrap();
    let report = engine.execute_blocking(vec![call("slow", json!({})); 3], ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "not_started", "not_started"]);
    assert_eq!(report.results[1].detail.as_ref().unwrap().retry_after_ms, Some(60_000));
    let error = report.results[1].error.as_deref().unwrap();
    assert!(error.contains("its rate limit leaves no room; try again in 60 s"), "{error}");
    assert_eq!(begun.lock().len(), 1);
}

#[test]
fn an_agents_calls_are_limited_over_all_its_lists_and_no_other_agents_are() {
    let (slow, begun) = noting(ToolSpec::new("slow"));
    let one = AgentLimits { max_in_flight: Some(1), ..AgentLimits::default() };
    let (builder, clock) = held();
    let engine = builder.tool(slow).limits_of_each_agent(one).build().unwrap();
    let list =
        |agent: &str| engine.execute(vec![call("slow", json!({})); 2], ExecuteOptions::new().agent(agent));
    let reports: [Report; 3] = futures::executor::block_on(async {
        let (a, again, b, ()) = futures::join!(list("a"), list("a"), list("b"), async { drop(clock) });
        [a.unwrap(), again.unwrap(), b.unwrap()]
    });
    assert!(reports.iter().all(Report::all_ok));
    assert_eq!(offsets(&begun), [0, 0, 1_000, 1_000, 2_000, 3_000], "a: four one by one, b: two");
}

#[test]
fn an_agents_rate_is_its_own() {
    let (slow, begun) = noting(ToolSpec::new("slow"));
    let limits = AgentLimits { rate: Some(rate(1, 10)), ..AgentLimits::default() };
    let engine = paused().tool(slow).agent_limits("a", limits).build().unwrap();
    let calls = || vec![call("slow", json!({})); 2];
    let run = |agent: &str| engine.execute_blocking(calls(), ExecuteOptions::new().agent(agent)).unwrap();
    assert!(run("a").all_ok() && run("b").all_ok());
    assert_eq!(offsets(&begun), [0, 10_000, 11_000, 11_000]);
}
