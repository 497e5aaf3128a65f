//! Servers over HTTP that break in the middle.

use std::time::Duration;

use serde_json::json;
use toolyard::{
    Arguments, ExecuteOptions, Outcome, ToolCall,
    mcp::{McpServerConfig, McpState},
};

use super::{
    engine_with, eventually,
    faulty::Faulty,
    listening::{Listening, free_port},
    output, run, status,
};

#[tokio::test]
async fn what_may_have_run_is_lost_and_never_sent_again() {
    let faulty = Faulty::start();
    let engine = engine_with([("s", McpServerConfig::http(&faulty.url).trust_hints(true))]).await;
    for (tool, outcome) in [
        ("s_500", Outcome::Lost),
        ("s_503", Outcome::Lost),
        ("s_closed", Outcome::Lost),
        ("s_half", Outcome::Lost),
        ("s_400", Outcome::Failed),
        ("s_429", Outcome::NotStarted),
    ] {
        let before = faulty.calls();
        let result = run(&engine, tool, json!({})).await;
        assert_eq!(result.outcome, outcome, "{result:?}");
        assert_eq!(faulty.calls() - before, 1, "{tool}");
        assert_eq!(output(&engine, "s_echo", json!({"a": 1})).await, json!({"a": 1}));
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn integers_of_any_size_go_over_http_exact() {
    let faulty = Faulty::start();
    let engine = engine_with([("s", McpServerConfig::http(&faulty.url))]).await;
    let arguments = format!("{{\"a\":{}}}", "9".repeat(40));
    let call = ToolCall::new("s_echo", Arguments::Json(arguments.clone()));
    let result = engine.execute(vec![call], ExecuteOptions::new()).await.unwrap().results.remove(0);
    assert_eq!(result.output.expect("an output").to_text(), arguments);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_begun_anew_once_for_all() {
    let faulty = Faulty::with_sessions();
    let engine = engine_with([("s", McpServerConfig::http(&faulty.url))]).await;
    assert_eq!(output(&engine, "s_echo", json!({"a": 1})).await, json!({"a": 1}));
    faulty.forget();
    let calls = (0..20).map(|n| ToolCall::new("s_echo", json!({"n": n}).into()));
    let lists = calls.map(|call| engine.submit(vec![call], ExecuteOptions::new()));
    let running: Vec<_> = lists.map(|list| tokio::spawn(async move { list.await.unwrap() })).collect();
    for (n, list) in running.into_iter().enumerate() {
        let result = list.await.unwrap().results.remove(0);
        assert_eq!(
            result.output.map(|output| output.to_value()),
            Some(json!({"n": n})),
            "{:?}",
            result.error
        );
    }
    assert_eq!((faulty.starts(), faulty.calls()), (2, 21));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_answer_over_http_that_is_too_large_loses_its_call_alone() {
    let faulty = Faulty::start();
    let ports = [free_port(), free_port()];
    let _servers = [
        Listening::start("mcp2", ports[0], "streamable-http").await,
        Listening::start("mcp1", ports[1], "sse").await,
    ];
    let url = |way: usize, path: &str| format!("http://127.0.0.1:{}/{path}", ports[way]);
    let small = |config: McpServerConfig| config.largest_message_bytes(100_000);
    let engine = engine_with([
        ("json", small(McpServerConfig::http(&faulty.url))),
        ("stream", small(McpServerConfig::http(url(0, "mcp")))),
        ("sse", small(McpServerConfig::sse(url(1, "sse")))),
    ])
    .await;
    for (server, works) in [("json", "echo"), ("stream", "pid"), ("sse", "pid")] {
        let result = run(&engine, &format!("{server}_big"), json!({})).await;
        assert_eq!(result.outcome, Outcome::Lost, "{result:?}");
        let error = format!("tool \"{server}_big\": its answer is larger than 100000 bytes");
        assert_eq!(result.error, Some(error));
        output(&engine, &format!("{server}_{works}"), json!({})).await;
        assert_eq!(status(&engine)[server].generation, 1);
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_is_shown_to_a_server_goes_to_no_other() {
    let other = Faulty::start();
    let here = Faulty::elsewhere(&other.url);
    let secret = |config: McpServerConfig| config.header("x-key", "hush");
    let engine = engine_with([
        ("http", secret(McpServerConfig::http(&here.url))),
        ("sse", secret(McpServerConfig::sse(&here.url))),
    ])
    .await;
    assert!(here.requests() >= 2);
    assert_eq!(other.requests(), 0);
    let seen = status(&engine);
    assert!(seen.values().all(|server| server.state != McpState::Ready), "{seen:?}");
    let error = format!("it sends the request on to {} (HTTP 307), which is not followed", other.url);
    for server in ["http", "sse"] {
        assert!(seen[server].last_error.as_ref().unwrap().starts_with(&error), "{seen:?}");
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_odd_entry_of_a_list_over_http_is_left_out_alone() {
    let faulty = Faulty::start();
    let engine = engine_with([("s", McpServerConfig::http(&faulty.url))]).await;
    assert_eq!(output(&engine, "s_echo", json!({"a": 1})).await, json!({"a": 1}));
    let problems = &status(&engine)["s"].problems;
    assert!(problems.len() == 1 && problems[0].starts_with("\"odd\" is left out"), "{problems:?}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_server_is_told_that_its_session_has_ended_unless_the_setting_says_no() {
    let (told, untold) = (Faulty::with_sessions(), Faulty::with_sessions());
    let engine = engine_with([
        ("told", McpServerConfig::http(&told.url)),
        ("untold", McpServerConfig::http(&untold.url).terminate_on_close(false)),
    ])
    .await;
    for server in ["told", "untold"] {
        assert_eq!(output(&engine, &format!("{server}_echo"), json!({"a": 1})).await, json!({"a": 1}));
    }
    engine.mcp().disconnect(None).await.unwrap();
    eventually("the server is told", || told.ends() == 1).await;
    assert_eq!(untold.ends(), 0);
    assert_eq!(status(&engine)["untold"].state, McpState::Idle);
    engine.shutdown(Duration::ZERO).await;
}
