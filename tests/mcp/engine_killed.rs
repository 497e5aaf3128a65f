//! What is left of servers when the program that started them is killed: nothing.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::json;

use super::SERVER;
use crate::processes::{assert_gone, kill_now, mark, wait_for};

/// Starts the program over two servers, each of which leaves processes behind: in its group, and in a session of its
/// own that ignores signals and knows nothing of its past.
fn start(folder: &Path, mark: &str) -> (Child, BufReader<ChildStdout>) {
    let leaves = format!(
        "sleep {mark} & setsid sh -c 'trap \"\" TERM HUP; env -i sleep {mark} & sleep {mark}' & exec python3 {SERVER}"
    );
    let server = json!({"command": "sh", "args": ["-c", leaves], "inheritEnv": ["TOOLYARD_TEST_MARK"]});
    let servers = folder.join("servers.json");
    std::fs::write(&servers, json!({"mcpServers": {"a": server, "b": server}}).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(["call", "--jsonl", "--mcp-config"]).arg(&servers).env("TOOLYARD_TEST_MARK", mark);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let answers = BufReader::new(program.stdout.take().unwrap());
    (program, answers)
}

/// The program, its keeper, and four processes of each server.
const ALL: usize = 2 + 2 * 4;

fn kill(mut program: Child) {
    kill_now(program.id());
    program.wait().unwrap();
}

#[test]
fn no_server_outlives_the_program_when_it_is_killed_during_calls() {
    let (folder, mark) = (tempfile::tempdir().unwrap(), mark());
    let (mut program, mut answers) = start(folder.path(), &mark);
    let input = program.stdin.as_mut().unwrap();
    writeln!(input, r#"[{{"name": "a_echo", "arguments": {{}}}}, {{"name": "b_echo", "arguments": {{}}}}]"#)
        .unwrap();
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    assert_eq!(answer.matches(r#""outcome":"ok""#).count(), 2, "{answer}");
    writeln!(input, r#"[{{"name": "a_wait", "arguments": {{}}}}]"#).unwrap();
    wait_for(ALL, &mark);
    kill(program);
    assert_gone(&mark);
}

#[test]
fn no_server_outlives_the_program_when_it_is_killed_at_any_moment_of_its_start() {
    for there in 1..=ALL {
        let (folder, mark) = (tempfile::tempdir().unwrap(), mark());
        let (program, _answers) = start(folder.path(), &mark);
        wait_for(there, &mark);
        kill(program);
        assert_gone(&mark);
    }
}

#[test]
fn no_server_outlives_the_program_when_it_ends_by_itself() {
    let (folder, mark) = (tempfile::tempdir().unwrap(), mark());
    let (mut program, _answers) = start(folder.path(), &mark);
    wait_for(ALL, &mark);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert_gone(&mark);
}
