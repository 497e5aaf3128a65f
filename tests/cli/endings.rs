//! What has run is told and kept, whatever cannot be written.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json as value};
use tempfile::TempDir;

use super::{json, outcomes, toolyard};

const TOOLS: &str = "
import os, shutil

def add(by: int, inner_state):
    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + by}
    return inner_state.state['n']

def wide(inner_state):
    inner_state.state = {'n': 1}
    return 'x' * 300_000

def raze(folder: str):
    shutil.rmtree(folder)
    open(folder, 'w').close()
";

const RULES: &str = "[permissions]\n[[permissions.rule]]\naction = \"raze\"\nverdict = \"ask\"\n";

pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tools.py"), TOOLS).unwrap();
        Self(folder)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "__pycache__");
        names.sort();
        names
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = toolyard(arguments);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// The program where no file can grow: as on a full disk.
    fn on_a_full_disk(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
        command.arg(env!("CARGO_BIN_EXE_toolyard")).args(arguments).current_dir(self.0.path());
        command.output().unwrap()
    }

    fn list(&self, calls: &Value) {
        self.write("list.json", &calls.to_string());
    }
}

fn add(by: i64) -> Value {
    value!({"name": "add", "arguments": {"by": by}})
}

fn complaints(output: &Output) -> Vec<String> {
    String::from_utf8(output.stderr.clone()).unwrap().lines().map(str::to_owned).collect()
}

const CALL: [&str; 4] = ["call", "list.json", "--python", "tools.py"];
const ALL: [&str; 8] =
    ["--state", "store", "--suspend", "record", "--events", "events", "--timeline", "page.html"];

#[test]
fn a_full_disk_takes_no_results_and_each_file_that_is_missing_is_named() {
    let place = Place::new();
    place.list(&value!([add(2)]));
    assert_eq!(place.command(&[&CALL[..], &ALL[..2]].concat()).output().unwrap().status.code(), Some(0));
    let store = place.read("store");
    place.list(&value!([add(3)]));
    let output = place.on_a_full_disk(&[&CALL[..], &ALL].concat());
    assert_eq!((outcomes(&json(&output)), output.status.code()), (vec!["ok"], Some(2)), "{output:?}");
    assert_eq!(json(&output)["results"][0]["output"], 5);
    let complaints = complaints(&output);
    assert_eq!(complaints.len(), 4, "{complaints:?}");
    for option in ["--state store", "record", "--events events", "--timeline page.html"] {
        let says = |line: &&String| line.starts_with("toolyard: not written: ") && line.contains(option);
        assert!(complaints.iter().any(|line| says(&line)), "{option}: {complaints:?}");
    }
    assert_eq!(place.read("store"), store, "the old one stays");
    assert_eq!(
        place.names(),
        [".store.lock", "events", "list.json", "store", "tools.py"],
        "nothing but the lock is left beside"
    );
}

#[test]
fn a_closed_or_full_standard_output_takes_no_files() {
    for jsonl in [false, true] {
        for full in [false, true] {
            let place = Place::new();
            place.list(&value!([add(2)]));
            let options =
                if jsonl { [&["--jsonl"], &ALL[..2], &ALL[4..]] } else { [&[], &ALL[..2], &ALL[2..]] };
            let mut command = place.command(&[&CALL[..], &options.concat()].concat());
            if full {
                command.stdout(File::options().write(true).open("/dev/full").unwrap());
            }
            let mut child = command.spawn().unwrap();
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let complaints = complaints(&output);
            assert_eq!(complaints.len(), 1, "{complaints:?}");
            assert!(complaints[0].contains("not written: standard output, 1 answer: "), "{complaints:?}");
            assert!(place.read("store").contains("\"n\":2") && place.read("page.html").contains("</html>"));
            assert!(place.read("events").contains("list_finished"));
            assert!(jsonl || place.read("record").contains("\"results\""));
        }
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_process_that_answers_line_by_line_and_its_states_are_kept() {
    let place = Place::new();
    let mut child = place
        .command(&["call", "--jsonl", "--python", "tools.py", "--state", "store"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let line = format!("[{}]\n", add(1));
    input.write_all(line.as_bytes()).unwrap();
    let mut output = BufReader::new(output);
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    // It has to answer once more to find out, and does not wait for the end of its input then.
    input.write_all(line.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(place.read("store").contains("\"n\":2"), "{}", place.read("store"));
}

#[test]
fn a_folder_that_goes_while_calls_run_takes_what_was_to_be_written_there_and_nothing_else() {
    let place = Place::new();
    fs::create_dir(place.0.path().join("gone")).unwrap();
    place.list(&value!([{"name": "raze", "arguments": {"folder": "gone"}}, add(4)]));
    let options = ["--suspend", "gone/record", "--timeline", "gone/page", "--state", "store"];
    let output = place.command(&[&CALL[..], &options].concat()).output().unwrap();
    assert_eq!((outcomes(&json(&output)), output.status.code()), (vec!["ok", "ok"], Some(2)), "{output:?}");
    let complaints = complaints(&output);
    assert!(complaints.len() == 2 && complaints[0].contains("gone/record"), "{complaints:?}");
    assert!(complaints[1].contains("--timeline gone/page"), "{complaints:?}");
    assert!(place.read("store").contains("\"n\":4"));
}

#[test]
fn a_list_that_goes_on_prints_its_results_when_its_record_is_gone() {
    let place = Place::new();
    place.write("toolyard.toml", RULES);
    fs::create_dir(place.0.path().join("gone")).unwrap();
    place.list(&value!([{"name": "raze", "arguments": {"folder": "gone"}}]));
    let output = place.command(&[&CALL[..], &["--suspend", "gone/record"]].concat()).output().unwrap();
    let id = json(&output)["requests"][0]["id"].as_str().unwrap().to_owned();
    let resume = ["resume", "gone/record", "--approve", &id, "--python", "tools.py", "--events", "events"];
    let output = place.command(&resume).output().unwrap();
    assert_eq!((outcomes(&json(&output)), output.status.code()), (vec!["ok"], Some(2)), "{output:?}");
    assert!(complaints(&output)[0].contains("what ran just now counts as lost"), "{output:?}");
    assert!(place.read("events").contains("list_finished"));
}

#[test]
fn a_reader_that_does_not_read_keeps_no_state_from_being_saved() {
    let place = Place::new();
    place.list(&value!([{"name": "wide"}]));
    let mut child = place.command(&[&CALL[..], &ALL[..2]].concat()).spawn().unwrap();
    // Its answer is longer than a pipe holds, and nobody reads it.
    while !place.read("store").contains("\"n\":1") {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its answer was read");
        std::thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((outcomes(&json(&output)), output.status.code()), (vec!["ok"], Some(0)));
}

#[cfg(feature = "sim")]
#[test]
fn a_simulation_prints_its_summary_and_writes_its_log_whatever_becomes_of_the_other() {
    let place = Place::new();
    let scenario = "agents = 2\nduration_s = 60\nthink = { constant_ms = 5_000 }\n\
                    tool = [{ name = \"search\", latency = { constant_ms = 20 } }]\n\
                    list = [{ calls = [{ tool = \"search\" }] }]\n";
    place.write("s.toml", scenario);
    let output = place.command(&["sim", "s.toml", "--events", "/dev/full"]).output().unwrap();
    assert_eq!((json(&output)["outcomes"]["ok"].is_number(), output.status.code()), (true, Some(2)));
    assert!(complaints(&output)[0].contains("/dev/full"), "{output:?}");
    let mut child = place.command(&["sim", "s.toml", "--events", "log"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(place.read("log").lines().count() > 2);
}
