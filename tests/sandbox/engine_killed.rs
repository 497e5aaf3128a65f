//! After `kill -9` of the program, at whatever moment.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{config, containers, eventually};

/// Calls that are at work for as long as they are let.
const ENDLESS: &str =
    r#"{"agent": "a", "calls": [{"name": "sandbox_python", "arguments": {"code": "while True: pass"}}]}"#;

fn start(folder: &TempDir) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    let program = program.args(["call", "--jsonl", "--unordered"]).current_dir(folder.path());
    program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(mut program: Child) {
    kill_process(Pid::from_child(&program), Signal::KILL).unwrap();
    program.wait().unwrap();
}

#[tokio::test]
async fn nothing_runs_on_and_the_next_start_removes_what_never_ran() {
    let name = config().sandbox.name;
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "[tools]\nenable = [\"sandbox_python\"]\n[sandbox]\nname = \"{name}\"\nwarm = 1\ntimeout_s = 600\n"
    );
    std::fs::write(folder.path().join("toolyard.toml"), toml).unwrap();
    for round in 0..20 {
        let mut program = start(&folder);
        let documents = ENDLESS.to_owned() + "\n" + &ENDLESS.replace("\"a\"", "\"b\"") + "\n";
        program.stdin.as_mut().unwrap().write_all(documents.as_bytes()).unwrap();
        if round % 4 == 3 {
            eventually("two are at work", || running(&name) >= 2).await;
        }
        // A random moment of its start, or of its work.
        tokio::time::sleep(Duration::from_micros(fastrand(700_000))).await;
        kill(program);
    }
    eventually("nothing runs", || running(&name) == 0).await;
    let next = Command::new(env!("CARGO_BIN_EXE_toolyard"))
        .args(["sandbox", "run", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(next.status.success(), "{next:?}");
    eventually("nothing is left", || containers(&name).is_empty()).await;
}

fn running(name: &str) -> usize {
    containers(name).iter().filter(|container| container.ends_with("running")).count()
}

/// A number below `most`.
fn fastrand(most: u64) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8) % most
}
