//! Sessions held by hand: alone, and of a pool.

use std::time::Duration;

use serde_json::json;
use toolyard::{
    DirectCall, ExecuteTool,
    mcp::{McpError, McpServerConfig, McpSession},
};

use super::{engine_with, eventually, is_alive, server, status};

fn alone() -> McpSession {
    McpSession::new("alone", server([]).connect_timeout(Duration::from_mins(2))).unwrap()
}

#[tokio::test]
async fn a_session_can_be_used_without_an_engine_and_be_looked_at() {
    let session = alone();
    assert!(!session.is_connected() && session.info().is_none());
    session.connect().await.unwrap();
    session.connect().await.unwrap();
    let info = session.info().unwrap();
    assert_eq!((info.generation, info.era.as_str()), (1, "2025-06-18"));
    assert_eq!(info.server["serverInfo"]["name"], "server.py");
    let pid = info.pid.unwrap().to_string();
    let tools = session.tools().await.unwrap();
    let echo = tools.iter().find(|tool| tool.spec().name == "echo").unwrap().clone();
    let reply = echo.execute(DirectCall::new(json!({"text": "hi"}))).await.unwrap();
    assert_eq!(reply.output.unwrap().to_text(), "hi");
    assert_eq!(session.prompts().await.unwrap(), [json!({"name": "ask"})]);
    assert_eq!(session.read_resource("res://1").await.unwrap()["contents"][0]["text"], "read");
    session.disconnect().await;
    assert!(!session.is_connected() && !is_alive(&pid));
    session.disconnect().await;
    assert_eq!(session.prompts().await.unwrap().len(), 1, "what is asked after opens it again");
    assert_eq!(session.info().unwrap().generation, 2);
}

#[tokio::test]
async fn a_scope_disconnects_at_its_end_also_after_an_error_unless_the_session_is_persistent() {
    let session = alone();
    let error = session.scoped(async |session| session.read_resource("res://none").await).await.unwrap_err();
    assert!(matches!(error, McpError::NoAnswer { .. }));
    assert!(!session.is_connected());
    let session = session.persistent(true);
    session.scoped(async |session| session.prompts().await).await.unwrap();
    assert!(session.is_connected());
}

#[tokio::test]
async fn callers_share_one_try_and_a_session_that_is_dropped_takes_its_process_along() {
    let session = alone();
    let tries = (0..8).map(|_| {
        let session = session.clone();
        tokio::spawn(async move { session.connect().await })
    });
    for tried in tries.collect::<Vec<_>>() {
        tried.await.unwrap().unwrap();
    }
    let info = session.info().unwrap();
    assert_eq!(info.generation, 1);
    drop(session);
    let pid = info.pid.unwrap().to_string();
    eventually("its process ends", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_that_names_it() {
    let session = McpSession::new("bad", McpServerConfig::stdio("no-such-program", [""])).unwrap();
    let error = session.connect().await.unwrap_err().to_string();
    assert!(error.starts_with("MCP server \"bad\": not connected: no program"), "{error}");
    let status = session.status();
    assert!(status.last_error.unwrap().contains("no-such-program"));
    assert!(matches!(McpSession::new("", server([])), Err(McpError::BadName { .. })));
}

#[tokio::test]
async fn a_session_of_a_pool_is_the_pools_own() {
    let engine = engine_with([("s", server([]))]).await;
    let session = engine.mcp().session("s").unwrap();
    assert_eq!((session.server(), session.is_connected()), ("s", true));
    session.scoped(async |session| session.prompts().await).await.unwrap();
    assert!(session.is_connected(), "a scope does not close what others use");
    assert_eq!(session.info().unwrap().generation, status(&engine)["s"].generation);
    engine.mcp().remove("s").await.unwrap();
    assert!(session.connect().await.unwrap_err().to_string().contains("the server was removed"));
    assert!(matches!(engine.mcp().session("s"), Err(McpError::UnknownServer { .. })));
    engine.shutdown(Duration::ZERO).await;
}
