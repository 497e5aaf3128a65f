//! Callers with connections of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, future::ready};
use serde_json::{Value, json};
use toolyard::{
    Engine, EventKind, ExecuteOptions, Outcome, ToolCall,
    mcp::{Credentials, Isolation},
};

use super::{engine_with, eventually, is_alive, run_with, server, status, within};

async fn ask(engine: &Engine, tool: &str, arguments: Value, agent: Option<&str>) -> String {
    let mut options = ExecuteOptions::new();
    if let Some(agent) = agent {
        options = options.agent(agent);
    }
    let result = run_with(engine, tool, arguments, options).await;
    assert!(result.is_ok(), "{result:?}");
    result.output.expect("an output").to_text().to_owned()
}

async fn pid(engine: &Engine, agent: Option<&str>) -> String {
    ask(engine, "s_pid", json!({}), agent).await
}

#[tokio::test]
async fn each_agent_has_a_connection_of_its_own_and_keeps_it() {
    let engine = engine_with([("s", server([]).isolation(Isolation::default()))]).await;
    let mut pids = BTreeSet::new();
    for agent in [None, Some("a"), Some("b")] {
        let own = pid(&engine, agent).await;
        assert_eq!(pid(&engine, agent).await, own);
        pids.insert(own);
    }
    assert_eq!((pids.len(), status(&engine)["s"].callers), (3, 2));
    engine.mcp().remove("s").await.unwrap();
    assert!(!pids.iter().any(|pid| is_alive(pid)));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_agent_that_is_forgotten_loses_its_connection_and_others_keep_theirs() {
    let engine = engine_with([("s", server([]).isolation(Isolation::default()))]).await;
    let (gone, stays) = (pid(&engine, Some("a")).await, pid(&engine, Some("b")).await);
    engine.forget("a").await.unwrap();
    assert_eq!(status(&engine)["s"].callers, 1);
    eventually("its process ends", || !is_alive(&gone)).await;
    assert_eq!(pid(&engine, Some("b")).await, stays);
    assert_ne!(pid(&engine, Some("a")).await, gone);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn without_isolation_agents_share_one_connection() {
    let engine = engine_with([("s", server([]))]).await;
    assert_eq!(pid(&engine, Some("a")).await, pid(&engine, Some("b")).await);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_an_agent_shows_the_server_goes_with_its_connection_alone() {
    let epoch = Arc::new(AtomicUsize::new(1));
    let shown = epoch.clone();
    let credentials = Credentials::new(move |agent| {
        let key = |agent: &str| format!("{agent}-{}", shown.load(Ordering::SeqCst));
        agent.map(|agent| ("KEY".to_owned(), key(agent))).into_iter().collect::<BTreeMap<_, _>>()
    });
    let config = server([]).isolation(Isolation::default().credentials(credentials));
    let engine = engine_with([("s", config)]).await;
    let key = async |agent| ask(&engine, "s_variable", json!({"name": "KEY"}), agent).await;
    assert_eq!([key(None).await, key(Some("a")).await, key(Some("b")).await], ["", "a-1", "b-1"]);
    let before = pid(&engine, Some("a")).await;
    epoch.store(2, Ordering::SeqCst);
    assert_eq!(key(Some("a")).await, "a-2");
    assert_ne!(pid(&engine, Some("a")).await, before);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn the_connection_that_is_unused_for_longest_makes_room_and_one_in_use_never_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let engine = engine_with([("s", server([]).isolation(Isolation::default().most(2)))]).await;
    let first = pid(&engine, Some("a")).await;
    let second = pid(&engine, Some("b")).await;
    pid(&engine, Some("c")).await;
    eventually("the first one's process ends", || !is_alive(&first)).await;
    assert!(is_alive(&second));

    let busy = |agent: &str| {
        let calls = vec![ToolCall::new("s_gate", json!({"file": file}).into())];
        let list = engine.submit(calls, ExecuteOptions::new().agent(agent));
        tokio::spawn(async move { list.await.unwrap().results.remove(0).outcome })
    };
    let running = [busy("b"), busy("c")];
    eventually("both are in use", || status(&engine)["s"].in_flight == 2).await;
    let mut events = engine.subscribe(1_000);
    let waits = [busy("d"), busy("d"), busy("e")];
    let begin = events.by_ref().filter(|event| ready(matches!(event.kind, EventKind::Started(_)))).take(3);
    within("three more begin", begin.count()).await;
    assert_eq!((status(&engine)["s"].in_flight, status(&engine)["s"].callers), (2, 2));
    std::fs::write(&file, "").unwrap();
    for call in running.into_iter().chain(waits) {
        assert_eq!(within("it ends", call).await.unwrap(), Outcome::Ok);
    }
    pid(&engine, Some("d")).await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_caller_for_whom_no_connection_is_freed_in_time_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let few = server([]).isolation(Isolation::default().most(1)).connect_timeout(Duration::from_secs(5));
    let engine = engine_with([("s", few)]).await;
    let calls = vec![ToolCall::new("s_gate", json!({"file": file}).into())];
    let list = engine.submit(calls, ExecuteOptions::new().agent("a"));
    let running = tokio::spawn(async move { list.await.unwrap().results.remove(0).outcome });
    eventually("it is in use", || status(&engine)["s"].in_flight == 1).await;
    let late = run_with(&engine, "s_pid", json!({}), ExecuteOptions::new().agent("b")).await;
    assert_eq!(late.outcome, Outcome::NotStarted, "{late:?}");
    let error = late.error.unwrap();
    assert!(error.contains("all connections that its callers may have were in use for 5 s"), "{error}");
    std::fs::write(&file, "").unwrap();
    assert_eq!(within("it ends", running).await.unwrap(), Outcome::Ok);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_connection_that_its_caller_does_not_use_ends() {
    let idle = Isolation::default().idle(Duration::from_millis(20));
    let engine = engine_with([("s", server([]).isolation(idle))]).await;
    let old = pid(&engine, Some("a")).await;
    eventually("it ends", || !is_alive(&old) && status(&engine)["s"].callers == 0).await;
    assert_ne!(pid(&engine, Some("a")).await, old);
    engine.shutdown(Duration::ZERO).await;
}
