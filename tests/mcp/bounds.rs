//! Servers that ask and write without end: the memory of the program that calls them stays bounded.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolyard::{Outcome, mcp::McpState};

use super::{
    engine_with, eventually, output,
    rogue::{LINKS, ROGUE, Rogue},
    run, status, within,
};

/// What the program takes at most besides messages, in bytes: twice what it takes for a call that does nothing, unoptimised.
const BASE: usize = 200 << 20;

/// Runs one call by the program, and gives its result and the most memory that the program took, in bytes.
fn watched(tool: &str, arguments: &Value, timeout: &str) -> (Value, usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("servers.json");
    let servers = json!({"mcpServers": {"s": {"command": "python3", "args": [ROGUE, "stdio"]}}});
    fs::write(&file, servers.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.arg("call").arg("--mcp-config").arg(&file).args(["--timeout", timeout]);
    let output = fs::File::create(folder.path().join("output")).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::null()).spawn().unwrap();
    let calls = json!([{"name": tool, "arguments": arguments}]);
    child.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
    let (begun, mut most) = (Instant::now(), 0);
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<usize>().ok());
        most = most.max(kilobytes.unwrap_or_default() * 1024);
        assert!(begun.elapsed() < Duration::from_mins(3), "it ends");
        std::thread::sleep(Duration::from_millis(5));
    }
    let report: Value = serde_json::from_slice(&fs::read(folder.path().join("output")).unwrap()).unwrap();
    (report["results"][0].clone(), most)
}

#[test]
fn a_server_that_asks_and_reads_nothing_takes_no_memory() {
    for what in ["ping", "sampling", "question", "roots"] {
        let (result, most) = watched("s_flood", &json!({"what": what, "times": 300_000}), "60");
        assert!(
            ["lost", "ok", "suspended"].contains(&result["outcome"].as_str().unwrap()),
            "{what}: {result}"
        );
        assert!(most < BASE, "{what}: {most} bytes");
    }
}

#[test]
fn notices_without_end_take_no_memory() {
    for what in ["log", "progress", "changed"] {
        let (result, most) = watched("s_flood", &json!({"what": what, "times": 60_000}), "120");
        assert_eq!(result["output"], "after the flood", "{what}: {result}");
        assert!(most < BASE, "{what}: {most} bytes");
        eprintln!("{what}: {most}");
    }
}

#[test]
fn a_million_empty_blocks_take_no_more_than_their_text() {
    let (result, most) = watched("s_blocks", &json!({"thousands": 1000}), "120");
    assert_eq!(result["outcome"], "lost", "{result}");
    assert!(result["error"].as_str().unwrap().contains("more than 10000 content blocks"), "{result}");
    assert!(most < BASE + 4 * 26_000_000, "{most} bytes");
}

#[tokio::test]
async fn past_the_bound_the_link_ends_with_its_reason_and_comes_back() {
    for link in LINKS.into_iter().filter(|link| *link != "json") {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone())]).await;
        let flood = json!({"what": "ping", "times": 5_000});
        let result = within("it is given up", run(&engine, "s_flood", flood)).await;
        assert_eq!(result.outcome, Outcome::Lost, "{link}: {result:?}");
        let error = result.error.unwrap();
        assert!(error.contains("it asked more than"), "{link}: {error}");
        eventually("the link has ended", || status(&engine)["s"].last_error.is_some()).await;
        let said = status(&engine)["s"].last_error.clone().unwrap();
        assert!(said.starts_with("it asked more than"), "{link}: {said}");
        eventually("it is back", || status(&engine)["s"].state == McpState::Ready).await;
        assert_eq!(output(&engine, "s_echo", json!({})).await, "echo", "{link}");
        engine.shutdown(Duration::ZERO).await;
    }
}
