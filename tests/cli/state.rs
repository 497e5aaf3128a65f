//! `toolyard state` and `call --state`, with a stateful Python tool.

use std::fs;

use serde_json::{Value, json as value};
use tempfile::TempDir;

use super::{json, outcomes, toolyard};

const COUNTER: &str = "
def add(by: int, inner_state):
    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + by}
    return inner_state.state['n']

def each(inner_state):
    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + 1}
    return inner_state.state['n']

each.state_scope = 'agent'
";

pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tools.py"), COUNTER).unwrap();
        Self(folder)
    }

    pub(super) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    pub(super) fn run(&self, arguments: &[&str]) -> std::process::Output {
        toolyard(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// Runs calls on the store; their outputs.
    pub(super) fn call(&self, calls: &Value, options: &[&str]) -> Vec<Value> {
        self.write("list.json", &calls.to_string());
        let base = ["call", "list.json", "--python", "tools.py", "--state", "store.json"];
        let output = self.run(&[&base, options].concat());
        let answer = json(&output);
        assert!(outcomes(&answer).iter().all(|outcome| *outcome == "ok"), "{answer}");
        answer["results"].as_array().unwrap().iter().map(|result| result["output"].clone()).collect()
    }
}

pub(super) fn add(by: i64) -> Value {
    value!({"name": "add", "arguments": {"by": by}})
}

#[test]
fn states_are_loaded_before_the_calls_and_saved_after_them() {
    let place = Place::new();
    assert_eq!(place.call(&value!([add(2), add(3), {"name": "each"}]), &["--agent", "a"]), [2, 5, 1]);
    assert_eq!(place.call(&value!([add(1), {"name": "each"}]), &["--agent", "a"]), [6, 2]);
    assert_eq!(place.call(&value!([add(1), {"name": "each"}]), &["--agent", "b"]), [7, 1]);
}

#[test]
fn a_dump_is_what_a_load_takes() {
    let place = Place::new();
    place.call(&value!([add(5), {"name": "each"}]), &["--agent", "a"]);
    let all = place.run(&["state", "dump", "--state", "store.json"]);
    assert_eq!(String::from_utf8(all.stdout).unwrap(), place.read("store.json"));
    let one = place.run(&["state", "dump", "ADD", "--state", "store.json"]);
    let one = String::from_utf8(one.stdout).unwrap();
    assert!(one.contains("\"n\":5") && !one.contains("each"), "{one}");
    place.write("old.json", &one);

    place.call(&value!([add(10), {"name": "each"}]), &["--agent", "a"]);
    let load = ["state", "load", "old.json", "--state", "store.json", "--python", "tools.py"];
    let loaded = place.run(&load);
    assert_eq!((loaded.status.code(), json(&loaded)), (Some(0), value!({"rows": 1, "unknown": []})));
    assert_eq!(
        place.call(&value!([add(0), {"name": "each"}]), &["--agent", "a"]),
        [5, 3],
        "`each` was not in it"
    );
}

#[test]
fn rows_of_tools_that_are_not_there_stay_in_the_store_and_a_load_reports_them() {
    let place = Place::new();
    place.call(&value!([add(5)]), &[]);
    let before = place.read("store.json");
    place.write("list.json", r#"[{"name": "calculator", "arguments": "1+1"}]"#);
    let without = place.run(&["call", "list.json", "--state", "store.json"]);
    assert_eq!(without.status.code(), Some(0));
    assert!(place.read("store.json").contains("\"n\":5"));

    place.write("other.json", &before);
    let loaded = place.run(&["state", "load", "other.json", "--state", "new.json"]);
    let report = json(&loaded);
    assert_eq!((loaded.status.code(), &report["rows"]), (Some(1), &value!(1)));
    assert!(report["unknown"].as_array().unwrap().contains(&value!("add")), "{report}");
}

#[test]
fn a_store_that_cannot_be_read_stops_the_program_before_anything_runs() {
    let place = Place::new();
    for (text, reason) in [
        ("{\"format\":\"toolyard-state\",\"version\":9}\n", "format version 9 is newer than this program"),
        ("{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[]}\n", "the file is cut off"),
        ("something else", "not a state file"),
    ] {
        place.write("store.json", text);
        place.write(
            "list.json",
            r#"[{"name": "file_write", "arguments": {"path": "ran.txt", "content": "x"}}]"#,
        );
        let output = place.run(&["call", "list.json", "--state", "store.json"]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(reason), "{error}");
        assert!(error.starts_with("toolyard: --state store.json: ") && error.lines().count() == 1, "{error}");
        assert!(output.stdout.is_empty() && !place.0.path().join("ran.txt").exists());
        assert_eq!(place.read("store.json"), text);
    }
}

#[test]
fn a_tool_that_is_not_in_the_store_is_named() {
    let place = Place::new();
    place.call(&value!([add(1)]), &[]);
    let output = place.run(&["state", "dump", "sub", "--state", "store.json"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.starts_with("toolyard: store.json: it has no tool \"sub\"; there is: "), "{error}");
}
