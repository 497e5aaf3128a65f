//! The public conformance suite of the protocol, against a client made of an engine.

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use toolyard::{
    Answer, Answers, CallId, Engine, ExecuteOptions, ToolCall, ToolSpec,
    mcp::{IdentityProvider, McpHost, McpLogin, McpSecret, McpServerConfig, McpSigningKey, ProtocolEra},
};

use crate::venv;

/// The client below is started by the suite as this test.
const CLIENT: &str = "mcp::conformance::client";

#[test]
fn every_scored_scenario_of_2025_11_25_passes() {
    passes("2025-11-25");
}

#[test]
fn every_scored_scenario_of_2026_07_28_passes() {
    passes("2026-07-28");
}

/// How many checks fail in scenarios that do not count, those of extensions: all pass.
const UNSCORED_FAILURES: usize = 0;

fn passes(revision: &str) {
    let folder = tempfile::tempdir().unwrap();
    let modules = venv::npm_modules("conformance");
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let node = modules.join(format!("node-linux-{arch}/bin/node"));
    let program = env::current_exe().unwrap();
    // The suite adds the address of its server, which the test harness takes for another filter.
    let client = format!("{} --ignored --nocapture --exact {CLIENT}", program.display());
    let mut suite = Command::new(node);
    suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    suite.args(["client", "--requirements", revision, "--timeout", "60000", "--command", &client, "-o"]);
    let ran = suite.arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let (passed, failed) = counted(folder.path());
    println!("{revision}: {passed} checks passed, {failed} failed");
    assert!(ran.status.success() && passed > 0, "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    // Its exit status tells of the scored ones alone.
    assert_eq!(failed, UNSCORED_FAILURES, "{said}");
}

/// Counts the checks in what the suite has written.
fn counted(folder: &Path) -> (usize, usize) {
    let mut counts = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let (passed, failed) = counted(&path);
            counts = (counts.0 + passed, counts.1 + failed);
        } else if path.ends_with("checks.json") {
            let checks: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let with = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
            counts = (counts.0 + with("SUCCESS"), counts.1 + with("FAILURE"));
        }
    }
    counts
}

/// What the suite tells beside the scenario.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    valid_jwt: Option<String>,
    idp_client_id: String,
    idp_id_token: String,
    idp_issuer: String,
    #[serde(alias = "toolCalls")]
    tool_calls: Vec<Called>,
}

#[derive(Deserialize)]
struct Called {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[tokio::test]
#[ignore = "the conformance suite starts it"]
async fn client() {
    let url = env::args().next_back().unwrap();
    let context: Context = env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let era = match env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").as_deref() {
        Ok("2026-07-28") => ProtocolEra::Modern,
        _ => ProtocolEra::Legacy,
    };
    let host = McpHost::new()
        .sampling(|_| async {
            Ok(json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}))
        })
        .roots(|_| Vec::new());
    let engine = Engine::builder().mcp_host(host).build().unwrap();
    let mut config = McpServerConfig::http(url).login(login(&context));
    config.era = era;
    engine.mcp().add("s", config).await.unwrap();
    engine.mcp().settled(Duration::from_secs(40), || false).await;
    let status = engine.mcp().status().remove(0);
    println!("{status:?}");
    if status.tools.is_some() {
        for call in calls(&engine, context.tool_calls) {
            run(&engine, call).await;
        }
    }
    engine.shutdown(Duration::ZERO).await;
}

fn login(context: &Context) -> McpLogin {
    let secret = || McpSecret::new(context.client_secret.clone().unwrap());
    let id = context.client_id.clone();
    match env::var("MCP_CONFORMANCE_SCENARIO").as_deref() {
        Ok("auth/client-credentials-basic") => McpLogin::client_credentials(id.unwrap(), secret()),
        Ok("auth/client-credentials-jwt") => {
            let key = McpSigningKey::from_pem(context.private_key_pem.as_ref().unwrap(), None).unwrap();
            McpLogin::client_credentials_with_key(id.unwrap(), key)
        }
        Ok("auth/wif-jwt-bearer") => {
            McpLogin::jwt_bearer(id.unwrap(), McpSecret::new(context.valid_jwt.clone().unwrap()))
        }
        Ok("auth/enterprise-managed-authorization") => {
            let token = McpSecret::new(&context.idp_id_token);
            let provider = IdentityProvider::new(&context.idp_issuer, &context.idp_client_id, token);
            McpLogin::cross_app_access(provider, id.unwrap(), secret())
        }
        _ => {
            let login = McpLogin::new("http://localhost:3000/callback", |url| async move { visited(&url) })
                .client_metadata_url("https://conformance-test.local/client-metadata.json");
            match id {
                Some(id) => login.client(id, context.client_secret.clone()),
                None => login,
            }
        }
    }
}

/// Opens an address as a browser whose user says yes, and gives where it is sent.
fn visited(url: &str) -> Result<String, String> {
    let opened = || {
        let (host, rest) = url.strip_prefix("http://")?.split_once('/')?;
        let mut stream = TcpStream::connect(host).ok()?;
        write!(stream, "GET /{rest} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let header = |line: &str| line.to_lowercase().starts_with("location:");
        let line = answer.lines().find(|line| header(line))?;
        Some(line["location:".len()..].trim().to_owned())
    };
    opened().ok_or_else(|| format!("{url} leads nowhere"))
}

/// The calls that the suite wants, else one to each tool.
fn calls(engine: &Engine, wanted: Vec<Called>) -> Vec<ToolCall> {
    if !wanted.is_empty() {
        let call = |Called { name, mut arguments }| {
            // The engine refuses a null where the schema wants something else; it stands for nothing at all.
            if let Value::Object(arguments) = &mut arguments {
                arguments.retain(|_, value| !value.is_null());
            }
            ToolCall::new(format!("s_{name}"), arguments.into())
        };
        return wanted.into_iter().map(call).collect();
    }
    let specs = engine.specs();
    let call = |spec: &ToolSpec| {
        let other = specs.iter().find(|other| other.name != spec.name);
        let other = other.map_or(&Value::Null, |other| &other.input_schema);
        ToolCall::new(spec.name.clone(), arguments(&spec.input_schema, other).into())
    };
    specs.iter().map(call).collect()
}

/// Something that fits a simple schema; a tool that wants a schema gets that of another.
fn arguments(schema: &Value, other: &Value) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fitting = properties.filter(|(name, _)| required.contains(&name.as_str())).map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("string") => json!("text"),
            Some("boolean") => json!(true),
            Some("object") if *name == "schema" => other.clone(),
            Some("object") => json!({}),
            Some("array") => json!([]),
            _ => json!(1),
        };
        (name.clone(), value)
    });
    Value::Object(fitting.collect::<Map<_, _>>())
}

/// Runs a call to its end; every question is answered by what its schema fills in.
async fn run(engine: &Engine, call: ToolCall) {
    let report = engine.execute(vec![call], ExecuteOptions::new()).await.unwrap();
    let mut list = report.suspend(CallId::default());
    while let Some(parked) = list.parked.first() {
        let accept = RawValue::from_string(r#"{"action": "accept", "content": {}}"#.to_owned()).unwrap();
        let answers = Answers::new().with(parked.call.request_id.clone(), Answer::Input(accept));
        engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
    }
    println!("{:?}", list.results[0]);
}
