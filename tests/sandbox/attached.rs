//! An engine in a host's own system, with everything that can live with an engine.

use std::time::Duration;

use actix::prelude::*;
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, ToolCall, config::Config};

use super::{config, containers, eventually};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");

#[test]
fn an_attached_engine_has_the_tools_of_its_files_servers_and_sandboxes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.py");
    std::fs::write(&file, "def twice(n: int):\n    return 2 * n\n").unwrap();
    let toml = format!(
        "[tools]\nenable = []\n[python]\nfiles = [{file:?}]\n[mcp.servers.s]\ncommand = \"python3\"\nargs = [{SERVER:?}]\n"
    );
    let settings = config();
    let name = settings.sandbox.name.clone();
    System::new().block_on(async {
        let builder = Engine::builder().config(&Config::parse(&toml).unwrap()).unwrap();
        let engine = builder.sandbox(settings).sandbox_tools().attach().unwrap();
        let started = engine.start().await.unwrap();
        assert!(started.is_complete(), "{started:?}");
        let calls = [
            ("twice", json!({"n": 21})),
            ("s_echo", json!({"text": "hi"})),
            ("sandbox_python", json!({"code": "print(6 * 7)"})),
        ];
        let calls = calls.map(|(name, arguments)| ToolCall::new(name, arguments.into()));
        let report = engine.execute(Vec::from(calls), ExecuteOptions::new().agent("ada")).await.unwrap();
        assert!(report.all_ok(), "{report:?}");
        assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), "42");
        assert!(!containers(&name).is_empty());
        assert!(engine.python_report().unwrap().problems.is_empty());
        engine.stop(Duration::ZERO).await;
        eventually("its containers are gone", || containers(&name).is_empty()).await;
    });
}
