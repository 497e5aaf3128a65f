//! What people read of a server that cannot be used: what happened and what to do.

use std::time::Duration;

use serde_json::json;
use toolyard::mcp::{McpServerConfig, McpState};

use super::{
    engine_with, run,
    scripted::{Request, Scripted, http, json},
    status,
};

/// What the status says of a server over which nothing can be called.
async fn reason(config: McpServerConfig) -> String {
    let engine = engine_with([("s", config)]).await;
    let seen = status(&engine).remove("s").unwrap();
    assert_ne!(seen.state, McpState::Ready, "{seen:?}");
    engine.shutdown(Duration::ZERO).await;
    seen.last_error.unwrap()
}

#[tokio::test]
async fn a_server_over_http_that_cannot_be_started_says_why() {
    let refusal = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"licence\nexpired"}}"#;
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"licence expired"}}"#;
    let page = "content-type: text/html; charset=utf-8\r\n";
    for (answer, words) in [
        (
            http(403, "content-type: text/plain\r\n", "members\nonly"),
            "(HTTP 403); check the headers or the login that the configuration has for it: members\\nonly",
        ),
        (
            http(401, "www-authenticate: Basic realm=\"hush\"\r\n", ""),
            "(HTTP 401, Basic); set a header or a login",
        ),
        (
            http(200, page, "<html>hush</html>"),
            "text/html where application/json or text/event-stream is due (HTTP 200); this may be a page for people",
        ),
        (http(302, "location: /login?next=hush\r\n", ""), "/login (HTTP 302), which is not followed"),
        (
            http(307, "location: https://elsewhere.test/mcp?hush\r\n", ""),
            "on to https://elsewhere.test/mcp (HTTP 307)",
        ),
        (http(307, "location: /mcp\r\n", ""), "(HTTP 307), which is not followed"),
        (http(429, "retry-after: 5\r\n", ""), "(HTTP 429)"),
        (http(404, "", ""), "it knows no such address (HTTP 404); check the URL"),
        (
            http(405, "", ""),
            "(HTTP 405); check the URL in the configuration; an older server with server-sent events has the type `sse`",
        ),
        (http(500, "content-type: application/json\r\n", r#"{"error": "database"}"#), "(HTTP 500): database"),
        (http(202, "", ""), "no answer will come (HTTP 202)"),
        (json(200, "<html>"), "its answer is no JSON"),
        (json(400, refusal), "licence"),
        (json(200, null), "licence expired"),
        (String::new(), "the connection broke"),
    ] {
        let shown = answer.clone();
        let server = Scripted::start(move |request: &Request| match request.method() {
            // As servers of before do.
            "server/discover" if shown.starts_with("HTTP/1.1 400") => Some(json(400, "")),
            _ => Some(shown.clone()),
        });
        let error = reason(McpServerConfig::http(&server.url)).await;
        assert!(error.contains(words), "{answer}: {error}");
        assert!(!error.contains("hush") && !error.contains('\n'), "{error}");
        assert!(server.requests().iter().all(|request| request.verb != "GET"), "no POST becomes a GET");
    }
}

#[tokio::test]
async fn an_address_that_was_moved_on_the_same_server_is_followed_with_the_message() {
    let server =
        Scripted::start(|request| (request.path == "/mcp").then(|| http(307, "location: /mcp/\r\n", "")));
    let engine = engine_with([("s", McpServerConfig::http(&server.url).header("x-key", "k"))]).await;
    let result = run(&engine, "s_t", json!({})).await;
    assert!(result.is_ok(), "{result:?}");
    let moved = server.requests().into_iter().filter(|request| request.path == "/mcp/");
    assert!(
        moved
            .filter(|request| request.method() == "tools/call")
            .all(|request| request.headers["x-key"] == "k")
    );
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_program_that_refuses_to_start_is_quoted_and_not_its_exit_status() {
    let program = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        error = {"code": -32000 if message["method"] == "initialize" else -32601, "message": "licence expired"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
"#;
    let error = reason(McpServerConfig::stdio("python3", ["-c", program])).await;
    assert_eq!(error, "it refused to start: licence expired");
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_shown() {
    let server = Scripted::start(|request| {
        let is_list = request.method() == "tools/list";
        is_list.then(|| json(200, &request.result(&json!({"stuff": ["a", "b"]}))))
    });
    let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
    let error = status(&engine)["s"].last_error.clone().unwrap();
    let expected = r#"its list of tools: the answer is no list, but {"stuff":["a","b"]}"#;
    assert!(error.contains(expected), "{error}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_older_server_that_does_not_say_where_messages_go_says_why_it_is_of_no_use() {
    let stream = "HTTP/1.1 200 S\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let begun = |events: &str| format!("{stream}{events}");
    for (answer, words) in [
        (begun("data: /messages\n\n"), "its first event has no type and does not say where messages go"),
        (begun("event: message\ndata: {}\n\n"), "its first event has the type `message`"),
        (
            begun("event: endpoint\ndata: http://127.0.0.2:1/x?hush\n\n"),
            "another server, http://127.0.0.2:1, which gets none",
        ),
        (begun("event: endpoint\ndata: http://[\n\n"), "is no address"),
        (begun(": nothing\n\n"), "it ended before it said where messages go"),
        (http(405, "", ""), "if it speaks streamable HTTP, configure it with the type `http`"),
        (json(400, r#"{"error":{"message":"no session"}}"#), "no session (if it speaks streamable HTTP"),
        (http(200, "content-type: text/html\r\n", "<html>"), "text/html"),
        (
            http(302, "location: http://127.0.0.2:1/login?hush\r\n", ""),
            "on to http://127.0.0.2:1/login (HTTP 302)",
        ),
        (http(302, "location: /mcp\r\n", ""), "in circles"),
    ] {
        let shown = answer.clone();
        let server = Scripted::start(move |_| Some(shown.clone()));
        let error = reason(McpServerConfig::sse(&server.url)).await;
        assert!(error.contains(words), "{answer}: {error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn an_older_server_that_says_nothing_is_said_to() {
    // It holds its stream open: a length that never comes.
    let silent = "HTTP/1.1 200 S\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n: hello\n\n";
    let server = Scripted::start(move |_| Some(silent.to_owned()));
    let config = McpServerConfig::sse(&server.url).connect_timeout(Duration::from_secs(1));
    let error = reason(config).await;
    assert!(error.contains("did not say within 0.9 s where messages go"), "{error}");
}
