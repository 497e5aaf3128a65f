//! Servers over HTTP that break in the middle.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use toolyard::{Arguments, ExecuteOptions, Outcome, ToolCall, mcp::McpServerConfig};

use super::{engine_with, output, run};

/// A server that answers with JSON, but to calls of its tools as their names say. It counts those calls.
struct Faulty {
    url: String,
    calls: Arc<AtomicUsize>,
}

impl Faulty {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let count = count.clone();
                thread::spawn(move || while answer(stream.as_ref().unwrap(), &count).is_some() {});
            }
        });
        Self { url, calls }
    }
}

/// Answers one request; `None` when the connection is to be closed.
fn answer(mut stream: &TcpStream, calls: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reply = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let (status, text) = match request["method"].as_str() {
        _ if !first.starts_with("POST") => (405, String::new()),
        Some("server/discover") => (400, String::new()),
        Some("initialize") => (
            200,
            reply(json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "faulty", "version": "1"},
            })),
        ),
        Some("tools/list") => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["500", "503", "400", "429", "closed", "half", "echo"].map(tool);
            (200, reply(json!({"tools": tools})))
        }
        Some("tools/call") => {
            calls.fetch_add(1, Ordering::SeqCst);
            match request["params"]["name"].as_str().unwrap() {
                "closed" => return None,
                "half" => {
                    write!(
                        stream,
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{"
                    )
                    .ok()?;
                    return None;
                }
                "echo" => (200, echoed(&body)),
                status => (status.parse().unwrap(), String::new()),
            }
        }
        _ => (202, String::new()),
    };
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status} S\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
    )
    .ok()
}

/// A result that has the arguments of the call as they were written.
fn echoed(call: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Call<'a> {
        id: Value,
        #[serde(borrow)]
        params: BTreeMap<String, &'a RawValue>,
    }
    let Call { id, params } = serde_json::from_slice(call).unwrap();
    let arguments = params["arguments"];
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{arguments}}}}}"#)
}

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
        ("s_429", Outcome::Failed),
    ] {
        let before = faulty.calls.load(Ordering::SeqCst);
        let result = run(&engine, tool, json!({})).await;
        assert_eq!(result.outcome, outcome, "{result:?}");
        assert_eq!(faulty.calls.load(Ordering::SeqCst) - before, 1, "{tool}");
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
