//! `toolyard call --suspend` and `toolyard resume`: one list, several processes.

use std::{fs, path::PathBuf, process::Output, thread::sleep, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{json, outcomes, run, toolyard};

const RULES: &str = r#"
[permissions]
[[permissions.rule]]
action = "file.write"
resource = "guarded/*"
verdict = "ask"
"#;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rules.toml"), RULES).unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The options that every process is given.
    fn engine(&self) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        vec!["--config".into(), path("rules.toml"), "--root".into(), path("files")]
    }

    fn run(&self, verb: &[&str], input: &str) -> Output {
        let engine = self.engine();
        let arguments: Vec<&str> = verb.iter().copied().chain(engine.iter().map(String::as_str)).collect();
        run(&arguments, input)
    }

    fn list(&self) -> String {
        self.path("list.json").display().to_string()
    }

    /// Runs the five calls and gives the ids of the three requests.
    fn suspended(&self) -> Vec<String> {
        let output = self.run(&["call", "--suspend", &self.list()], &five());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let answer = json(&output);
        assert_eq!(outcomes(&answer), ["suspended", "ok", "suspended", "ok", "suspended"]);
        let requests = answer["requests"].as_array().unwrap();
        requests.iter().map(|request| request["id"].as_str().unwrap().to_owned()).collect()
    }

    fn resume(&self, answers: &[&str]) -> Output {
        let list = self.list();
        let mut arguments = vec!["resume", list.as_str()];
        arguments.extend(answers);
        self.run(&arguments, "")
    }

    /// How often each call had its effect.
    fn effects(&self) -> Vec<usize> {
        let lines = |path: PathBuf| fs::read_to_string(path).map_or(0, |text| text.lines().count());
        (0..5).map(|n| lines(self.path("files").join(file(n)))).collect()
    }
}

fn file(n: usize) -> String {
    format!("{}/{n}.txt", if n.is_multiple_of(2) { "guarded" } else { "free" })
}

/// Three calls that need an approval and two that do not; each adds a line to a file of its own.
fn five() -> String {
    let calls: Vec<Value> = (0..5)
        .map(|n| {
            json!({"name": "file_write", "id": format!("c{n}"),
                   "arguments": {"path": file(n), "content": "once\n", "append": true}})
        })
        .collect();
    json!({"id": "doc", "calls": calls}).to_string()
}

#[test]
fn one_list_goes_through_three_processes() {
    let place = Place::new();
    let ids = place.suspended();
    assert_eq!(place.effects(), [0, 1, 0, 1, 0]);

    let output = place.resume(&["--approve", &ids[1]]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["suspended", "ok", "ok", "ok", "suspended"]);
    assert_eq!(answer["requests"].as_array().unwrap().len(), 2);
    assert_eq!(place.effects(), [0, 1, 1, 1, 0]);

    let why = format!("{}=not this one", ids[0]);
    let output = place.resume(&["--deny", &why, "--approve", &ids[2]]);
    assert_eq!(output.status.code(), Some(1));
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["denied", "ok", "ok", "ok", "ok"]);
    let seen: Vec<_> = answer["results"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
    assert_eq!(seen, ["c0", "c1", "c2", "c3", "c4"]);
    assert_eq!(answer["results"][0]["error"], "tool \"file_write\": denied: not this one");
    assert!(answer["id"] == "doc" && answer["requests"].is_null());
    assert_eq!(place.effects(), [0, 1, 1, 1, 1]);
}

#[test]
fn a_request_has_the_keys_of_the_contract_and_its_call_names_it() {
    let place = Place::new();
    let output = place.run(&["call"], &five());
    let answer = json(&output);
    let request = &answer["requests"][0];
    let text = String::from_utf8(output.stdout).unwrap();
    let place_of = |key: &str| text.rfind(&format!("\"{key}\"")).unwrap_or_else(|| panic!("{key}: {text}"));
    let keys = ["requests", "action", "resource", "reason", "expires_at", "elapsed_us"].map(place_of);
    assert!(keys.is_sorted(), "{text}");
    assert_eq!((&request["index"], &request["tool"]), (&json!(0), &json!("file_write")));
    assert_eq!((&request["action"], &request["resource"]), (&json!("file.write"), &json!("guarded/0.txt")));
    assert_eq!(answer["results"][0]["request"], request["id"]);
}

