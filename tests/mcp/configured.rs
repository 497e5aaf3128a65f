//! MCP servers in `toolyard.toml`.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use toolyard::{
    Engine,
    config::Config,
    mcp::{McpServerConfig, check_servers},
};

use super::{SERVER, eventually, output, server};

fn toolyard(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.current_dir(folder).env("SERVER", SERVER);
    command
}

fn section(name: &str, extra: &str) -> String {
    format!("[mcp.servers.{name}]\ncommand = \"python3\"\nargs = [\"${{SERVER}}\", \"plain\", {extra:?}]\n")
}

#[test]
fn servers_of_the_configuration_are_there_for_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), section("s", "extra")).unwrap();
    let document = folder.path().join("calls.json");
    std::fs::write(&document, r#"[{"name": "s_extra", "arguments": {"text": "hi"}}]"#).unwrap();
    let called = toolyard(folder.path()).arg("call").arg(&document).output().unwrap();
    let report: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!((called.status.code(), &report["results"][0]["output"]), (Some(0), &json!("hi")));
    let status = toolyard(folder.path()).args(["mcp", "status"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(
        (&status["servers"][0]["name"], &status["servers"][0]["state"]),
        (&json!("s"), &json!("ready"))
    );
}

#[test]
fn a_server_that_cannot_be_used_is_named_with_file_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[mcp.servers.s]\ncommand = \"x\"\nenv = { KEY = \"${NO_SUCH_VARIABLE}\" }\n";
    std::fs::write(folder.path().join("toolyard.toml"), text).unwrap();
    for verb in [["mcp", "status"], ["call", "-"]] {
        let refused = toolyard(folder.path()).args(verb).stdin(Stdio::null()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert_eq!(
            String::from_utf8(refused.stderr).unwrap(),
            "toolyard: toolyard.toml: mcp.servers.s.env.KEY: the environment variable \"NO_SUCH_VARIABLE\" is not set\n"
        );
    }
}

#[test]
fn a_hang_up_signal_reads_the_servers_again_while_documents_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolyard.toml");
    let (stays, pid) = (section("stays", "x"), r#"[{"name": "stays_pid", "arguments": {}}]"#);
    std::fs::write(&file, format!("{stays}{}", section("goes", "x"))).unwrap();
    let mut command = toolyard(folder.path());
    command.args(["call", "--jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut ask = |document: &str| -> Value {
        writeln!(input, "{document}").unwrap();
        serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["results"][0].clone()
    };
    let hang_up = || {
        let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let before = ask(pid)["output"].clone();
    assert_eq!(ask(r#"[{"name": "goes_echo", "arguments": {}}]"#)["outcome"], "ok");

    std::fs::write(&file, format!("{stays}{}", section("comes", "x"))).unwrap();
    hang_up();
    // Nothing tells from outside when it has been read.
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while ask(r#"[{"name": "comes_echo", "arguments": {}}]"#)["outcome"] != "ok" {
        assert!(std::time::Instant::now() < deadline, "within a minute");
    }
    assert_eq!(ask(r#"[{"name": "goes_echo", "arguments": {}}]"#)["outcome"], "unknown_tool");
    assert_eq!(ask(pid)["output"], before, "the same process");

    std::fs::write(&file, "[mcp.servers.s]\n").unwrap();
    hang_up();
    let error = errors.next().unwrap().unwrap();
    assert!(error.contains("MCP servers stay as they were: "), "{error}");
    assert!(error.contains("mcp.servers.s: it needs a \"command\" or a \"url\""), "{error}");
    assert_eq!(ask(pid)["output"], before);
    drop(input);
    child.wait().unwrap();
}

#[tokio::test]
async fn an_engine_begins_with_its_servers_and_writes_down_those_that_are_as_they_were() {
    let text = section("s", "extra").replace("${SERVER}", SERVER) + "connect_timeout_s = 120\n";
    let text =
        format!("[tools]\nenable = []\n\n{text}\n[mcp.servers.other]\ncommand = \"no-such-program\"\n");
    let config = Config::parse(&text).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    engine.mcp().add("mine", server([]).connect_timeout(Duration::from_mins(2))).await.unwrap();
    engine.mcp().settled(Duration::from_mins(2), || false).await;
    assert_eq!(output(&engine, "s_extra", json!({"text": "x"})).await, "x");
    let written = engine.to_config();
    assert_eq!(written.config.mcp, config.mcp);
    assert!(!written.left_out.is_empty() && written.left_out.iter().all(|name| name.starts_with("mine_")));
    engine.mcp().remove("other").await.unwrap();
    assert_eq!(engine.to_config().config.mcp.servers.keys().collect::<Vec<_>>(), ["s"]);
    eventually("nothing else changes", || engine.mcp().servers() == ["mine", "s"]).await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_check_tells_of_each_server_what_it_offers_or_what_is_wrong() {
    let servers = [
        ("good", server([]).connect_timeout(Duration::from_mins(2))),
        ("missing", McpServerConfig::stdio("no-such-program", Vec::<String>::new())),
        ("away", McpServerConfig::http("http://127.0.0.1:1/mcp")),
    ];
    let servers = servers.map(|(name, config)| (name.to_owned(), config)).into();
    let checks: BTreeMap<_, _> =
        check_servers(servers).await.unwrap().into_iter().map(|check| (check.server, check.found)).collect();
    assert_eq!(checks["good"], Ok("protocol 2025-06-18, 15 tools".to_owned()));
    let wrong = |name: &str| checks[name].clone().unwrap_err();
    assert!(wrong("missing").contains("no program \"no-such-program\" was found"), "{checks:?}");
    assert!(wrong("missing").ends_with("see whether \"no-such-program\" starts by hand"), "{checks:?}");
    assert!(wrong("away").starts_with("no connection to its address can be made ("), "{checks:?}");
}

#[test]
fn the_doctor_tells_of_the_servers_of_both_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), section("s", "extra")).unwrap();
    let servers = json!({"mcpServers": {"bad": {"command": "no-such-program"}}});
    std::fs::write(folder.path().join("servers.json"), servers.to_string()).unwrap();
    let examined = toolyard(folder.path()).args(["doctor", "--mcp-config", "servers.json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&examined.stdout).unwrap();
    let check = |name: &str| {
        let checks = answer["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).cloned().unwrap_or_else(|| panic!("{answer}"))
    };
    assert_eq!((&check("mcp s")["ok"], &check("mcp bad")["ok"]), (&json!(true), &json!(false)));
    assert!(check("mcp s")["says"].as_str().unwrap().contains("16 tools"), "{answer}");
    assert!(check("mcp bad")["says"].as_str().unwrap().contains("no program"), "{answer}");
    assert_eq!(examined.status.code(), Some(1));
}
