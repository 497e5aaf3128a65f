//! An MCP server that echoes, and two ways to call it over a pair of streams: bare `rmcp`, and an engine.

use std::time::Duration;

use futures::{StreamExt, stream::FuturesUnordered};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ContentBlock},
    service::RunningService,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use toolyard::{
    Arguments, Engine, ExecuteOptions, ToolCall,
    mcp::{McpServerConfig, ProtocolEra},
};

const ARGUMENTS: &str = r#"{"text": "hello", "times": 3}"#;

/// The client's end of a pair of streams, whose other end echoes.
pub(crate) fn connect() -> DuplexStream {
    let (ours, theirs) = duplex(1 << 20);
    tokio::spawn(serve(theirs));
    ours
}

async fn serve(stream: DuplexStream) {
    let (read, mut write) = split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer = match id_of_call(&line) {
            Some(id) => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"hello"}}]}}}}"#
            ),
            None => match answer(&serde_json::from_str(&line).expect("a message")) {
                Some(answer) => answer.to_string(),
                None => continue,
            },
        };
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The id of a call, without parsing the rest, so that the server counts for little.
fn id_of_call(line: &str) -> Option<&str> {
    let head = line.get(..80.min(line.len()))?;
    head.contains(r#""method":"tools/call""#).then_some(())?;
    let (_, rest) = head.split_once(r#""id":"#)?;
    rest.split(',').next()
}

fn answer(request: &Value) -> Option<Value> {
    let result = match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "echo",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        }]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": request.get("id")?, "result": result}))
}

pub(crate) async fn bare() -> RunningService<RoleClient, ()> {
    ().serve(connect()).await.expect("a connection")
}

/// So many calls at once; gives how many were answered.
pub(crate) async fn through_rmcp(service: &RunningService<RoleClient, ()>, calls: usize) -> usize {
    let call = || async {
        let arguments = serde_json::from_str(ARGUMENTS).expect("an object");
        let params = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = service.peer().call_tool(params).await.expect("an answer");
        let text = result.content.first().and_then(ContentBlock::as_text).expect("a text");
        text.text.len()
    };
    let mut answers: FuturesUnordered<_> = (0..calls).map(|_| call()).collect();
    let mut answered = 0;
    while let Some(length) = answers.next().await {
        answered += usize::from(length == 5);
    }
    answered
}

/// How the engine reaches the server.
pub(crate) fn config() -> McpServerConfig {
    let mut config = McpServerConfig::in_process(connect).trust_hints(true);
    config.era = ProtocolEra::Legacy;
    config
}

pub(crate) async fn engine() -> Engine {
    let engine = Engine::builder().build().expect("an engine");
    engine.mcp().add("s", config()).await.expect("a usable name");
    engine.mcp().settled(Duration::from_secs(10), || false).await;
    engine
}

/// So many calls at once; gives how many were answered.
pub(crate) async fn through_engine(engine: &Engine, calls: usize) -> usize {
    let call = |_| ToolCall::new("s_echo", Arguments::from_text(ARGUMENTS.to_owned()));
    let calls: Vec<_> = (0..calls).map(call).collect();
    let report = engine.execute(calls, ExecuteOptions::new()).await.expect("a report");
    let text = |output: &toolyard::Output| output.to_text().len();
    report.results.iter().filter(|result| result.output.as_ref().map(text) == Some(5)).count()
}
