//! What calls wait for is told.

use std::time::Duration;

use serde_json::json;
use toolyard::{
    AgentLimits, BatchKind, Engine, ExecuteOptions, PermissionRule, PermissionRules, Rate, RestartPolicy,
    RetryPolicy, RulePolicy, StateScope, Stateful, Tool, ToolCall, ToolSpec, Verdict, WaitsFor,
    events::{EventRecord, RecordedEvent},
};

use super::recorded;
use crate::engine::{
    state::Counter,
    tools::{blocking, call, echo, outcomes, paused, tool},
};

/// A tool whose calls take a second.
fn nap(spec: ToolSpec) -> impl Tool {
    tool(spec.parallel_safe(true), |_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok("rested".into())
    })
}

fn waits(records: &[EventRecord]) -> Vec<(usize, WaitsFor)> {
    let waits = records.iter().filter_map(|record| match &record.event {
        RecordedEvent::Waiting { call, on } => Some((call.index, *on)),
        _ => None,
    });
    waits.collect()
}

#[test]
fn places_that_are_taken_are_named_by_whose_they_are() {
    let nap_with = |spec: ToolSpec| paused().tool(nap(spec));
    let rate = Rate::new(1, Duration::from_secs(2)).unwrap();
    let one = AgentLimits { max_in_flight: Some(1), ..AgentLimits::default() };
    let threads = blocking(ToolSpec::new("nap").parallel_safe(true), |_| Ok("rested".into()));
    for (engine, on) in [
        (nap_with(ToolSpec::new("nap")).max_in_flight(1), WaitsFor::Engine),
        (nap_with(ToolSpec::new("nap").max_in_flight(1)), WaitsFor::Tool),
        (nap_with(ToolSpec::new("nap").rate(rate)), WaitsFor::Rate),
        (nap_with(ToolSpec::new("nap")).agent_limits("a", one), WaitsFor::Agent),
        (Engine::builder().tool(threads).max_blocking(1), WaitsFor::Thread),
    ] {
        let calls = vec![call("nap", json!({})); 3];
        let (report, records) = recorded(&engine.build().unwrap(), calls, ExecuteOptions::new().agent("a"));
        assert!(report.all_ok(), "{report:?}");
        assert_eq!(waits(&records), [(1, on), (2, on)]);
    }
}

#[test]
fn many_that_wait_are_told_once_although_they_are_asked_again_at_each_place_that_gets_free() {
    let engine = paused().tool(nap(ToolSpec::new("nap"))).max_in_flight(1).build().unwrap();
    let (_, records) = recorded(&engine, vec![call("nap", json!({})); 20], ExecuteOptions::new());
    assert_eq!(waits(&records).len(), 19);
}

#[test]
fn a_busy_row_is_told_once() {
    let counter = Stateful::new(Counter::new("count", StateScope::Agent));
    let engine = Engine::builder().tool(counter).build().unwrap();
    let calls = vec![call("count", json!({"work": "block"})); 3];
    let (report, records) = recorded(&engine, calls, ExecuteOptions::new().agent("a"));
    assert!(report.all_ok());
    assert_eq!(waits(&records), [(1, WaitsFor::Row), (2, WaitsFor::Row)]);
}

#[test]
fn an_actor_that_is_replaced_a_pause_before_another_try_and_an_approval_are_waits() {
    let pausing = RestartPolicy::new(100, Duration::from_hours(1));
    let engine = paused().tool(echo("echo")).restarts(pausing).build().unwrap();
    let told = (0..20).find_map(|_| {
        engine.crash("echo", None);
        let (report, records) = recorded(&engine, vec![call("echo", json!({}))], ExecuteOptions::new());
        assert!(report.all_ok());
        waits(&records).first().copied()
    });
    assert_eq!(told, Some((0, WaitsFor::Actor)));

    let late = tool(
        ToolSpec::new("late").idempotent(true).timeout(Duration::from_secs(1)),
        |invocation| async move {
            if invocation.context.attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok("at last".into())
        },
    );
    let retry = RetryPolicy { attempts: 2, ..RetryPolicy::default() };
    let engine = paused().tool(late).retry(retry).build().unwrap();
    let (report, records) = recorded(&engine, vec![call("late", json!({}))], ExecuteOptions::new());
    assert_eq!((outcomes(&report), waits(&records)), (vec!["ok"], vec![(0, WaitsFor::Retry)]));
    let started = records.iter().filter(|record| matches!(record.event, RecordedEvent::Started { .. }));
    assert_eq!(started.count(), 2);

    let rule = vec![PermissionRule::new(Verdict::Ask, "echo", "*")];
    let rules = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap();
    let engine = Engine::builder().tool(echo("echo")).permissions(rules).build().unwrap();
    let (report, records) =
        recorded(&engine, vec![call("echo", json!({"secret": 1}))], ExecuteOptions::new());
    assert_eq!((outcomes(&report), waits(&records)), (vec!["suspended"], vec![(0, WaitsFor::Approval)]));
    let written = serde_json::to_string(&records).unwrap();
    assert!(written.contains(r#""verdict":"ask""#), "{written}");
    let without_ends: Vec<_> = records.iter().filter(|record| !is_end(record)).collect();
    assert!(!serde_json::to_string(&without_ends).unwrap().contains("secret"), "arguments are not on record");
}

fn is_end(record: &EventRecord) -> bool {
    matches!(record.event, RecordedEvent::Finished { .. })
}

#[test]
fn the_order_of_the_plan_is_told_with_the_calls_that_must_have_ended() {
    let alone = tool(ToolSpec::new("alone"), |_| async { Ok("".into()) });
    let engine = Engine::builder().tool(echo("echo")).tool(alone).alias("reverb", "echo").build().unwrap();
    let calls = ["echo", "reverb", "nothing", "alone", "alone", "echo"].map(|tool| call(tool, json!({})));
    let (_, records) = recorded(&engine, calls.to_vec(), ExecuteOptions::new());
    let places: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            RecordedEvent::Accepted { call, actor, batch, strategy, after, .. } => {
                Some((call.index, actor.as_str(), *batch, *strategy, *after))
            }
            _ => None,
        })
        .collect();
    let (concurrent, sequential) = (BatchKind::Concurrent, BatchKind::Sequential);
    assert_eq!(
        places,
        [
            (0, "echo", 0, concurrent, None),
            (1, "echo", 0, concurrent, None),
            (3, "alone", 1, sequential, Some(1)),
            (4, "alone", 1, sequential, Some(3)),
            (5, "echo", 2, concurrent, Some(4)),
        ]
    );
}

#[test]
fn a_list_inside_a_call_names_the_call() {
    let outer = tool(ToolSpec::new("outer"), |invocation| async move {
        let inner = vec![ToolCall::new("echo", json!({}).into())];
        Ok(json!(invocation.context.submit(inner).await?.len()).into())
    });
    let engine = Engine::builder().tool(outer).tool(echo("echo")).build().unwrap();
    let calls = vec![call("echo", json!({})), call("outer", json!({}))];
    let (report, records) = recorded(&engine, calls, ExecuteOptions::new());
    let parents: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            RecordedEvent::ListAccepted { parent, .. } => Some(*parent),
            _ => None,
        })
        .collect();
    assert_eq!(parents, [None, Some((report.run.0, 1))]);
}
