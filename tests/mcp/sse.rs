//! Servers that are reached by HTTP with server-sent events.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{
    Arguments, ExecuteOptions, Outcome, ToolCall,
    mcp::{McpServerConfig, McpState},
};

use super::{
    engine_with, eventually,
    listening::{Listening, free_port},
    output, run, status, tools,
};

#[tokio::test]
async fn both_generations_of_the_sdk_work_over_server_sent_events() {
    for sdk in ["mcp1", "mcp2"] {
        let port = free_port();
        let server = Listening::start(sdk, port, "sse").await;
        let url = format!("http://127.0.0.1:{port}/sse");
        let engine = engine_with([("s", McpServerConfig::sse(url))]).await;
        assert_eq!(status(&engine)["s"].era.as_deref(), Some("2025-11-25"), "{sdk}");
        assert_eq!(output(&engine, "s_add", json!({"a": 2, "b": 40})).await, 42);
        assert_eq!(output(&engine, "s_picture", json!({})).await[0]["mimeType"], "image/png");
        assert_eq!(run(&engine, "s_fail", json!({})).await.outcome, Outcome::Failed);
        let exact = Arguments::Json(r#"{"n": 10000000000000000000001}"#.to_owned());
        let call = vec![ToolCall::new("s_square", exact)];
        let squared = engine.execute(call, ExecuteOptions::new()).await.unwrap().results.remove(0);
        let squared = squared.output.expect("an output");
        assert_eq!(squared.to_text(), "100000000000000000000020000000000000000000001");
        assert_eq!(
            engine.mcp().read_resource("s", "res://hello").await.unwrap()["contents"][0]["text"],
            "hello"
        );

        // Many at once over the one connection, each with its own answer.
        let calls = (0..50).map(|n| ToolCall::new("s_add", json!({"a": n, "b": 1000}).into()));
        let lists = calls.map(|call| engine.submit(vec![call], ExecuteOptions::new()));
        let running: Vec<_> = lists.map(|list| tokio::spawn(async move { list.await.unwrap() })).collect();
        for (n, list) in running.into_iter().enumerate() {
            let sum = list.await.unwrap().results.remove(0).output.expect("an output").to_value();
            assert_eq!(sum, 1000 + n);
        }
        drop(server);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_connection_of_events_ends_with_its_server_and_comes_back() {
    let port = free_port();
    let server = Listening::start("mcp1", port, "sse").await;
    let config = McpServerConfig::sse(format!("http://127.0.0.1:{port}/sse"));
    let engine = engine_with([("s", config)]).await;
    assert_eq!(output(&engine, "s_add", json!({"a": 2})).await, 3);
    drop(server);
    eventually("its end is seen", || status(&engine)["s"].state != McpState::Ready).await;
    assert!(tools(&engine).contains(&"s_add".to_owned()), "the last good list stays");
    let refused = run(&engine, "s_add", json!({"a": 2})).await;
    assert_eq!(refused.outcome, Outcome::NotStarted, "{refused:?}");

    let server = Listening::start("mcp1", port, "sse").await;
    eventually("it is back", || status(&engine)["s"].state == McpState::Ready).await;
    assert_eq!(output(&engine, "s_add", json!({"a": 2})).await, Value::from(3));
    assert_eq!(run(&engine, "s_crash", json!({})).await.outcome, Outcome::Lost);
    drop(server);
    engine.shutdown(Duration::ZERO).await;
}
