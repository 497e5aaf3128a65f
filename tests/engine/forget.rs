//! Agents that come and go, and leave nothing behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::System;
use futures::executor::block_on;
use serde_json::json;
use tokio::sync::Notify;
use toolyard::{
    AgentLimits, AgentTables, Answer, Answers, Engine, EngineBuilder, ExecuteOptions, ForgetError,
    PermissionRule, PermissionRules, Rate, Refusal, ResumeError, RulePolicy, StateScope, Stateful, Tool,
    ToolFuture, ToolSpec, Verdict, contract::Invocation,
};

use super::{
    state::Counter,
    tools::{call, paused, tool},
};

fn counters(engine: EngineBuilder) -> EngineBuilder {
    engine.tools(["one", "two"].map(|name| Stateful::new(Counter::new(name, StateScope::Agent))))
}

fn options(agent: &str) -> ExecuteOptions {
    ExecuteOptions::new().agent(agent)
}

fn visit(engine: &Engine, agent: &str) {
    let calls = vec![call("one", json!({})), call("two", json!({}))];
    assert!(engine.execute_blocking(calls, options(agent)).unwrap().all_ok());
}

fn tables(engine: &Engine) -> [usize; 5] {
    let AgentTables { agents, rows, limits, rates, grants, .. } = engine.agent_tables();
    [agents, rows, limits, rates, grants]
}

/// Asks somebody before calls with `ask` among their arguments.
fn asking() -> RulePolicy {
    let rule = vec![PermissionRule::new(Verdict::Ask, "one", "*ask*")];
    RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap()
}

#[test]
fn ten_thousand_agents_come_and_go_and_leave_the_tables_as_they_were() {
    const AGENTS: usize = 10_000;
    let limits = AgentLimits {
        max_in_flight: Some(4),
        rate: Rate::new(1_000, Duration::from_millis(1)),
        ..AgentLimits::default()
    };
    let builder = counters(Engine::builder()).limits_of_each_agent(limits).permissions(asking());
    let engine = builder.arbiters(2).build().unwrap();
    let start = tables(&engine);
    for round in 0..2 {
        for number in 0..AGENTS {
            let agent = format!("{round}-{number}");
            visit(&engine, &agent);
            if number % 100 == 0 {
                let report = engine
                    .execute_blocking(vec![call("one", json!({"how": "ask"}))], options(&agent))
                    .unwrap();
                let mut list = report.suspend("list".into());
                let answers = Answers::new().with(&list.parked[0].call.request_id, Answer::ApproveForSession);
                block_on(engine.resume(&mut list, &answers, ExecuteOptions::new())).unwrap();
            }
        }
        let [agents, rows, limits, rates, grants] = tables(&engine);
        assert_eq!([agents, rows, limits, grants], [0, 2 * AGENTS, 0, AGENTS / 100]);
        assert!(rates > 0, "rates are remembered for a while");
        for number in 0..AGENTS {
            let forgotten = block_on(engine.forget(&format!("{round}-{number}"))).unwrap();
            assert_eq!((forgotten.rows, forgotten.grants), (2, usize::from(number % 100 == 0)));
        }
        assert_eq!(tables(&engine), start);
    }
}

/// Waits until somebody opens the gate, once for each call.
fn gated(name: &str, gate: &Arc<Notify>, begun: &Arc<AtomicUsize>) -> impl Tool + use<> {
    let (gate, begun) = (gate.clone(), begun.clone());
    tool(ToolSpec::new(name), move |_| {
        let gate = gate.clone();
        begun.fetch_add(1, Ordering::SeqCst);
        async move {
            gate.notified().await;
            Ok("passed".into())
        }
    })
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_agent_with_calls_under_way_is_not_forgotten() {
    let (gate, begun) = (Arc::new(Notify::new()), Arc::default());
    let engine = counters(Engine::builder()).tool(gated("gate", &gate, &begun)).build().unwrap();
    std::thread::scope(|scope| {
        let list = scope.spawn(|| {
            let calls = vec![call("one", json!({})), call("gate", json!({}))];
            engine.execute_blocking(calls, options("a")).unwrap()
        });
        until("the gate is reached", || begun.load(Ordering::SeqCst) == 1);
        let error = block_on(engine.forget("a")).unwrap_err();
        assert_eq!(error, ForgetError::InUse { agent: "a".into() });
        assert_eq!(
            error.to_string(),
            "agent \"a\" has calls under way: it can be forgotten when they have ended"
        );
        assert_eq!(tables(&engine)[..2], [1, 1]);
        visit(&engine, "b");
        assert_eq!(block_on(engine.forget("b")).unwrap().rows, 2, "another one is");
        gate.notify_one();
        assert!(list.join().unwrap().all_ok());
    });
    assert_eq!(block_on(engine.forget("a")).unwrap().rows, 1);
    assert_eq!(block_on(engine.forget("nobody")).unwrap().rows, 0);
    block_on(engine.shutdown(Duration::ZERO));
    assert_eq!(block_on(engine.forget("a")), Err(ForgetError::Stopped));
}

/// Takes its time to let go of an agent.
struct Slow(ToolSpec, Arc<Notify>, Arc<AtomicUsize>);

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Ok("done".into()))
    }

    fn forget(&self, _: &str) -> futures::future::BoxFuture<'static, ()> {
        let gate = self.1.clone();
        self.2.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { gate.notified().await })
    }
}

