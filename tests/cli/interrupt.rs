//! Signals: the running calls are cancelled and answered, and the program says so by its status.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::toolyard;

/// The signals that end the program, with its status.
const ENDS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The program, which takes no notice of what whoever runs the tests ignores.
fn heeding(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_toolyard")]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_signal_between_documents_ends_the_program_with_its_status() {
    for (signal, status) in &ENDS[..2] {
        let mut child = toolyard(&["call", "--jsonl"]).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        input.write_all(b"[{\"name\": \"calc\", \"arguments\": \"1+1\"}]\n").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["results"][0]["output"], "2");
        // It waits for another document now; its input stays open.
        send(&child, *signal);
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert_eq!(child.wait().unwrap().code(), Some(*status));
    }
}

#[test]
fn a_signal_ends_a_program_that_still_waits_for_its_document_and_nothing_is_touched() {
    for (signal, status) in ENDS {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("events");
        std::fs::write(&events, "before").unwrap();
        let mut child = heeding(&["--log-level=toolyard=off", "call", "--events", events.to_str().unwrap()])
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        // There is a thread for the signals once they are listened for.
        let threads = format!("/proc/{}/task", child.id());
        let listens = |thread: std::io::Result<std::fs::DirEntry>| {
            let name = thread.map(|thread| std::fs::read_to_string(thread.path().join("comm")));
            matches!(name, Ok(Ok(name)) if name.trim() == "signals")
        };
        while !std::fs::read_dir(&threads).unwrap().any(listens) {
            std::thread::yield_now();
        }
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(status), 0), "{output:?}");
        assert_eq!(std::fs::read_to_string(&events).unwrap(), "before");
        drop(input);
    }
}

/// A program with a call that runs until it is cancelled, once it is running.
#[cfg(feature = "python")]
fn napping(folder: &std::path::Path, mut command: Command) -> Child {
    let (file, sign) = (folder.join("nap.py"), folder.join("running"));
    let code = format!(
        "import asyncio, pathlib\nasync def nap():\n    pathlib.Path({:?}).touch()\n    await asyncio.sleep(600)\n\
         def add(inner_state):\n    inner_state.state = {{'n': 7}}\n    return 7\n",
        sign.to_str().unwrap()
    );
    std::fs::write(&file, code).unwrap();
    let list = r#"[{"name": "add"}, {"name": "nap"}, {"name": "add"}]"#;
    let mut child = command.args(["--python", file.to_str().unwrap()]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    while !sign.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the call began");
        std::thread::yield_now();
    }
    child
}

#[cfg(feature = "python")]
#[test]
fn a_signal_cancels_the_running_call_and_all_is_answered_and_kept() {
    for (signal, status) in ENDS {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let files = [at("store"), at("record"), at("events"), at("page")];
        let options =
            ["--state", &files[0], "--suspend", &files[1], "--events", &files[2], "--timeline", &files[3]];
        let child = napping(folder.path(), heeding(&[&["call"], &options[..]].concat()));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        let answer = super::json(&output);
        assert_eq!(super::outcomes(&answer)[..2], ["ok", "cancelled"], "{answer}");
        let read = |file: &String| std::fs::read_to_string(file).unwrap();
        assert!(read(&files[0]).contains("\"n\":7") && read(&files[1]).contains("cancelled"));
        assert!(read(&files[2]).contains("list_finished") && read(&files[3]).contains("</html>"));
        let left = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let stray: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('.')).collect();
        assert_eq!(stray, [".store.lock"], "the lock of the store stays");
    }
}

#[cfg(feature = "python")]
#[test]
fn a_hang_up_that_whoever_started_the_program_ignores_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("env");
    command.args(["--ignore-signal=HUP", env!("CARGO_BIN_EXE_toolyard"), "call"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = napping(folder.path(), command);
    send(&child, Signal::HUP);
    send(&child, Signal::TERM);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}

#[cfg(feature = "python")]
#[test]
fn a_second_signal_ends_a_program_that_cannot_print_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    std::fs::write(
        folder.path().join("wide.py"),
        "def wide(inner_state):\n    inner_state.state = {'n': 1}\n    return 'x' * 300_000\n",
    )
    .unwrap();
    let mut child =
        toolyard(&["call", "--python", "wide.py", "--state", "store"]).current_dir(&folder).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"[{"name": "wide"}]"#).unwrap();
    while !store.exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    // Nobody reads what it prints.
    while child.try_wait().unwrap().is_none() {
        send(&child, Signal::TERM);
        std::thread::yield_now();
    }
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[cfg(feature = "python")]
#[test]
fn states_of_a_process_that_goes_on_are_saved_while_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    std::fs::write(
        folder.path().join("count.py"),
        "def count(inner_state):\n    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + 1}\n    \
         return inner_state.state['n']\n",
    )
    .unwrap();
    let arguments = ["call", "--jsonl", "--python", "count.py", "--state", "store"];
    for round in 1..=2 {
        let mut child = toolyard(&arguments).current_dir(&folder).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        input.write_all(b"[{\"name\": \"count\"}]\n").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["results"][0]["output"], round, "{answer}");
        while !std::fs::read_to_string(&store).is_ok_and(|text| text.contains(&format!("\"n\":{round}"))) {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
