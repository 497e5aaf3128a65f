//! The tool as scripts use it, under a keeper.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::processes_in;
use crate::cli::{json as document, toolyard};

const ON_HOST: &str = "[tools]\nenable = [\"python_repl\"]\n\n[python]\nrepl = \"unsafe_host_process\"\n\n[python_repl]\ntimeout_s = 2\nmax_processes = 16\n";

fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toolyard.toml"), config).unwrap();
    folder
}

/// Runs a list of code; the outcome and the text of each.
fn run(folder: &TempDir, codes: &[&str], options: &[&str]) -> Vec<(String, String)> {
    let calls: Vec<Value> =
        codes.iter().map(|code| json!({"name": "python", "arguments": {"code": code}})).collect();
    fs::write(folder.path().join("list.json"), json!(calls).to_string()).unwrap();
    let arguments = [&["call", "list.json"], options].concat();
    let answer = document(&toolyard(&arguments).current_dir(folder.path()).output().unwrap());
    let results = answer["results"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    results
        .map(|result| (text(&result["outcome"]), text(&result["output"]) + &text(&result["error"])))
        .collect()
}

#[test]
fn code_runs_on_this_machine_only_when_the_configuration_says_so_by_its_name() {
    let nowhere =
        if cfg!(feature = "docker") { "[sandbox]\ndaemon = \"unix:///no/such/docker.sock\"" } else { "" };
    let refused = run(&folder(nowhere), &["1"], &["--tools", "python_repl"]);
    assert_eq!(refused[0].0, "not_started", "{refused:?}");
    let what_to_do =
        if cfg!(feature = "docker") { "start it, or say where it listens" } else { "unsafe_host_process" };
    assert!(refused[0].1.contains(what_to_do), "{refused:?}");
    let ran = run(&folder(ON_HOST), &["x = 20", "x + 1"], &[]);
    assert_eq!(ran, [("ok".to_owned(), String::new()), ("ok".to_owned(), "21".to_owned())]);
}

#[test]
fn a_session_goes_on_in_the_next_process() {
    let folder = folder(ON_HOST);
    run(&folder, &["x = [1, 2]\ndef f(): pass"], &["--state", "store.json"]);
    let (outcome, text) = run(&folder, &["x"], &["--state", "store.json"]).remove(0);
    assert_eq!(
        (outcome.as_str(), text.as_str()),
        ("ok", "[session loaded without: f (f is defined in this session)]\n[1, 2]")
    );
}

#[test]
fn not_even_a_daemon_outlives_the_program_and_a_storm_does_not_get_far() {
    let folder = folder(ON_HOST);
    let daemon =
        "import subprocess, os\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nos.getcwd()";
    let ran = run(&folder, &[daemon], &[]);
    assert_eq!(ran[0].0, "ok", "{ran:?}");
    assert_eq!(processes_in(ran[0].1.trim_matches('\'')), Vec::<String>::new());

    let storm = "import os, time\nprint(os.getcwd())\nfor i in range(8):\n    if not os.fork() and i > 5: os.setsid()\ntime.sleep(1000)";
    let ran = run(&folder, &[storm, "1 + 1"], &[]);
    assert_eq!((ran[0].0.as_str(), ran[1].0.as_str()), ("lost", "ok"), "{ran:?}");
    assert!(ran[0].1.contains("more than 16 processes"), "{ran:?}");
    assert_eq!(processes_in(ran[0].1.lines().next().unwrap()), Vec::<String>::new());
}
