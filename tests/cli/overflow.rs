//! Results that are too large to be printed whole: found after the program has ended, and bounded.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json as value};

use super::{json, outcomes, toolyard};

const SETTINGS: &str = "[engine]\nmax_result_bytes = 300\n[permissions]\n[[permissions.rule]]\n\
                        action = \"calculator\"\nverdict = \"ask\"\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toolyard.toml"), SETTINGS).unwrap();
        fs::write(folder.path().join("large.txt"), "é".repeat(5_000)).unwrap();
        let items = (0..1_000).map(|n| value!({"n": n, "digits": 12_345_678_901_234_567_890_u64}));
        let list = value!({
            "calls": [
                {"name": "file_read", "arguments": {"path": "large.txt"}},
                {"name": "table", "arguments": {"rows": items.collect::<Vec<_>>()}},
                {"name": "calculator", "arguments": "6*7"},
            ],
            "tools": [{"name": "table", "parameters": {"type": "object"}}],
        });
        fs::write(folder.path().join("list.json"), list.to_string()).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = toolyard(arguments);
        command
            .current_dir(self.0.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(std::process::Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

const CALL: [&str; 5] = ["call", "list.json", "--stub", "--tools", "file_read,calculator"];

/// Where the whole of a result is.
fn full(answer: &Value, index: usize) -> PathBuf {
    let detail = &answer["results"][index]["detail"];
    assert_eq!(detail["truncated"], true, "{answer}");
    detail["full"].as_str().unwrap_or_else(|| panic!("{answer}")).into()
}

/// Makes a file as old as that.
fn age(file: &Path, days: u64) {
    let then = SystemTime::now().checked_sub(Duration::from_hours(days * 24)).unwrap();
    fs::File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
}

#[test]
fn what_is_too_large_is_whole_in_the_state_directory_when_the_program_has_ended() {
    let place = Place::new();
    let answer = json(&place.run(&CALL));
    let (text, table) = (full(&answer, 0), full(&answer, 1));
    assert_eq!(text.parent().unwrap(), place.path("state/toolyard/results"));
    assert_eq!(fs::read_to_string(text).unwrap(), "é".repeat(5_000));
    let whole: Value = serde_json::from_str(&fs::read_to_string(table).unwrap()).unwrap();
    assert_eq!(whole["rows"].as_array().unwrap().len(), 1_000);

    // What is printed of it is a table still, with its beginning and a word on the rest.
    let rows = answer["results"][1]["output"]["rows"].as_array().unwrap();
    assert_eq!(rows[0], whole["rows"][0]);
    assert!(rows.last().unwrap().as_str().unwrap().contains("of 1000 items are left out"), "{rows:?}");
    let printed = place.run(&[&CALL[..], &["--output", "openai"]].concat());
    let content = json(&printed)[1]["content"].as_str().unwrap().to_owned();
    assert!(
        serde_json::from_str::<Value>(&content).is_ok_and(|content| content["rows"].is_array()),
        "{content}"
    );
}

#[test]
fn a_list_that_goes_on_in_another_process_still_finds_it() {
    let place = Place::new();
    let folder = place.path("kept").display().to_string();
    let options = ["--overflow-dir", "kept", "--suspend", "record"];
    let answer = json(&place.run(&[&CALL[..], &options].concat()));
    assert_eq!(outcomes(&answer), ["ok", "ok", "suspended"]);
    let before = full(&answer, 1);
    assert!(before.starts_with(&folder), "{}", before.display());
    let id = answer["requests"][0]["id"].as_str().unwrap();
    let resume = ["resume", "record", "--approve", id, "--overflow-dir", "kept"];
    let answer = json(&place.run(&resume));
    assert_eq!(outcomes(&answer), ["ok"; 3]);
    assert_eq!(full(&answer, 1), before);
    assert!(before.exists() && full(&answer, 0).exists());
}

#[test]
fn the_next_start_removes_what_is_old_and_what_is_too_much() {
    let place = Place::new();
    let kept = |settings: &str, old: u64| {
        let answer = json(&place.run(&CALL));
        (0..2).for_each(|index| age(&full(&answer, index), old));
        fs::write(
            place.path("toolyard.toml"),
            SETTINGS.replace("[engine]", &format!("[engine]\n{settings}")),
        )
        .unwrap();
        assert!(place.run(&["tools"]).status.success());
        let left = [full(&answer, 0).exists(), full(&answer, 1).exists()];
        let _ = fs::remove_dir_all(place.path("state"));
        left
    };
    assert_eq!(kept("", 6), [true, true]);
    assert_eq!(kept("", 8), [false, false]);
    assert_eq!(kept("overflow_max_age_s = 3600", 1), [false, false]);
    assert_eq!(kept("overflow_max_bytes = 45_000", 1).iter().filter(|left| **left).count(), 1);
    assert_eq!(kept("overflow_dir = \"elsewhere\"", 8), [true, true], "another folder is swept");
}

#[test]
fn a_folder_that_cannot_be_used_is_named_before_anything_runs() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let output = place.run(&[&CALL[..], &["--overflow-dir", "file"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(error.starts_with("toolyard: --overflow-dir file: ") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_result_that_cannot_be_kept_is_cut_and_says_so() {
    let place = Place::new();
    fs::write(place.path("state"), "a file, where a folder should be").unwrap();
    let output = place.run(&CALL);
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["ok", "ok", "suspended"], "{output:?}");
    let detail = &answer["results"][0]["detail"];
    assert!(
        detail["full"].is_null() && detail["notes"][0].as_str().unwrap().contains("could not be kept"),
        "{detail}"
    );
}
