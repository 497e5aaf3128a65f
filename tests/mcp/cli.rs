//! MCP servers on the command line.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    SERVER, asking,
    scripted::{Scripted, http},
};

/// Runs the program over two servers, one of which cannot be started.
fn toolyard(arguments: &[&str], input: &Value) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({"mcpServers": {
        "good": {"command": "python3", "args": ["${SERVER}"]},
        "bad": {"command": "no-such-program"},
    }});
    let file = folder.path().join("servers.json");
    std::fs::write(&file, servers.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(arguments).arg("--mcp-config").arg(&file).env("SERVER", SERVER);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // It may end before it has read everything, or anything.
    let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), serde_json::from_slice(&ended.stdout).unwrap_or_default())
}

#[test]
fn calls_reach_servers_and_those_to_a_server_that_is_not_there_say_so() {
    let calls =
        json!([{"name": "good_echo", "arguments": {"text": "hi"}}, {"name": "bad_x", "arguments": {}}]);
    let (code, report) = toolyard(&["call"], &calls);
    assert_eq!(code, Some(1));
    assert_eq!(report["results"][0]["output"], "hi");
    let refused = &report["results"][1];
    assert_eq!(refused["outcome"], "not_started");
    assert!(
        refused["error"].as_str().unwrap().contains("no program \"no-such-program\" was found"),
        "{refused}"
    );
}

#[test]
fn a_question_of_a_server_is_answered_by_resume() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let server =
        json!({"command": "python3", "args": [asking::SERVER, "stateless"], "env": {"NOTES": path("notes")}});
    std::fs::write(path("servers.json"), json!({"mcpServers": {"s": server}}).to_string()).unwrap();
    let run = |arguments: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.args(arguments).arg("--mcp-config").arg(path("servers.json"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        (ended.status.code(), serde_json::from_slice::<Value>(&ended.stdout).unwrap())
    };
    let (code, report) =
        run(&["call", "--suspend", &path("list.json")], r#"[{"name": "s_ask", "arguments": {}}]"#);
    assert_eq!((code, &report["results"][0]["outcome"]), (Some(1), &json!("suspended")));
    assert_eq!(report["results"][0].get("detail"), None);
    let request = &report["requests"][0];
    assert!(request["reason"].as_str().unwrap().contains("Who are you?"), "{request}");
    let answer = format!("{}={}", request["id"].as_str().unwrap(), json!({"name": "Ada"}));
    let (code, report) = run(&["resume", &path("list.json"), "--answer", &answer], "");
    assert_eq!(code, Some(0), "{report}");
    let output: Value = serde_json::from_str(report["results"][0]["output"].as_str().unwrap()).unwrap();
    assert_eq!(output[0]["who"]["content"], json!({"name": "Ada", "title": "Dr"}));
}

#[test]
fn the_status_names_each_server() {
    let (code, status) = toolyard(&["mcp", "status"], &Value::Null);
    assert_eq!(code, Some(0));
    let servers = status["servers"].as_array().unwrap();
    let names: Vec<_> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bad", "good"]);
    assert_eq!((&servers[1]["state"], &servers[1]["tools"]), (&json!("ready"), &json!(15)));
    assert_ne!(servers[0]["last_error"], Value::Null);
}

#[test]
fn what_is_asked_of_an_unknown_server_is_refused() {
    assert_eq!(toolyard(&["mcp", "read", "other", "res://x"], &Value::Null).0, Some(2));
    assert_eq!(toolyard(&["mcp", "read", "bad", "res://x"], &Value::Null).0, Some(3));
}

#[test]
fn tools_of_one_server_are_listed_and_rules_of_the_configuration_hold() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("toolyard.toml");
    std::fs::write(&config, "[[tools.rule]]\nmode = \"deactivate\"\npattern = \"good_e*\"\n").unwrap();
    let names = |arguments: &[&str]| {
        let (code, listed) = toolyard(arguments, &json!(null));
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        (code, tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let (code, all) = names(&["mcp", "tools", "good"]);
    assert!(code == Some(0) && all.contains(&"good_echo".to_owned()));
    let (code, some) = names(&["mcp", "tools", "good", "--config", config.to_str().unwrap()]);
    assert_eq!((code, some.len()), (Some(0), all.len() - 1));
    assert!(!some.contains(&"good_echo".to_owned()));
    assert_eq!(names(&["mcp", "tools", "no_such_server"]).0, Some(2));
}

#[test]
fn people_read_once_why_a_server_cannot_be_used_and_nothing_of_the_library() {
    let server = Scripted::start(|_| Some(http(403, "content-type: text/plain\r\n", "members only")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("servers.json");
    let servers = json!({"mcpServers": {
        "closed": {"url": server.url}, "gone": {"url": "http://127.0.0.1:1/mcp"}, "old": {"type": "sse", "url": server.url}
    }});
    std::fs::write(&file, servers.to_string()).unwrap();
    let stderr = |filter: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.args(filter).arg("call").arg("--mcp-config").arg(&file).env_remove("TOOLYARD_LOG");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let calls = json!(["closed", "gone", "old"].map(|name| json!({"name": format!("{name}_x")})));
        child.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    for filter in [&[][..], &["--log-level", "warn"], &["--log-level", "debug"]] {
        let text = stderr(filter);
        for debug in ["rmcp", "reqwest::Error", "Os {", "Transport"] {
            assert!(!text.contains(debug), "{debug}: {text}");
        }
        let warnings: Vec<_> = text.lines().filter(|line| line.contains("WARN")).collect();
        for (server, reason) in [
            ("closed", "members only"),
            ("gone", "no connection to its address can be made (Connection refused"),
            ("old", "members only"),
        ] {
            let about =
                |line: &&&str| line.contains(&format!("server=\"{server}\"")) && line.contains(reason);
            assert_eq!(warnings.iter().filter(about).count(), 1, "{server}: {text}");
        }
        assert_eq!(warnings.len(), 3, "{text}");
    }
    assert!(stderr(&["--log-level", "rmcp=debug"]).contains("rmcp"));
}
