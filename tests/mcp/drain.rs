//! Servers that go while they are at work.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall, ToolResult,
    mcp::{LinkMode, McpServerConfig, McpState},
};

use super::{engine_with, eventually, is_alive, output, server, status, tools, within};

/// A call that is under way until there is a file.
async fn gated(engine: &Engine, file: &Path) -> JoinHandle<ToolResult> {
    let before = status(engine)["s"].in_flight;
    let calls = vec![ToolCall::new("s_gate", json!({"file": file}).into())];
    let list = engine.submit(calls, ExecuteOptions::new());
    let running = tokio::spawn(async move { list.await.unwrap().results.remove(0) });
    eventually("the call is out", || status(engine)["s"].in_flight > before).await;
    running
}

async fn pid(engine: &Engine) -> String {
    let Value::String(pid) = output(engine, "s_pid", json!({})).await else { panic!("a pid is text") };
    pid
}

fn patient(config: McpServerConfig) -> McpServerConfig {
    config.drain(Duration::from_mins(1))
}

#[tokio::test]
async fn a_server_that_is_removed_ends_the_calls_that_it_is_at() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let engine = engine_with([("s", patient(server([])))]).await;
    let old = pid(&engine).await;
    let running = gated(&engine, &file).await;
    let removing = {
        let pool = engine.mcp().clone();
        tokio::spawn(async move { pool.remove("s").await })
    };
    eventually("its tools are gone", || tools(&engine).is_empty()).await;
    assert!(is_alive(&old) && !running.is_finished() && !removing.is_finished());
    std::fs::write(&file, "").unwrap();
    assert_eq!(within("the call ends", running).await.unwrap().outcome, Outcome::Ok);
    within("the server ends", removing).await.unwrap().unwrap();
    assert!(!is_alive(&old));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn calls_that_take_longer_than_a_server_is_drained_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [LinkMode::Persistent, LinkMode::PerCall] {
        let config = server([]).drain(Duration::from_millis(50)).mode(mode);
        let engine = engine_with([("s", config)]).await;
        let running = gated(&engine, &folder.path().join("never")).await;
        within("the server goes", engine.mcp().remove("s")).await.unwrap();
        assert_eq!(within("the call ends", running).await.unwrap().outcome, Outcome::Lost, "{mode:?}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_server_in_the_place_of_another_never_answers_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let engine = engine_with([("s", patient(server(["plain", "old"])))]).await;
    let old = pid(&engine).await;
    let running = gated(&engine, &file).await;
    let replacing = {
        let pool = engine.mcp().clone();
        tokio::spawn(async move { pool.add("s", patient(server(["plain", "new"]))).await })
    };
    eventually("the old tools are gone", || !tools(&engine).contains(&"s_old".to_owned())).await;
    assert!(!running.is_finished());
    std::fs::write(&file, "").unwrap();
    assert_eq!(within("the call ends", running).await.unwrap().outcome, Outcome::Ok);
    within("the old one ends", replacing).await.unwrap().unwrap();
    assert!(!is_alive(&old));
    engine.mcp().settled(Duration::from_mins(2), || false).await;
    assert!(tools(&engine).contains(&"s_new".to_owned()) && !tools(&engine).contains(&"s_old".to_owned()));
    assert_ne!(pid(&engine).await, old);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_server_that_is_disconnected_is_closing_until_its_calls_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    let engine = engine_with([("s", patient(server([])))]).await;
    let old = pid(&engine).await;
    let running = gated(&engine, &file).await;
    let closing = {
        let pool = engine.mcp().clone();
        tokio::spawn(async move { pool.disconnect(Some("s")).await })
    };
    eventually("it is closing", || status(&engine)["s"].state == McpState::Closing).await;
    assert_eq!(status(&engine)["s"].in_flight, 1);
    std::fs::write(&file, "").unwrap();
    assert_eq!(within("the call ends", running).await.unwrap().outcome, Outcome::Ok);
    within("the connection ends", closing).await.unwrap().unwrap();
    assert!(!is_alive(&old));
    assert_ne!(pid(&engine).await, old);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_engine_that_stops_waits_for_no_server_that_is_drained() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_with([("s", server([]).drain(Duration::from_hours(1)))]).await;
    let old = pid(&engine).await;
    let running = gated(&engine, &folder.path().join("never")).await;
    let removing = {
        let pool = engine.mcp().clone();
        tokio::spawn(async move { pool.remove("s").await })
    };
    eventually("its tools are gone", || tools(&engine).is_empty()).await;
    within("the engine stops", engine.shutdown(Duration::ZERO)).await;
    assert!(!within("the call ends", running).await.unwrap().is_ok());
    within("the removal ends", removing).await.unwrap().unwrap();
    assert!(!is_alive(&old));
}
