//! Sessions over streamable HTTP that their server has forgotten.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use toolyard::{ExecuteOptions, Outcome, ToolCall, mcp::McpServerConfig};

use super::{
    engine_with, eventually, output, run,
    scripted::{Request, Scripted, begun, event, http, json, listed},
    status, tools, within,
};

const UNKNOWN: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;

/// A server that forgets its session whenever the number grows.
fn forgetful(epoch: Arc<AtomicUsize>, unknown: fn() -> String) -> Scripted {
    Scripted::start(move |request| {
        let now = format!("s{}", epoch.load(Ordering::SeqCst));
        match (request.verb.as_str(), request.method()) {
            (_, "initialize") => Some(begun(request, &now)),
            (_, "server/discover") => None,
            ("POST", _) if request.session() != Some(&*now) => Some(unknown()),
            (_, "tools/list") if now != "s0" => Some(json(200, &request.result(&listed(&["t", "new"])))),
            _ => None,
        }
    })
}

#[tokio::test]
async fn a_session_that_is_unknown_after_a_restart_is_begun_anew_once_for_all_calls() {
    for unknown in [
        || json(400, UNKNOWN),
        || {
            json(
                400,
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no session"}}"#,
            )
        },
        || http(400, "content-type: text/plain\r\n", "Invalid session ID"),
        || http(404, "", ""),
    ] {
        let epoch = Arc::new(AtomicUsize::new(0));
        let server = forgetful(epoch.clone(), unknown);
        let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
        assert_eq!(output(&engine, "s_t", json!({})).await, "ok");
        epoch.fetch_add(1, Ordering::SeqCst);
        let calls = (0..20).map(|_| ToolCall::new("s_t", json!({}).into()));
        let lists = calls.map(|call| engine.submit(vec![call], ExecuteOptions::new()));
        let running: Vec<_> = lists.map(|list| tokio::spawn(async move { list.await.unwrap() })).collect();
        for list in running {
            let result = within("an answer", list).await.unwrap().results.remove(0);
            assert!(result.is_ok(), "{result:?}");
        }
        assert_eq!(server.count("initialize"), 2);
        // Its tools may be others now.
        eventually("the new tool", || tools(&engine).contains(&"s_new".to_owned())).await;
        assert_eq!(status(&engine)["s"].generation, 1);
        engine.shutdown(Duration::ZERO).await;
        let ended: Vec<_> =
            server.requests().into_iter().filter(|request| request.verb == "DELETE").collect();
        assert!(ended.iter().all(|request| request.session() == Some("s1")), "{ended:?}");
    }
}

#[tokio::test]
async fn what_was_asked_for_in_the_old_session_is_asked_for_in_the_new_one() {
    let epoch = Arc::new(AtomicUsize::new(0));
    let now = epoch.clone();
    let server = Scripted::start(move |request| {
        let now = format!("s{}", now.load(Ordering::SeqCst));
        match (request.verb.as_str(), request.method()) {
            (_, "initialize") => Some(begun(request, &now)),
            ("POST", "tools/call") if request.session() != Some(&*now) => Some(json(400, UNKNOWN)),
            (_, "resources/subscribe") => Some(json(200, &request.result(&json!({})))),
            _ => None,
        }
    });
    let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
    engine.mcp().subscribe_resource("s", "x://y").await.unwrap();
    epoch.fetch_add(1, Ordering::SeqCst);
    assert_eq!(output(&engine, "s_t", json!({})).await, "ok");
    let is_asked =
        |request: &Request| request.method() == "resources/subscribe" && request.session() == Some("s1");
    eventually("it is subscribed to again", || server.requests().iter().any(is_asked)).await;
    engine.shutdown(Duration::ZERO).await;
}

/// A server that answers a call that says so with `refusal`, and calls of `well` as it should.
fn refusing(refusal: String) -> Scripted {
    Scripted::start(move |request| {
        let is_bad =
            request.method() == "tools/call" && request.message["params"]["arguments"]["bad"] == true;
        is_bad.then(|| refusal.clone())
    })
}

#[tokio::test]
async fn a_bad_request_ends_with_the_servers_own_words() {
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad arguments"}}"#;
    for (refusal, outcome, words, starts) in [
        (json(400, null), Outcome::Failed, "(HTTP 400): bad arguments", 2),
        (http(404, "content-type: text/plain\r\n", "gone"), Outcome::NotStarted, "(HTTP 404): gone", 2),
    ] {
        let server = refusing(refusal);
        let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
        let result = within(words, run(&engine, "s_t", json!({"bad": true}))).await;
        let error = result.error.clone().unwrap_or_default();
        assert!(result.outcome == outcome && error.contains(words), "{result:?}");
        assert_eq!((server.count("initialize"), server.count("tools/call")), (starts, 2));
        assert_eq!(output(&engine, "s_t", json!({})).await, "ok");
        assert_eq!(status(&engine)["s"].generation, 1);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_call_is_not_started_where_no_new_session_can_be_begun() {
    for (again, words) in [
        (
            json(400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"closed today"}}"#),
            "closed today",
        ),
        (http(503, "retry-after: 9\r\n", ""), "(HTTP 503)"),
        (http(500, "", ""), "(HTTP 500)"),
    ] {
        let starts = AtomicUsize::new(0);
        let closed = Arc::new(Mutex::new(false));
        let is_closed = closed.clone();
        let server = Scripted::start(move |request| match request.method() {
            "initialize" if starts.fetch_add(1, Ordering::SeqCst) > 0 => Some(again.clone()),
            "tools/call" if *is_closed.lock() => Some(json(400, UNKNOWN)),
            _ => None,
        });
        let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
        assert_eq!(output(&engine, "s_t", json!({})).await, "ok");
        *closed.lock() = true;
        let result = within(words, run(&engine, "s_t", json!({}))).await;
        assert_eq!(result.outcome, Outcome::NotStarted, "{result:?}");
        let error = result.error.unwrap();
        assert!(error.contains("No valid session ID provided") && error.contains(words), "{error}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_new_session_takes_nothing_from_a_call_that_goes_on_in_the_old_one() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let refused = AtomicUsize::new(0);
    let server = Scripted::start(move |request: &Request| {
        if request.method() != "tools/call" {
            return None;
        }
        let arguments = &request.message["params"]["arguments"];
        if arguments["slow"] == true {
            let _ = wait.lock().recv();
            return Some(super::scripted::events(&event(&request.text("slow"))));
        }
        let is_first = arguments["once"] == true && refused.fetch_add(1, Ordering::SeqCst) == 0;
        is_first.then(|| http(404, "", ""))
    });
    let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
    let slow = engine.submit(vec![ToolCall::new("s_t", json!({"slow": true}).into())], ExecuteOptions::new());
    let slow = tokio::spawn(async move { slow.await.unwrap().results.remove(0) });
    eventually("the slow call is there", || server.count("tools/call") == 1).await;
    assert_eq!(within("an answer", output(&engine, "s_t", json!({"once": true}))).await, "ok");
    assert_eq!(server.count("initialize"), 2);
    go.send(()).unwrap();
    let slow = within("the slow call", slow).await.unwrap();
    assert_eq!(slow.output.map(|output| output.to_value()), Some("slow".into()), "{:?}", slow.error);
    engine.shutdown(Duration::ZERO).await;
}
