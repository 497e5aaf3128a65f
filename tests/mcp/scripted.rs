//! A server over HTTP whose answers a test writes.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// What arrived.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) verb: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) message: Value,
}

impl Request {
    pub(super) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(super) fn id(&self) -> &Value {
        &self.message["id"]
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.headers.get("mcp-session-id").map(String::as_str)
    }

    /// A result as an answer to it.
    pub(super) fn result(&self, result: &Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.id(), "result": result}).to_string()
    }

    /// The result of a tool as an answer to it.
    pub(super) fn text(&self, text: &str) -> String {
        self.result(&json!({"content": [{"type": "text", "text": text}]}))
    }

    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let mut words = first.split(' ').map(str::to_owned);
        let (verb, path) = (words.next()?, words.next()?);
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { verb, path, headers, message: serde_json::from_slice(&body).unwrap_or_default() })
    }
}

/// A whole HTTP answer, with `headers` that end with a line end.
pub(super) fn http(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} S\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// A whole answer of JSON.
pub(super) fn json(status: u16, body: &str) -> String {
    http(status, "content-type: application/json\r\n", body)
}

/// A whole answer of events.
pub(super) fn events(body: &str) -> String {
    http(200, "content-type: text/event-stream\r\n", body)
}

/// An event with data.
pub(super) fn event(data: &str) -> String {
    format!("event: message\ndata: {data}\n\n")
}

pub(super) struct Scripted {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    /// `script` gives what is written to a request; an answer without content closes the connection, and what it leaves is
    /// answered as by a server with the tool `t`.
    pub(super) fn start(script: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (seen, script) = (requests.clone(), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, script) = (seen.clone(), script.clone());
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    while let Some(request) = Request::read(&stream) {
                        seen.lock().push(request.clone());
                        let answer = script(&request).unwrap_or_else(|| well(&request));
                        if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                            break;
                        }
                        if !answer.contains("content-length: ") || answer.contains("connection: close") {
                            break;
                        }
                    }
                });
            }
        });
        Self { url, requests }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }

    /// How many messages of a method have arrived.
    pub(super) fn count(&self, method: &str) -> usize {
        self.requests.lock().iter().filter(|request| request.method() == method).count()
    }
}

/// What a server answers that knows its business.
pub(super) fn well(request: &Request) -> String {
    match (request.verb.as_str(), request.method()) {
        ("DELETE", _) => http(204, "", ""),
        ("POST", "server/discover") => json(400, ""),
        ("POST", "initialize") => begun(request, "s"),
        ("POST", "tools/list") => json(200, &request.result(&listed(&["t"]))),
        ("POST", "tools/call") => json(200, &request.text("ok")),
        ("POST", "ping") => json(200, &request.result(&json!({}))),
        ("POST", _) => http(202, "", ""),
        _ => http(405, "", ""),
    }
}

/// The start of a session.
pub(super) fn begun(request: &Request, session: &str) -> String {
    let offers = json!({"tools": {}, "prompts": {}, "resources": {"subscribe": true}});
    let us = json!({"name": "scripted", "version": "1"});
    let result = json!({"protocolVersion": "2025-06-18", "capabilities": offers, "serverInfo": us});
    let headers = format!("content-type: application/json\r\nmcp-session-id: {session}\r\n");
    http(200, &headers, &request.result(&result))
}

/// A list of tools.
pub(super) fn listed(tools: &[&str]) -> Value {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()})
}