#[test]
fn an_unknown_used_or_changed_request_runs_nothing_and_leaves_the_file_alone() {
    let place = Place::new();
    let ids = place.suspended();
    assert!(place.resume(&["--approve", &ids[1]]).status.code() == Some(1));
    let before = fs::read(place.list()).unwrap();
    let refused = |answers: &[&str], named: &str, why: &str| {
        let output = place.resume(answers);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.lines().count() == 1 && error.contains(named) && error.contains(why), "{error}");
    };
    refused(&["--approve", &ids[0], "--approve", "nobody"], "nobody", "unknown");
    refused(&["--approve", &ids[0], "--deny", &ids[1]], &ids[1], "answered already");
    refused(&["--approve", &ids[0], "--approve", &ids[0]], &ids[0], "answered twice");
    refused(&["--answer", &format!("{}=1", ids[0])], &ids[0], "waits for an approval");
    assert_eq!(fs::read(place.list()).unwrap(), before);

    let text = String::from_utf8(before).unwrap();
    let tampered = text
        .replace("guarded/0.txt\\\"", "x")
        .replace("\"path\":\"guarded/0.txt\"", "\"path\":\"free/9.txt\"");
    assert_ne!(tampered, text);
    fs::write(place.list(), &tampered).unwrap();
    refused(&["--approve", &ids[0]], &ids[0], "no longer the one that was shown");
    let expired = text.replace(&expiry(&text), "2001-01-01T00:00:00Z");
    fs::write(place.list(), &expired).unwrap();
    refused(&["--approve", &ids[0]], &ids[0], "expired");
    assert_eq!(place.effects(), [0, 1, 1, 1, 0]);

    // Without an answer, what no longer holds is asked again.
    let answer = json(&place.resume(&[]));
    let asked = answer["requests"][0]["id"].as_str().unwrap();
    assert_ne!(asked, ids[0]);
    assert_eq!(outcomes(&json(&place.resume(&["--approve", asked])))[0], "ok");
    assert_eq!(place.effects(), [1, 1, 1, 1, 0]);
}

/// When the first request of a record ends.
fn expiry(record: &str) -> String {
    let record: Value = serde_json::from_str(record).unwrap();
    record["parked"][0]["binding"]["expires_at"].as_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_written_later_is_found_out_before_anything_runs() {
    let place = Place::new();
    let nowhere = place.path("none/list.json").display().to_string();
    let output = place.run(&["call", "--suspend", &nowhere], &five());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert_eq!(place.effects(), [0; 5]);
    fs::write(place.list(), "{}").unwrap();
    assert_eq!(place.resume(&[]).status.code(), Some(2));
}

#[test]
fn a_plan_prints_verdict_and_rule_of_each_call_the_same_way_every_time() {
    let place = Place::new();
    let first = place.run(&["plan"], &five());
    assert_eq!(first.status.code(), Some(1), "some would wait");
    let permissions = json(&first)["permissions"].clone();
    assert_eq!(
        permissions[0],
        json!({"index": 0, "action": "file.write", "resource": "guarded/0.txt",
               "as_rule": "action = 'file.write', resource = 'guarded/0.txt'", "verdict": "ask",
               "rule": "rule 1: ask file.write guarded/*"})
    );
    assert_eq!(
        (&permissions[1]["verdict"], &permissions[1]["rule"]),
        (&json!("allow"), &json!("default: allow"))
    );
    let lines = vec![five(); 100].join("\n");
    let output = place.run(&["plan", "--jsonl"], &lines);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() == 100 && text.lines().all(|line| Some(line) == text.lines().next()));
    assert_eq!(place.effects(), [0; 5]);
}

#[test]
fn a_stubbed_list_goes_on_as_one() {
    let place = Place::new();
    fs::write(place.path("rules.toml"), "[permissions]\ndefault = \"ask\"\n").unwrap();
    let list = json!({
        "calls": [{"name": "pay", "arguments": {"n": 1}}],
        "tools": [{"name": "pay", "description": "", "parameters": {"type": "object"}}],
    });
    let output = place.run(&["call", "--stub", "--suspend", &place.list()], &list.to_string());
    let id = json(&output)["requests"][0]["id"].as_str().unwrap().to_owned();
    let output = place.resume(&["--approve", &id]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(json(&output)["results"][0]["output"], json!({"n": 1}));
}

#[test]
fn killed_at_any_moment_a_call_has_its_effect_at_most_once() {
    let place = Place::new();
    let mut seen = std::collections::BTreeSet::new();
    for delay in (0..40).map(|step| Duration::from_millis(step * 2)) {
        let _ = fs::remove_dir_all(place.path("files"));
        fs::create_dir(place.path("files")).unwrap();
        let ids = place.suspended();
        let list = place.list();
        let engine = place.engine();
        let mut arguments =
            vec!["resume", list.as_str(), "--approve", ids[0].as_str(), "--approve", ids[2].as_str()];
        arguments.extend(engine.iter().map(String::as_str));
        let mut going = toolyard(&arguments).spawn().unwrap();
        sleep(delay); // the moment of the kill is what this test is about
        going.kill().unwrap();
        going.wait().unwrap();

        let output = place.resume(&[]);
        let answer = json(&output);
        let effects = place.effects();
        for n in [0, 4] {
            let outcome = outcomes(&answer)[n].to_owned();
            match outcome.as_str() {
                "suspended" => assert_eq!(effects[n], 0),
                "ok" => assert_eq!(effects[n], 1),
                "lost" => assert!(effects[n] <= 1),
                other => panic!("{other}"),
            }
            seen.insert(outcome);
        }
        let open: Vec<_> = answer["requests"].as_array().into_iter().flatten().collect();
        let mut answers = Vec::new();
        open.iter().for_each(|request| answers.extend(["--approve", request["id"].as_str().unwrap()]));
        let answer = json(&place.resume(&answers));
        assert!(answer["requests"].is_null() && outcomes(&answer).len() == 5);
        assert!(place.effects().iter().all(|times| *times <= 1), "{:?}", place.effects());
    }
    assert!(seen.contains("suspended"), "the first kills come before anything: {seen:?}");
}
