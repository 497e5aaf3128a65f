//! A run in which everything happens, on a clock that stands still while anything works.

use std::{sync::mpsc, time::Duration};

use serde_json::{Value, json};
use toolyard::{
    AgentLimits, Engine, EventKind, ExecuteOptions, Failure, PermissionRule, PermissionRules, Report,
    RetryPolicy, RulePolicy, StateScope, Stateful, Tool, ToolCall, ToolSpec, Verdict, events::Recorder,
    timeline::Timeline,
};

use crate::engine::{
    state::Counter,
    tools::{call, field, held, tool},
};

/// A tool that takes as long as it is told, and then ends as it is told.
fn timed(spec: ToolSpec) -> impl Tool {
    tool(spec, |invocation| async move {
        let millis = field(&invocation, "ms").as_u64().unwrap_or(0);
        let how = field(&invocation, "how");
        if how != "at once" {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        match how.as_str() {
            Some("fail") => Err(Failure::failed("the shop is closed: come back at 9 o'clock")),
            Some("panic") => panic!("a bug"),
            Some("late once") if invocation.context.attempt == 1 => std::future::pending().await,
            _ => Ok("done".into()),
        }
    })
}

fn outer() -> impl Tool {
    tool(ToolSpec::new("delegate"), |invocation| async move {
        let calls = [120, 60, 90].map(|ms| call("search", json!({"ms": ms})).with_id(format!("sub-{ms}")));
        Ok(json!(invocation.context.submit(calls.to_vec()).await?.len()).into())
    })
}

/// An engine whose clock stands still until the sender is dropped.
fn engine() -> (Engine, mpsc::Sender<()>) {
    let rule = vec![
        PermissionRule::new(Verdict::Ask, "book", "*pay*"),
        PermissionRule::new(Verdict::Deny, "book", "*steal*"),
    ];
    let rules = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap();
    let two = AgentLimits { max_in_flight: Some(3), ..AgentLimits::default() };
    let (builder, clock) = held();
    let engine = builder
        .tool(timed(ToolSpec::new("search").parallel_safe(true).max_in_flight(2)))
        .tool(timed(ToolSpec::new("fetch").parallel_safe(true).timeout(Duration::from_millis(400))))
        .tool(timed(ToolSpec::new("book")))
        .tool(timed(ToolSpec::new("ask_back").idempotent(true).timeout(Duration::from_millis(150))))
        .tool(outer())
        .tool(Stateful::new(Counter::new("count", StateScope::Agent)))
        .permissions(rules)
        .limits_of_each_agent(two)
        .retry(RetryPolicy { attempts: 2, ..RetryPolicy::default() })
        .build()
        .unwrap();
    (engine, clock)
}

fn calls(list: &[(&str, Value)]) -> Vec<ToolCall> {
    let calls = list.iter().enumerate();
    calls
        .map(|(index, (tool, arguments))| call(tool, arguments.clone()).with_id(format!("call_{index}")))
        .collect()
}

/// Runs three lists, two of them at once, and gives what came of them and their picture.
pub(super) fn run() -> (Vec<Report>, Timeline) {
    let (engine, clock) = engine();
    let traveller = calls(&[
        ("search", json!({"ms": 180})),
        ("search", json!({"ms": 240})),
        ("search", json!({"ms": 90})),
        ("search", json!({"ms": 150, "how": "fail"})),
        ("fetch", json!({"ms": 300})),
        ("fetch", json!({"ms": 900})),
        ("fetch", json!({"ms": 80})),
        ("book", json!({"ms": 120})),
        ("book", json!({"ms": 60, "how": "panic"})),
        ("book", json!({"ms": 1, "what": "pay 100"})),
        ("book", json!({"ms": 1, "what": "steal"})),
        ("bok", json!({})),
        ("ask_back", json!({"ms": 40, "how": "late once"})),
        ("fetch", json!({"ms": 130})),
        ("fetch", json!({"ms": 210})),
    ]);
    let planner = calls(&[
        ("count", json!({"work": "wait", "ms": 200})),
        ("count", json!({"work": "wait", "ms": 100})),
        ("delegate", json!({})),
        ("fetch", json!({"ms": 250})),
        ("count", json!({})),
    ]);
    let hasty = calls(&[
        ("fetch", json!({"ms": 100})),
        ("search", json!({"ms": 350})),
        ("search", json!({"ms": 500})),
        ("book", json!({"ms": 10})),
    ]);
    let mut events = engine.subscribe(1_000);
    let mut wait = |is: fn(&EventKind) -> bool| while !is(&events.next_blocking().unwrap().kind) {};
    let recorder = Recorder::start(&engine, Timeline::default()).unwrap();
    std::thread::scope(|scope| {
        let deadline = ExecuteOptions::new().deadline(Duration::from_millis(450));
        let lists = [
            (traveller, ExecuteOptions::new().agent("traveller")),
            (planner, ExecuteOptions::new().agent("planner")),
            (hasty, deadline.agent("hasty")),
        ];
        let running = lists.map(|(calls, options)| {
            let engine = &engine;
            let running = scope.spawn(move || engine.execute_blocking(calls, options).unwrap());
            wait(|kind| matches!(kind, EventKind::ListAccepted { .. }));
            running
        });
        drop(clock);
        let reports = running.map(|running| running.join().unwrap()).to_vec();
        (reports, recorder.finish().unwrap().sink)
    })
}
