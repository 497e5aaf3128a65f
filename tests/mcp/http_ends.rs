//! Every way in which a request over streamable HTTP can end without its answer.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{Outcome, mcp::McpServerConfig};

use super::{
    engine_with, output, run,
    scripted::{Request, Scripted, event, events, http, json},
    status, within,
};

/// What the server answers to a call, by what the call asks for.
fn answer(request: &Request) -> Option<String> {
    if request.verb == "GET" {
        let last = request.headers.get("last-event-id")?;
        let id: Value = last.strip_prefix("of ").and_then(|id| id.parse::<u64>().ok())?.into();
        let answer =
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "resumed"}]}});
        return Some(events(&event(&answer.to_string())));
    }
    if request.method() != "tools/call" {
        return None;
    }
    let id = request.id();
    let typed = |kind: &str, body: &str| http(200, &format!("content-type: {kind}\r\n"), body);
    let error =
        |id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}).to_string();
    let good = request.text("ok");
    let to = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}).to_string();
    let cut = good[..good.len() - 5].to_owned();
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).to_string();
    Some(match request.message["params"]["arguments"]["how"].as_str()? {
        "202" => http(202, "", ""),
        "204" => "HTTP/1.1 204 S\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "no id" => json(200, &error(Value::Null)),
        "foreign error" => json(200, &error(999.into())),
        "foreign" => json(200, &to(999.into())),
        "own text id" => json(200, &to(id.to_string().into())),
        "a notice" => json(200, &notice),
        "cut" => json(200, &cut),
        "empty" => json(200, ""),
        "page as json" => json(200, "<html>log in</html>"),
        "page" => typed("Text/HTML; charset=utf-8", "<html>log in</html>"),
        "no type" => http(200, "", &good),
        "capitals" => typed("APPLICATION/JSON; Charset=UTF-8", &good),
        "capital events" => typed("Text/Event-Stream;charset=utf-8", &event(&good)),
        "broken off" => format!("HTTP/1.1 200 S\r\ncontent-type: application/json\r\ncontent-length: 999\r\nconnection: close\r\n\r\n{cut}"),
        "closed" => String::new(),
        "events end" => events(": hello\n\n"),
        "events end late" => events(&event(&notice)),
        "events foreign" => events(&event(&to(999.into()))),
        "events no id" => events(&event(&error(Value::Null))),
        "events cut" => events(&event(&cut)),
        "events too large" => events(&event(&request.text(&"x".repeat(300_000)))),
        "events resumed" => events(&format!("id: of {id}\nretry: 10\ndata:\n\n")),
        "events gone" => events(&format!("id: gone\nretry: 10\ndata:\n\n{}", event(&notice))),
        "302" => http(302, "location: /login?token=hush\r\n", ""),
        "303" => http(303, "location: /login\r\n", ""),
        "307 away" => http(307, "location: http://u:hush@127.0.0.2:1/x?hush\r\n", ""),
        "308" if request.path == "/mcp" => http(308, "location: /moved\r\n", ""),
        "308" => json(200, &good),
        "401" => http(401, "www-authenticate: Bearer realm=\"hush\"\r\n", ""),
        "401 bare" => http(401, "", ""),
        "403" => http(403, "content-type: text/plain\r\n", "not\u{1b} you"),
        "403 scope" => http(403, "www-authenticate: Bearer scope=\"x\"\r\n", ""),
        "429" => http(429, "retry-after: 7\r\n", ""),
        "429 own" => http(429, "content-type: application/json\r\n", &error(id.clone())),
        "503 later" => http(503, "retry-after: 1\r\n", ""),
        "503" => http(503, "", ""),
        "500" => http(500, "content-type: text/plain\r\n", "oops\n"),
        "500 own" => json(500, &error(id.clone())),
        "400 own" => json(400, &error(id.clone())),
        "422" => json(422, r#"{"detail": "too odd"}"#),
        "a task" => json(200, &request.result(&json!({"task": {"taskId": "1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null}, "resultType": "task"}))),
        _ => return None,
    })
}

#[tokio::test]
async fn a_call_ends_at_once_with_what_became_of_it_and_why() {
    use Outcome::{Failed, Lost, NotStarted};
    let server = Scripted::start(answer);
    let config = McpServerConfig::http(&server.url).largest_message_bytes(100_000);
    let engine = engine_with([("s", config)]).await;
    for (how, outcome, words) in [
        ("202", Lost, "no answer will come (HTTP 202)"),
        ("204", Lost, "no answer will come (HTTP 204)"),
        ("no id", Failed, "no"),
        ("foreign error", Lost, "another request (id 999)"),
        ("foreign", Lost, "another request (id 999)"),
        ("a notice", Lost, "in the place of an answer"),
        ("cut", Lost, "its answer cannot be read: EOF"),
        ("empty", Lost, "its answer is empty"),
        ("page as json", Lost, "no JSON"),
        ("page", Lost, "text/html where application/json or text/event-stream is due (HTTP 200)"),
        ("no type", Lost, "no content type"),
        ("broken off", Lost, "the connection broke in the middle of its answer"),
        ("closed", Lost, "the connection broke"),
        ("events end", Lost, "the event stream ended before the answer came"),
        ("events end late", Lost, "the event stream ended before the answer came"),
        ("events foreign", Lost, "another request (id 999)"),
        ("events no id", Failed, "no"),
        ("events cut", Lost, "its answer cannot be read: EOF"),
        ("events too large", Lost, "its answer is larger than 100000 bytes"),
        ("events gone", Lost, "cannot be had again: it takes no such requests at this address (HTTP 405)"),
        ("302", NotStarted, "on to http://127.0.0.1:"),
        ("302", NotStarted, "/login (HTTP 302)"),
        ("303", NotStarted, "/login (HTTP 303)"),
        ("307 away", NotStarted, "on to http://127.0.0.2:1/x (HTTP 307)"),
        ("401", NotStarted, "(HTTP 401, Bearer); set a header or a login"),
        ("401 bare", NotStarted, "(HTTP 401); set a header or a login"),
        (
            "403",
            NotStarted,
            "(HTTP 403); check the headers or the login that the configuration has for it: not\\u{1b} you",
        ),
        ("403 scope", NotStarted, "(HTTP 403, Bearer)"),
        ("429", NotStarted, "(HTTP 429)"),
        ("429 own", NotStarted, "(HTTP 429): no"),
        ("503 later", NotStarted, "(HTTP 503)"),
        ("503", Lost, "(HTTP 503)"),
        ("500", Lost, "(HTTP 500): oops"),
        ("500 own", Failed, "no"),
        ("400 own", Failed, "no"),
        ("422", Failed, "(HTTP 422): too odd"),
        ("a task", Lost, "its answer is not what the protocol allows"),
    ] {
        let before = server.count("tools/call");
        let result = within(how, run(&engine, "s_t", json!({"how": how}))).await;
        let error = result.error.clone().unwrap_or_default();
        assert!(result.outcome == outcome && error.contains(words), "{how}: {result:?}");
        assert!(!error.contains("hush"), "{error}");
        assert_eq!(server.count("tools/call") - before, 1, "{how}");
        let pause = match how {
            "429" => Some(7_000),
            "503 later" => Some(1_000),
            _ => None,
        };
        assert_eq!(result.detail.and_then(|detail| detail.retry_after_ms), pause, "{how}");
        assert_eq!(output(&engine, "s_t", json!({})).await, "ok", "after {how}");
    }
    for how in ["own text id", "capitals", "capital events", "events resumed", "308"] {
        let result = within(how, run(&engine, "s_t", json!({"how": how}))).await;
        assert!(result.is_ok(), "{how}: {result:?}");
    }
    let moved: Vec<_> = server.requests().into_iter().filter(|request| request.path != "/mcp").collect();
    assert!(moved.len() == 1 && moved[0].verb == "POST" && moved[0].method() == "tools/call", "{moved:?}");
    assert_eq!((status(&engine)["s"].generation, server.count("initialize")), (1, 1));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn requests_that_are_no_calls_end_as_calls_do() {
    let server = Scripted::start(|request| {
        let words = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"not today"}}"#;
        match request.method() {
            "prompts/list" => Some(http(202, "", "")),
            "prompts/get" => Some(json(200, words)),
            "resources/list" => Some(http(200, "content-type: text/html\r\n", "<html>")),
            "resources/read" => Some(events(": nothing\n\n")),
            _ => None,
        }
    });
    let engine = engine_with([("s", McpServerConfig::http(&server.url))]).await;
    let pool = engine.mcp();
    let asking = async {
        let prompts = pool.prompts(Some("s")).await.unwrap().remove(0).items.unwrap_err();
        let prompt = pool.prompt("s", "p", [].into()).await.unwrap_err();
        let resources = pool.resources(Some("s")).await.unwrap().remove(0).items.unwrap_err();
        let resource = pool.read_resource("s", "x://y").await.unwrap_err();
        [prompts.to_string(), prompt.to_string(), resources.to_string(), resource.to_string()]
    };
    let errors = within("all answers", asking).await;
    for (error, words) in
        errors.iter().zip(["(HTTP 202)", "not today", "text/html", "ended before the answer came"])
    {
        assert!(error.contains(words), "{error}");
    }
    engine.shutdown(Duration::ZERO).await;
}