#[test]
fn a_list_of_an_agent_that_is_being_forgotten_waits_and_finds_nothing_of_it() {
    let (gate, begun) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let slow = Slow(ToolSpec::new("slow"), gate.clone(), begun.clone());
    let engine = counters(Engine::builder()).tool(slow).build().unwrap();
    visit(&engine, "a");
    std::thread::scope(|scope| {
        let forgetting = scope.spawn(|| block_on(engine.forget("a")));
        until("it is being forgotten", || begun.load(Ordering::SeqCst) == 1);
        let list = scope.spawn(|| visit(&engine, "a"));
        visit(&engine, "b");
        assert!(!list.is_finished());
        assert!(matches!(block_on(engine.forget("a")), Err(ForgetError::InUse { .. })), "one at a time");
        gate.notify_one();
        assert_eq!(forgetting.join().unwrap().unwrap().rows, 2);
        list.join().unwrap();
    });
    assert_eq!(block_on(engine.state("one", Some("a"))).unwrap().unwrap().get(), "1");
}

#[test]
fn a_suspended_list_of_an_agent_that_was_forgotten_does_not_go_on_with_an_empty_row() {
    let engine = counters(Engine::builder()).permissions(asking()).build().unwrap();
    let calls = vec![call("one", json!({})), call("one", json!({"how": "ask"}))];
    let mut list = engine.execute_blocking(calls, options("a")).unwrap().suspend("list".into());
    block_on(engine.forget("a")).unwrap();
    let answers = Answers::new().approve(&list.parked[0].call.request_id);
    let error = block_on(engine.resume(&mut list, &answers, ExecuteOptions::new())).unwrap_err();
    assert!(matches!(error, ResumeError::Refused(Refusal::OtherState { .. })), "{error}");
    assert_eq!(tables(&engine)[1], 0);
}

#[test]
fn agents_that_are_idle_for_long_are_forgotten_and_one_at_work_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let before = counters(Engine::builder()).build().unwrap();
    visit(&before, "loaded");
    block_on(before.save_state(&file)).unwrap();

    // The clock runs as fast as it can, so that everybody at rest is soon idle for an hour.
    let (gate, begun) = (Arc::new(Notify::new()), Arc::default());
    let builder = counters(paused()).tool(gated("gate", &gate, &begun)).timeout(None);
    let engine = builder.forget_idle_agents(Duration::from_hours(1)).build().unwrap();
    assert_eq!(block_on(engine.load_state(&file)).unwrap().rows, 2);
    until("who was only loaded is forgotten", || tables(&engine) == [0; 5]);
    std::thread::scope(|scope| {
        let list = scope.spawn(|| {
            let calls = vec![call("one", json!({})), call("gate", json!({}))];
            engine.execute_blocking(calls, options("busy")).unwrap()
        });
        until("the gate is reached", || begun.load(Ordering::SeqCst) == 1);
        for round in 0..5 {
            visit(&engine, &format!("idle-{round}"));
            until("all but one are forgotten", || tables(&engine) == [1, 1, 0, 0, 0]);
        }
        assert_eq!(block_on(engine.state("one", Some("busy"))).unwrap().unwrap().get(), "1");
        gate.notify_one();
        assert!(list.join().unwrap().all_ok());
    });
    until("nobody is left", || tables(&engine) == [0; 5]);
}

#[test]
fn by_itself_an_engine_forgets_nobody() {
    let engine = counters(paused()).timeout(None).build().unwrap();
    visit(&engine, "a");
    // A day of the engine's time.
    let day = tool(ToolSpec::new("sleep"), |_| async {
        tokio::time::sleep(Duration::from_hours(24)).await;
        Ok("slept".into())
    });
    block_on(engine.change_tools(vec![toolyard::CatalogChange::Add(Arc::new(day))])).unwrap();
    let slept = engine.execute_blocking(vec![call("sleep", json!({}))], ExecuteOptions::new()).unwrap();
    assert!(slept.all_ok());
    assert_eq!(tables(&engine), [0, 2, 0, 0, 0], "no age, and no table of agents");
}

#[test]
fn an_attached_engine_forgets_too() {
    System::new().block_on(async {
        let engine = counters(Engine::builder()).attach().unwrap();
        let calls = vec![call("one", json!({})), call("two", json!({}))];
        assert!(engine.execute(calls, options("a")).await.unwrap().all_ok());
        assert_eq!(engine.forget("a").await.unwrap().rows, 2);
        assert_eq!(engine.agent_tables().rows, 0);
    });
}
