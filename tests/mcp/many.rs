//! Lists of names and requests in, lists of answers out; time-outs apart; a manager's start, stop and reset.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use toolyard::mcp::{McpError, McpState, PromptRequest, ResourceRequest};

use super::{engine_with, eventually, is_alive, output, run, server, status, tools};

fn prompt(server: &str, prompt: &str, topic: &str) -> PromptRequest {
    let arguments = BTreeMap::from([("topic".to_owned(), topic.to_owned())]);
    PromptRequest { server: server.into(), prompt: prompt.into(), arguments }
}

fn resource(server: &str, uri: &str) -> ResourceRequest {
    ResourceRequest { server: server.into(), uri: uri.into() }
}

#[tokio::test]
async fn each_request_has_an_answer_or_an_error_of_its_own_in_the_order_of_the_requests() {
    let engine = engine_with([("a", server([])), ("b", server([]))]).await;
    let requests = vec![
        resource("a", "res://1"),
        resource("none", "x"),
        resource("a", "res://none"),
        resource("b", "res://2"),
    ];
    let read = engine.mcp().read_resources(requests).await;
    assert_eq!(read[0].as_ref().unwrap()["contents"][0]["uri"], "res://1");
    assert!(matches!(&read[1], Err(McpError::UnknownServer { name, .. }) if name == "none"));
    assert!(matches!(&read[2], Err(McpError::NoAnswer { server, .. }) if server == "a"));
    assert_eq!(read[3].as_ref().unwrap()["contents"][0]["uri"], "res://2");
    let prompts = engine
        .mcp()
        .get_prompts(vec![prompt("b", "ask", "x"), prompt("none", "ask", "y"), prompt("a", "say", "z")])
        .await;
    let text =
        |place: usize| prompts[place].as_ref().map(|got| got["messages"][0]["content"]["text"].clone());
    assert_eq!((text(0).unwrap(), text(2).unwrap()), (json!("ask x"), json!("say z")));
    assert!(matches!(text(1), Err(McpError::UnknownServer { .. })));
    assert!(engine.mcp().read_resources(Vec::new()).await.is_empty());
    engine.shutdown(Duration::ZERO).await;
}

#[test]
fn requests_are_read_from_documents() {
    let one: PromptRequest = serde_json::from_value(json!({"server": "s", "prompt": "p"})).unwrap();
    assert_eq!(one, PromptRequest { server: "s".into(), prompt: "p".into(), ..Default::default() });
    for key in ["uri", "url"] {
        let one: ResourceRequest = serde_json::from_value(json!({"server": "s", key: "res://x"})).unwrap();
        assert_eq!(one, resource("s", "res://x"));
    }
    assert!(
        serde_json::from_value::<ResourceRequest>(json!({"server": "s", "uri": "x", "more": 1})).is_err()
    );
}

#[tokio::test]
async fn several_servers_are_removed_at_once_and_an_unknown_one_keeps_none_of_them() {
    let engine = engine_with([("a", server([])), ("b", server([])), ("c", server([]))]).await;
    let removed = engine.mcp().remove_servers(["a", "none", "c"]).await;
    assert!(removed[0].is_ok() && removed[2].is_ok());
    assert!(matches!(&removed[1], Err(McpError::UnknownServer { name, .. }) if name == "none"));
    assert_eq!(engine.mcp().servers(), ["b"]);
    assert!(tools(&engine).iter().all(|name| name.starts_with("b_")));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn connecting_reading_and_calling_have_time_outs_of_their_own() {
    let patient = server(["slow"]).read_timeout(Duration::from_millis(200));
    let engine = engine_with([]).await;
    engine.mcp().add("slow", patient).await.unwrap();
    engine.mcp().connect(Some("slow")).await.unwrap();
    let says = || status(&engine)["slow"].last_error.clone().unwrap_or_default();
    eventually("the list is given up", || says().ends_with("there was no answer within 0.2 s")).await;
    assert_eq!(status(&engine)["slow"].state, McpState::Ready, "the connection is none the worse");
    engine.shutdown(Duration::ZERO).await;
    let engine = engine_with([("s", server([]).timeout(Duration::from_millis(200)))]).await;
    assert_eq!(run(&engine, "s_wait", json!({})).await.outcome, toolyard::Outcome::TimedOut);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_stop_disconnects_the_servers_and_a_start_connects_them() {
    let engine = engine_with([("s", server([]))]).await;
    let before = output(&engine, "s_pid", json!({})).await;
    engine.mcp().add("bad", toolyard::mcp::McpServerConfig::stdio("no-such-program", [""])).await.unwrap();
    engine.stop().await.unwrap();
    assert!(!is_alive(before.as_str().unwrap()));
    assert_eq!(status(&engine)["s"].state, McpState::Idle);
    let report = engine.start().await.unwrap();
    assert_eq!(status(&engine)["s"].state, McpState::Ready);
    assert_eq!((report.failed.len(), report.failed[0].0.as_str()), (1, "bad"));
    assert!(report.failed[0].1.to_string().contains("no program \"no-such-program\" was found"));
    let after = output(&engine, "s_pid", json!({})).await;
    assert_ne!(before, after);
    engine.reset().await.unwrap();
    assert_ne!(output(&engine, "s_pid", json!({})).await, after);
    engine.shutdown(Duration::ZERO).await;
}
