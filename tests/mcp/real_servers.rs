//! Servers that people use, and both generations of the Python SDK.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use toolyard::{
    Arguments, ExecuteOptions, Outcome, ToolCall,
    mcp::{McpServerConfig, McpState},
};

use super::{
    engine_with, eventually,
    listening::{Listening, SDK_SERVER, free_port},
    output, run, status, tools, within,
};
use crate::venv;

/// The generations of the SDK and the protocol revision that each speaks with us.
const SDKS: [(&str, &str); 2] = [("mcp1", "2025-11-25"), ("mcp2", "2026-07-28")];

fn of_venv(name: &str, program: &str) -> PathBuf {
    venv::python(name).with_file_name(program)
}

fn repository(folder: &Path) -> String {
    let made = Command::new("git").args(["init", "--quiet"]).arg(folder).status().unwrap();
    assert!(made.success());
    folder.display().to_string()
}

#[tokio::test]
async fn the_servers_that_people_use_work() {
    let folder = tempfile::tempdir().unwrap();
    let place = repository(folder.path());
    std::fs::write(folder.path().join("hello.txt"), "hi").unwrap();
    let memory = folder.path().join("memory.json").display().to_string();
    let engine = engine_with([
        ("time", McpServerConfig::stdio(of_venv("mcp2", "mcp-server-time"), ["--local-timezone", "UTC"])),
        ("git", McpServerConfig::stdio(of_venv("mcp2", "mcp-server-git"), ["--repository", &place])),
        ("everything", McpServerConfig::stdio(venv::npm("mcp-server-everything"), ["stdio"])),
        ("filesystem", McpServerConfig::stdio(venv::npm("mcp-server-filesystem"), [&place])),
        (
            "memory",
            McpServerConfig::stdio(venv::npm("mcp-server-memory"), Vec::<String>::new())
                .env("MEMORY_FILE_PATH", memory),
        ),
    ])
    .await;
    let seen = status(&engine);
    assert!(seen.values().all(|server| server.state == McpState::Ready), "{seen:#?}");
    let eras: Vec<_> = seen.values().map(|server| server.era.as_deref().unwrap()).collect();
    assert_eq!(eras, ["2025-11-25", "2025-11-25", "2026-07-28", "2025-11-25", "2026-07-28"]);

    let now = output(&engine, "time_get_current_time", json!({"timezone": "UTC"})).await;
    assert!(now.to_string().contains("UTC"), "{now}");
    let git = output(&engine, "git_git_status", json!({"repo_path": place})).await;
    assert!(git.to_string().contains("hello.txt"), "{git}");
    assert_eq!(output(&engine, "everything_echo", json!({"message": "m"})).await, "Echo: m");
    let file = folder.path().join("hello.txt");
    let read = output(&engine, "filesystem_read_text_file", json!({"path": file})).await;
    assert!(read.to_string().contains("hi"), "{read}");
    let graph = output(&engine, "memory_read_graph", json!({})).await;
    assert_eq!(graph, json!({"entities": [], "relations": []}));

    let pool = engine.mcp();
    let prompts = pool.prompts(Some("everything")).await.unwrap().remove(0).items.unwrap();
    assert!(!prompts.is_empty());
    let resources = pool.resources(None).await.unwrap();
    assert!(resources.iter().all(|answer| answer.items.is_ok()), "{resources:?}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn both_generations_of_the_sdk_work_over_stdio() {
    let sdk = |(name, _): (&'static str, _)| (name, McpServerConfig::stdio(venv::python(name), [SDK_SERVER]));
    let engine = engine_with(SDKS.map(sdk)).await;
    for (name, era) in SDKS {
        assert_eq!(status(&engine)[name].era.as_deref(), Some(era));
        let named = |tool: &str| format!("{name}_{tool}");
        assert_eq!(output(&engine, &named("add"), json!({"a": 2, "b": 40})).await, 42);
        assert_eq!(output(&engine, &named("empty"), json!({})).await, "");
        assert_eq!(output(&engine, &named("picture"), json!({})).await[0]["mimeType"], "image/png");
        let failed = run(&engine, &named("fail"), json!({})).await;
        assert_eq!(failed.outcome, Outcome::Failed);
        assert!(failed.error.unwrap().contains("fail"));

        output(&engine, &named("grow"), json!({})).await;
        eventually("the new tool", || tools(&engine).contains(&named("grown"))).await;
        assert_eq!(output(&engine, &named("grown"), json!({})).await, "grown");

        let read = engine.mcp().read_resource(name, "res://hello").await.unwrap();
        assert_eq!(read["contents"][0]["text"], "hello");
        let topic = BTreeMap::from([("topic".to_owned(), "rust".to_owned())]);
        let prompt = engine.mcp().prompt(name, "ask", topic).await.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], "Tell me about rust");

        let pid = output(&engine, &named("pid"), json!({})).await;
        assert_eq!(run(&engine, &named("crash"), json!({})).await.outcome, Outcome::Lost);
        assert_ne!(output(&engine, &named("pid"), json!({})).await, pid);
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn both_generations_of_the_sdk_work_over_http() {
    for (sdk, era) in SDKS {
        let port = free_port();
        let server = Listening::start(sdk, port, "streamable-http").await;
        let engine =
            engine_with([("s", McpServerConfig::http(format!("http://127.0.0.1:{port}/mcp")))]).await;
        assert_eq!(status(&engine)["s"].era.as_deref(), Some(era));
        assert_eq!(output(&engine, "s_add", json!({"a": 2, "b": 40})).await, 42);
        let exact = Arguments::Json(r#"{"n": 10000000000000000000001}"#.to_owned());
        let call = vec![ToolCall::new("s_square", exact)];
        let squared = engine.execute(call, ExecuteOptions::new()).await.unwrap().results.remove(0);
        let squared = squared.output.expect("an output");
        assert_eq!(squared.to_text(), "100000000000000000000020000000000000000000001");

        drop(server);
        let mut refused = run(&engine, "s_add", json!({"a": 2})).await;
        if refused.outcome == Outcome::Lost {
            // It still went onto the connection that had just ended.
            refused = run(&engine, "s_add", json!({"a": 2})).await;
        }
        assert_eq!(refused.outcome, Outcome::NotStarted, "{refused:?}");
        let server = Listening::start(sdk, port, "streamable-http").await;
        assert_eq!(output(&engine, "s_add", json!({"a": 2})).await, Value::from(3));
        assert_eq!(run(&engine, "s_crash", json!({})).await.outcome, Outcome::Lost);
        drop(server);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn the_official_server_over_http_that_is_started_anew_between_calls_answers_the_next_one() {
    let port = free_port();
    let start = || {
        let mut command = Command::new(venv::npm("mcp-server-everything"));
        command.arg("streamableHttp").env("PORT", port.to_string());
        Listening::of(command, port)
    };
    let server = start().await;
    let engine = engine_with([("s", McpServerConfig::http(format!("http://127.0.0.1:{port}/mcp")))]).await;
    assert_eq!(output(&engine, "s_echo", json!({"message": "m"})).await, "Echo: m");
    drop(server);
    let _server = start().await;
    let calls: Vec<_> = (0..5).map(|_| ToolCall::new("s_echo", json!({"message": "m"}).into())).collect();
    let report = within("answers", engine.execute(calls, ExecuteOptions::new())).await.unwrap();
    for result in report.results {
        assert_eq!(
            result.output.map(|output| output.to_value()),
            Some("Echo: m".into()),
            "{:?}",
            result.error
        );
    }
    engine.shutdown(Duration::ZERO).await;
}
