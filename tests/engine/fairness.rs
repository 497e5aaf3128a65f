//! Agents that wait take turns by their weight.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Semaphore;
use toolyard::{AgentLimits, Engine, EventKind, EventStream, ExecuteOptions, Tool, ToolCall, ToolSpec};

use super::tools::{call, tool};

/// A tool whose calls note their agent and then wait until the test lets one of them end.
fn stepped(begun: Arc<Mutex<Vec<String>>>, ends: Arc<Semaphore>) -> impl Tool {
    tool(ToolSpec::new("stepped").parallel_safe(true), move |invocation| {
        let (begun, ends) = (begun.clone(), ends.clone());
        async move {
            begun.lock().push(invocation.context.agent().unwrap_or_default().to_owned());
            ends.acquire().await.unwrap().forget();
            Ok("".into())
        }
    })
}

/// One agent queues 10,000 calls, in one list and in many; eight more queue one call each; then
/// another one comes with a single call. Gives how many calls of the first began before that one.
async fn calls_ahead_of_a_single_one(weight_of_the_crowd: u32) -> usize {
    const PLACES: usize = 2;
    let begun = Arc::new(Mutex::new(Vec::new()));
    let ends = Arc::new(Semaphore::new(0));
    let crowd =
        AgentLimits { weight: NonZeroU32::new(weight_of_the_crowd).unwrap(), ..AgentLimits::default() };
    let engine = Engine::builder()
        .tool(stepped(begun.clone(), ends.clone()))
        .max_in_flight(PLACES)
        .admission_timeout(Duration::from_hours(1))
        .agent_limits("crowd", crowd)
        .build()
        .unwrap();
    let agent = |agent: &str| ExecuteOptions::new().agent(agent);
    let list = |agent: ExecuteOptions, count| {
        let engine = engine.clone();
        tokio::spawn(
            async move { engine.execute(vec![call("stepped", json!({})); count], agent).await.unwrap() },
        )
    };
    let mut events = engine.subscribe(100_000);
    let mut lists = vec![list(agent("crowd"), 5_000)];
    lists.extend((0..5_000).map(|_| list(agent("crowd"), 1)));
    lists.extend((0..8).map(|other| list(agent(&format!("other-{other}")), 1)));
    read(&mut events, 10_008, |kind| matches!(kind, EventKind::Accepted { .. })).await;
    // The crowd has had its turns for a while before the single call comes.
    ends.add_permits(100);
    read(&mut events, 100, |kind| matches!(kind, EventKind::Started(_))).await;
    let single = list(agent("single"), 1);
    read(&mut events, 1, |kind| matches!(kind, EventKind::Accepted { .. })).await;
    // The engine's thread answers this after the accepted call has joined the queue.
    engine.plan(Vec::<ToolCall>::new(), agent("single")).await.unwrap();
    ends.add_permits(20_000);
    single.await.unwrap();
    for list in lists {
        assert!(list.await.unwrap().all_ok());
    }
    let begun = begun.lock();
    let at = begun.iter().position(|agent| agent == "single").unwrap();
    begun[100 + PLACES..at].iter().filter(|agent| *agent == "crowd").count()
}

/// Reads events until so many of a kind have come.
async fn read(events: &mut EventStream, count: usize, kind: impl Fn(&EventKind) -> bool) {
    let mut seen = 0;
    while seen < count {
        seen += usize::from(kind(&events.next().await.unwrap().kind));
    }
    assert_eq!(events.dropped(), 0);
}

#[tokio::test]
async fn a_single_call_waits_for_one_turn_of_an_agent_with_ten_thousand_calls() {
    let ahead = calls_ahead_of_a_single_one(1).await;
    assert!(ahead <= 1, "{ahead} calls of the crowd began before it");
}

#[tokio::test]
async fn a_weight_of_four_puts_at_most_four_calls_ahead() {
    let ahead = calls_ahead_of_a_single_one(4).await;
    assert!(ahead <= 4, "{ahead} calls of the crowd began before it");
}
