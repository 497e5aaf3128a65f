//! Actors that die: replaced within a budget, then failing fast, then healing.

use std::time::Duration;

use serde_json::json;
use toolyard::{Engine, ExecuteOptions, RestartPolicy, StateScope, Stateful};

use super::{
    state::Counter,
    tools::{call, echo, outcomes, paused},
};

/// The outcome of one call.
fn once(engine: &Engine, tool: &str) -> &'static str {
    let report = engine.execute_blocking(vec![call(tool, json!({}))], ExecuteOptions::new()).unwrap();
    outcomes(&report)[0]
}

#[test]
fn an_actor_that_is_killed_within_its_budget_keeps_answering() {
    let engine = paused()
        .tool(echo("echo"))
        .tool(Stateful::new(Counter::new("count", StateScope::Engine)))
        .restarts(RestartPolicy::new(100, Duration::from_hours(24)))
        .build()
        .unwrap();
    for round in 1..=100 {
        assert!(engine.crash("echo", None) && engine.crash("count", None));
        assert_eq!((once(&engine, "echo"), once(&engine, "count")), ("ok", "ok"), "round {round}");
    }
    for tool in ["echo", "count"] {
        let health = engine.health(tool).unwrap();
        assert_eq!((health.panicked, health.restarted, health.broken), (100, 100, false));
    }
    let count = futures::executor::block_on(engine.state("count", None)).unwrap().unwrap();
    assert_eq!(count.get(), "100", "rows outlive their actors");
}

#[test]
fn past_the_budget_a_tool_fails_fast_and_heals_after_the_window() {
    let engine = paused()
        .tool(echo("bad"))
        .tool(echo("good"))
        .restarts(RestartPolicy::new(2, Duration::from_mins(1)))
        .build()
        .unwrap();
    for _ in 0..2 {
        engine.crash("bad", None);
        assert_eq!(once(&engine, "bad"), "ok");
    }
    engine.crash("bad", None);
    let report =
        engine.execute_blocking(vec![call("bad", json!({})), call("good", json!({}))], ExecuteOptions::new());
    let report = report.unwrap();
    assert_eq!(outcomes(&report), ["not_started", "ok"]);
    let refused = &report.results[0];
    assert!(refused.error.as_ref().unwrap().contains("its actor has died too often"));
    let pause = refused.detail.as_ref().unwrap().retry_after_ms.unwrap();
    assert!((1..=60_000).contains(&pause), "{pause}");
    assert!(engine.health("bad").unwrap().broken);

    wait(&engine, Duration::from_mins(1));
    assert_eq!(once(&engine, "bad"), "ok", "the probe lives");
    assert_eq!(once(&engine, "bad"), "ok");
    assert!(!engine.health("bad").unwrap().broken);
}

#[test]
fn a_probe_that_dies_opens_the_breaker_again() {
    let engine =
        paused().tool(echo("bad")).restarts(RestartPolicy::new(0, Duration::from_mins(1))).build().unwrap();
    engine.crash("bad", None);
    assert_eq!(once(&engine, "bad"), "not_started");
    wait(&engine, Duration::from_mins(1));
    let list = engine.submit(vec![call("bad", json!({}))], ExecuteOptions::new());
    assert!(futures::executor::block_on(list.into_future()).unwrap().all_ok());
    engine.crash("bad", None);
    assert_eq!(once(&engine, "bad"), "not_started");
}

/// Lets the engine's paused clock go on: a guest naps, and nothing else happens meanwhile.
fn wait(engine: &Engine, time: Duration) {
    let nap = super::tools::tool(toolyard::ToolSpec::new("nap"), move |_| async move {
        tokio::time::sleep(time).await;
        Ok("rested".into())
    });
    let options = ExecuteOptions::new().guest(std::sync::Arc::new(nap)).timeout(time * 2);
    assert!(engine.execute_blocking(vec![call("nap", json!({}))], options).unwrap().all_ok());
}
