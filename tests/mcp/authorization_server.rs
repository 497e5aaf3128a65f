//! An MCP server that wants tokens, and the authorization server that gives them, on one port.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

/// Both servers.
pub(super) struct Guarded {
    /// The address of the MCP server.
    pub(super) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    origin: String,
    state: Mutex<State>,
    opened: Condvar,
}

/// How they behave, and what they have seen.
pub(super) struct State {
    /// What each member of the authorization server's metadata is; a null takes it out.
    pub(super) metadata: BTreeMap<String, Value>,
    /// The client's secret.
    pub(super) secret: String,
    /// How long tokens last, in seconds; `None`: it does not say.
    pub(super) lasts: Option<u64>,
    /// Requests for tokens are held.
    pub(super) holds: bool,
    /// Tokens that the MCP server takes, and their scopes.
    pub(super) tokens: BTreeMap<String, String>,
    /// Tokens are bound to a key, and each proof must have this nonce.
    pub(super) nonce: Option<String>,
    /// The MCP server takes no token at all.
    pub(super) takes_none: bool,
    /// Requests for tokens: the form, and the `Authorization` header.
    pub(super) asked: Vec<(BTreeMap<String, String>, String)>,
    /// How many requests the MCP server has refused.
    pub(super) refused: usize,
    /// What the client said that it can.
    pub(super) can: Value,
    /// The tokens that calls came with.
    pub(super) shown: Vec<String>,
}

impl Guarded {
    /// They know the client `toolyard` with the secret `hush-1`.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = State {
            metadata: BTreeMap::new(),
            secret: "hush-1".to_owned(),
            lasts: None,
            holds: false,
            tokens: BTreeMap::new(),
            nonce: None,
            takes_none: false,
            asked: Vec::new(),
            refused: 0,
            can: Value::Null,
            shown: Vec::new(),
        };
        let url = format!("{origin}/mcp");
        let shared = Arc::new(Shared { origin, state: Mutex::new(state), opened: Condvar::new() });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = serving.clone();
                thread::spawn(move || while shared.answer(stream.as_ref().unwrap()).is_some() {});
            }
        });
        Self { url, shared }
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        let looked = look(&mut self.shared.state.lock());
        self.shared.opened.notify_all();
        looked
    }

    /// How many requests for tokens have come.
    pub(super) fn asked(&self) -> usize {
        self.with(|state| state.asked.len())
    }

    /// The MCP server takes none of the tokens any more that were given.
    pub(super) fn revoke(&self) {
        self.with(|state| state.tokens.clear());
    }
}

struct Request {
    line: String,
    authorization: String,
    proof: String,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        let (mut authorization, mut proof) = (String::new(), String::new());
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "authorization" => value.trim().clone_into(&mut authorization),
                "dpop" => value.trim().clone_into(&mut proof),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { line, authorization, proof, body })
    }

    /// Whether it has a proof with this nonce. The conformance suite looks at the rest.
    fn proves(&self, nonce: &str) -> bool {
        let claims =
            self.proof.split('.').nth(1).and_then(|claims| BASE64_URL_SAFE_NO_PAD.decode(claims).ok());
        let claims = claims.and_then(|claims| serde_json::from_slice::<Value>(&claims).ok());
        claims.is_some_and(|claims| claims["nonce"] == nonce)
    }
}

type Answer = (u16, String, Value);

