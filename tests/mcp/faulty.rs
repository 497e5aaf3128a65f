//! A server over streamable HTTP that breaks as its callers wish.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// What there is: tools that answer with the HTTP status that they are called, or break in other ways.
const TOOLS: [&str; 8] = ["500", "503", "400", "429", "closed", "half", "big", "echo"];

/// A server that answers with JSON.
pub(super) struct Faulty {
    pub(super) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    requests: AtomicUsize,
    calls: AtomicUsize,
    starts: AtomicUsize,
    ends: AtomicUsize,
    /// The sessions that are known; `None`: it has no sessions.
    sessions: Option<Mutex<BTreeSet<String>>>,
    /// It sends everybody on to there.
    elsewhere: Option<String>,
}

impl Faulty {
    pub(super) fn start() -> Self {
        Self::serve(State::default())
    }

    /// One that has sessions.
    pub(super) fn with_sessions() -> Self {
        Self::serve(State { sessions: Some(Mutex::default()), ..State::default() })
    }

    /// One that sends everybody on to another address.
    pub(super) fn elsewhere(url: &str) -> Self {
        Self::serve(State { elsewhere: Some(url.to_owned()), ..State::default() })
    }

    fn serve(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::new(state);
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let state = shared.clone();
                thread::spawn(move || while state.answer(stream.as_ref().unwrap()).is_some() {});
            }
        });
        Self { url, state }
    }

    /// How many requests have arrived.
    pub(super) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// How many calls of tools have arrived.
    pub(super) fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }

    /// How many sessions have been started.
    pub(super) fn starts(&self) -> usize {
        self.state.starts.load(Ordering::SeqCst)
    }

    /// How many sessions their clients have ended.
    pub(super) fn ends(&self) -> usize {
        self.state.ends.load(Ordering::SeqCst)
    }

    /// Forgets all sessions.
    pub(super) fn forget(&self) {
        self.state.sessions.as_ref().expect("one with sessions").lock().clear();
    }
}

struct Request {
    is_post: bool,
    is_delete: bool,
    session: Option<String>,
    body: Vec<u8>,
}

impl Request {
    /// Reads one; `None` when there is none any more.
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let (mut first, mut length, mut session) = (String::new(), 0, None);
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (is_post, is_delete) = (first.starts_with("POST"), first.starts_with("DELETE"));
        Some(Self { is_post, is_delete, session, body })
    }
}

impl State {
    /// Answers one request; `None` when the connection is to be closed.
    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let request = Request::read(stream)?;
        self.requests.fetch_add(1, Ordering::SeqCst);
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let method = message["method"].as_str();
        let reply =
            |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let mut headers = String::new();
        let is_known = |sessions: &Mutex<BTreeSet<String>>| {
            request.session.as_ref().is_some_and(|session| sessions.lock().contains(session))
        };
        let (status, text) = match method {
            _ if self.elsewhere.is_some() => {
                headers = format!("location: {}\r\n", self.elsewhere.as_ref()?);
                (307, String::new())
            }
            _ if request.is_delete => {
                self.ends.fetch_add(1, Ordering::SeqCst);
                (204, String::new())
            }
            _ if !request.is_post => (405, String::new()),
            Some("server/discover") => (400, String::new()),
            Some("initialize") => {
                let session = format!("session-{}", self.starts.fetch_add(1, Ordering::SeqCst));
                if let Some(sessions) = &self.sessions {
                    headers = format!("mcp-session-id: {session}\r\n");
                    sessions.lock().insert(session);
                }
                let us = json!({"name": "faulty", "version": "1"});
                let offers = json!({"tools": {}});
                let result = json!({
                    "protocolVersion": "2025-06-18", "capabilities": offers, "serverInfo": us
                });
                (200, reply(result))
            }
            _ if self.sessions.as_ref().is_some_and(|sessions| !is_known(sessions)) => (404, String::new()),
            Some("tools/list") => {
                let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
                let mut tools = Vec::from(TOOLS.map(tool));
                tools.insert(1, json!({"name": "odd", "inputSchema": "none"}));
                (200, reply(json!({"tools": tools})))
            }
            Some("tools/call") => {
                self.calls.fetch_add(1, Ordering::SeqCst);
                match message["params"]["name"].as_str()? {
                    "closed" => return None,
                    "half" => {
                        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n").ok()?;
                        write!(stream, "content-length: 99\r\n\r\n{{").ok()?;
                        return None;
                    }
                    "big" => (200, reply(json!({"content": [], "structuredContent": "x".repeat(500_000)}))),
                    "echo" => (200, echoed(&request.body)),
                    status => (status.parse().ok()?, String::new()),
                }
            }
            _ => (202, String::new()),
        };
        let length = text.len();
        write!(stream, "HTTP/1.1 {status} S\r\ncontent-type: application/json\r\n{headers}").ok()?;
        write!(stream, "content-length: {length}\r\n\r\n{text}").ok()
    }
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
