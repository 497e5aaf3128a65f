//! Ctrl-C: the running calls are cancelled and answered, and the program says so by its status.

use std::io::{BufRead, BufReader, Read, Write};

#[cfg(feature = "python")]
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::toolyard;

#[test]
fn ctrl_c_between_documents_ends_the_program_with_status_130() {
    let mut child = toolyard(&["call", "--jsonl"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"[{\"name\": \"calc\", \"arguments\": \"1+1\"}]\n").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["results"][0]["output"], "2");
    // It waits for another document now; its input stays open.
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// A program with a call that runs until it is cancelled, once it is running.
#[cfg(feature = "python")]
fn napping(folder: &std::path::Path) -> Child {
    let (file, sign) = (folder.join("nap.py"), folder.join("running"));
    let code = format!(
        "import asyncio, pathlib\nasync def nap():\n    pathlib.Path({:?}).touch()\n    await asyncio.sleep(600)\n",
        sign.to_str().unwrap()
    );
    std::fs::write(&file, code).unwrap();
    let list =
        r#"[{"name": "calc", "arguments": "1+1"}, {"name": "nap"}, {"name": "calc", "arguments": "2+2"}]"#;
    let mut child =
        toolyard(&["call", "--tools", "calculator", "--python", file.to_str().unwrap()]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    while !sign.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the call began");
        std::thread::yield_now();
    }
    child
}

#[cfg(feature = "python")]
#[test]
fn ctrl_c_cancels_the_running_call_and_every_call_still_has_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let child = napping(folder.path());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(super::outcomes(&super::json(&output)), ["ok", "cancelled", "ok"]);
}