impl Shared {
    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let request = Request::read(stream)?;
        let mut parts = request.line.split(' ');
        let (status, headers, body) = match (parts.next()?, parts.next()?) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let servers = [&self.origin];
                let resource = format!("{}/mcp", self.origin);
                (200, String::new(), json!({"resource": resource, "authorization_servers": servers}))
            }
            ("GET", "/.well-known/oauth-authorization-server") => (200, String::new(), self.metadata()),
            ("POST", "/token") => self.token(&request),
            ("POST", "/mcp") => self.mcp(&request),
            ("GET" | "DELETE", "/mcp") => (405, String::new(), Value::Null),
            _ => (404, String::new(), Value::Null),
        };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let length = text.len();
        let head = format!("HTTP/1.1 {status} S\r\ncontent-type: application/json\r\n{headers}");
        // At once: in pieces, each waits for the one before.
        stream.write_all(format!("{head}content-length: {length}\r\n\r\n{text}").as_bytes()).ok()
    }

    fn metadata(&self) -> Value {
        let origin = &self.origin;
        let mut metadata = json!({
            "issuer": origin, "token_endpoint": format!("{origin}/token"), "response_types_supported": [],
        });
        for (name, value) in &self.state.lock().metadata {
            metadata[name] = value.clone();
        }
        metadata
    }

    fn token(&self, request: &Request) -> Answer {
        let text =
            String::from_utf8_lossy(&request.body).replace('+', " ").replace("%3A", ":").replace("%2F", "/");
        let form = text.split('&').filter_map(|pair| pair.split_once('='));
        let form: BTreeMap<_, _> = form.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut state = self.state.lock();
        state.asked.push((form.clone(), request.authorization.clone()));
        while state.holds {
            self.opened.wait(&mut state);
        }
        if let Some(nonce) = state.nonce.as_ref().filter(|nonce| !request.proves(nonce)) {
            return (400, format!("dpop-nonce: {nonce}\r\n"), json!({"error": "use_dpop_nonce"}));
        }
        let basic = |secret: &str| {
            // "toolyard:hush-1" and "toolyard:hush-2".
            let both = [("hush-1", "dG9vbHlhcmQ6aHVzaC0x"), ("hush-2", "dG9vbHlhcmQ6aHVzaC0y")];
            both.into_iter().find(|(known, _)| *known == secret).map(|(_, both)| format!("Basic {both}"))
        };
        let posted = form.get("client_secret") == Some(&state.secret);
        if !posted && Some(&request.authorization) != basic(&state.secret).as_ref() {
            // As some do, it says back what it got.
            let shown = request.authorization.trim_start_matches("Basic ");
            let said = form.get("client_secret").map_or(shown, String::as_str);
            let body = json!({"error": "invalid_client", "error_description": format!("the secret {said} is wrong")});
            return (401, String::new(), body);
        }
        let token = format!("token-{}", state.asked.len());
        state.tokens.insert(token.clone(), form.get("scope").cloned().unwrap_or_default());
        let kind = if state.nonce.is_some() { "DPoP" } else { "Bearer" };
        let mut body = json!({"access_token": token, "token_type": kind});
        if let Some(lasts) = state.lasts {
            body["expires_in"] = json!(lasts);
        }
        (200, String::new(), body)
    }

    fn mcp(&self, request: &Request) -> Answer {
        let mut state = self.state.lock();
        let scheme = if state.nonce.is_some() { "DPoP" } else { "Bearer" };
        let token = request.authorization.strip_prefix(scheme).unwrap_or_default().trim().to_owned();
        let scopes = state.tokens.get(&token).filter(|_| !state.takes_none).cloned();
        let Some(scopes) = scopes else {
            state.refused += 1;
            let origin = &self.origin;
            let challenge = format!(
                "www-authenticate: {scheme} resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"\r\n"
            );
            return (401, challenge, Value::Null);
        };
        if let Some(nonce) = state.nonce.as_ref().filter(|nonce| !request.proves(nonce)) {
            let challenge = "www-authenticate: DPoP error=\"use_dpop_nonce\"\r\n";
            return (401, format!("{challenge}dpop-nonce: {nonce}\r\n"), Value::Null);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let reply = |result: Value| {
            (200, String::new(), json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        };
        match message["method"].as_str() {
            Some("server/discover") => (400, String::new(), Value::Null),
            Some("initialize") => {
                state.can = message["params"]["capabilities"].clone();
                reply(json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "guarded", "version": "1"}
                }))
            }
            Some("tools/list") => {
                let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
                reply(json!({"tools": [tool("who"), tool("admin")]}))
            }
            Some("tools/call") => {
                let scopes: BTreeSet<_> = scopes.split(' ').collect();
                if message["params"]["name"] == "admin" && !scopes.contains("admin") {
                    let challenge =
                        "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"admin\"\r\n";
                    return (403, challenge.to_owned(), Value::Null);
                }
                state.shown.push(token);
                reply(json!({"content": [{"type": "text", "text": "done"}]}))
            }
            _ => (202, String::new(), Value::Null),
        }
    }
}
