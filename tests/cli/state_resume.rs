//! `resume` with tools that keep state: on the state of the list, or not at all.

use std::{fs, process::Output};

use serde_json::{Value, json as value};

use super::{
    json, outcomes,
    state::{Place, add},
};

const RULES: &str = r#"
[permissions]
[[permissions.rule]]
action = "add"
resource = "*5*"
verdict = "ask"
"#;

/// A place where adding 5 must be approved.
fn place() -> Place {
    let place = Place::new();
    place.write("toolyard.toml", RULES);
    place
}

/// Runs calls, of which one waits, and gives the id of its request.
fn suspended(place: &Place, calls: &Value, options: &[&str]) -> (String, Output) {
    place.write("list.json", &calls.to_string());
    let base = ["call", "list.json", "--python", "tools.py", "--suspend", "record.json"];
    let output = place.run(&[&base, options].concat());
    let answer = json(&output);
    (answer["requests"][0]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned(), output)
}

fn resume(place: &Place, options: &[&str]) -> Output {
    place.run(&[&["resume", "record.json", "--python", "tools.py"], options].concat())
}

/// Says why nothing ran, after a look at the record, which must be as it was.
fn refused(place: &Place, options: &[&str]) -> String {
    let before = place.read("record.json");
    let output = resume(place, options);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
    assert_eq!(place.read("record.json"), before);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn a_call_goes_on_with_the_state_of_its_list_and_what_it_commits_is_kept() {
    let place = place();
    let (id, _) = suspended(&place, &value!([add(2), add(5), add(5)]), &["--state", "store.json"]);
    let output = resume(&place, &["--approve", &id]);
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["ok", "ok", "suspended"]);
    assert_eq!(answer["results"][1]["output"], 7);
    assert!(place.read("store.json").contains("\"n\":7"));

    assert_eq!(place.call(&value!([add(1)]), &[]), [8], "another run in between");
    let id = answer["requests"][0]["id"].as_str().unwrap();
    assert_eq!(json(&resume(&place, &["--approve", id]))["results"][2]["output"], 13);
    assert!(place.read("store.json").contains("\"n\":13"));
}

#[test]
fn a_store_that_is_missing_another_one_or_older_is_refused_before_anything_runs() {
    let place = place();
    place.call(&value!([add(1)]), &[]);
    let file = |name: &str| place.path().join(name);
    fs::copy(file("store.json"), file("older.json")).unwrap();
    let (id, _) = suspended(&place, &value!([add(2), add(5)]), &["--state", "store.json"]);
    let approve = ["--approve", id.as_str()];
    fs::rename(file("store.json"), file("moved.json")).unwrap();

    let error = refused(&place, &approve);
    assert!(error.contains("store.json: there is no such file; where it has moved, say --state"), "{error}");
    let error = refused(&place, &["--approve", &id, "--state", "older.json"]);
    assert!(error.contains("save 1 of the state") && error.contains("before the list was"), "{error}");
    place.call(&value!([add(1)]), &[]);
    let error = refused(&place, &approve);
    assert!(error.contains("the list was suspended with the state"), "{error}");
    assert!(place.read("store.json").contains("\"n\":1}"), "it was left alone");

    let answer = json(&resume(&place, &["--approve", &id, "--state", "moved.json"]));
    assert_eq!(answer["results"][1]["output"], 8);
    assert!(place.read("moved.json").contains("\"n\":8"));
}

#[test]
fn a_state_that_ended_with_its_run_is_not_taken_for_an_empty_one() {
    let place = place();
    let (id, output) = suspended(&place, &value!([add(2), add(5)]), &[]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("call 1 waits, but the state of \"add\" ends with this run"), "{warning}");
    assert!(refused(&place, &["--approve", &id]).contains("cannot go on with the state that is here"));
    place.write("other.json", "{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[]}\n{\"rows\":0}\n");
    let error = refused(&place, &["--approve", &id, "--state", "other.json"]);
    assert!(error.contains("cannot go on with the state that is here"), "{error}");

    let answer = json(&resume(&place, &[]));
    assert_eq!(answer["requests"][0]["id"], id.as_str(), "it still waits for its state");
    assert_eq!(outcomes(&json(&resume(&place, &["--deny", &id]))), ["ok", "denied"]);
}

#[test]
fn a_call_whose_row_was_new_goes_on_without_a_store_or_begins_one() {
    let place = place();
    let (id, output) = suspended(&place, &value!([add(5)]), &[]);
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(json(&resume(&place, &["--approve", &id]))["results"][0]["output"], 5);

    let (id, _) = suspended(&place, &value!([add(5)]), &[]);
    resume(&place, &["--approve", &id, "--state", "new.json"]);
    assert!(place.read("new.json").contains("\"n\":5"));
}
