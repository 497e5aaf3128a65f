//! States of another shape than their tool's: refused, with nothing replaced.

use super::state::{Place, add};
use serde_json::json as value;

/// A state file with this state in the row of `tool`.
fn file(named: &str, tool: &str, agent: &str, state: &str) -> String {
    format!(
        "{{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[\"{named}\"]}}\n\
         {{\"tool\":\"{tool}\",\"agent\":{agent},\"state\":{state}}}\n{{\"rows\":1}}\n"
    )
}

/// What was seen to wipe a row, and its kind.
const ODD: [(&str, &str); 8] = [
    (r#"{"n":50}"#, "at n: unknown field `n`, expected `state` or `meta_state`"),
    (r#"{"State":{"n":50}}"#, "at State: unknown field `State`, expected `state` or `meta_state`"),
    ("[1]", "invalid type: sequence, expected struct PythonState"),
    ("{}", "missing field `state`"),
    ("null", "invalid type: null, expected struct PythonState"),
    ("\"x\"", "invalid type: string \"x\", expected struct PythonState"),
    (r#"{"state":{"n":50},"meta":1}"#, "at meta: unknown field `meta`, expected `state` or `meta_state`"),
    (r#"{"state":{"n":50},"state":null}"#, "duplicate key \"state\""),
];

#[test]
fn a_state_of_another_shape_is_refused_by_every_way_in() {
    let place = Place::new();
    place.call(&value!([add(1), {"name": "each"}]), &["--agent", "a"]);
    let before = place.read("store.json");
    place.write("calls.json", &value!([add(1)]).to_string());
    let load = ["state", "load", "odd.json", "--state", "store.json", "--python", "tools.py"];
    let call = ["call", "calls.json", "--state", "odd.json", "--python", "tools.py"];
    for (state, reason) in ODD {
        let odd = file("add", "add", "null", state);
        place.write("odd.json", &odd);
        for (command, file) in [(&load[..], "odd.json"), (&call[..], "--state odd.json")] {
            let output = place.run(command);
            let error = String::from_utf8(output.stderr).unwrap();
            let expected = format!("toolyard: {file}: line 2: tool \"add\": {reason}");
            assert!(output.status.code() == Some(2) && error.starts_with(&expected), "{error}{expected}");
            assert!(output.stdout.is_empty());
            assert_eq!((place.read("store.json"), place.read("odd.json")), (before.clone(), odd.clone()));
        }
    }
}

#[test]
fn a_row_says_whose_it_is_and_one_of_a_tool_that_is_not_named_is_refused() {
    let place = Place::new();
    let load = ["state", "load", "odd.json", "--state", "store.json", "--python", "tools.py"];
    let reason = |text: &str| {
        place.write("odd.json", text);
        let output = place.run(&load);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let agents = reason(&file("each", "each", "\"a\"", r#"{"n":1}"#));
    assert!(
        agents.contains("line 2: tool \"each\": the row of agent \"a\": at n: unknown field `n`"),
        "{agents}"
    );
    let unnamed = reason(&file("each", "add", "null", r#"{"state":{"n":1}}"#));
    assert!(
        unnamed.contains("line 2: it is a row of tool \"add\", which the first line does not"),
        "{unnamed}"
    );
}

#[test]
fn states_of_another_type_are_refused_and_files_without_types_are_loaded() {
    let place = Place::new();
    place.write("calls.json", &value!([add(1)]).to_string());
    let call = ["call", "calls.json", "--state", "store.json", "--python", "tools.py"];
    place.write("store.json", &file("add", "add", "null", r#"{"state":{"n":2}}"#));
    let output = place.run(&call);
    assert!(output.status.success(), "{output:?}");
    let saved = place.read("store.json");
    let types = r#""types":{"add":"python""#;
    assert!(saved.contains(types) && saved.contains(r#"{"state":{"n":3}"#), "{saved}");
    let other = saved.replace(types, r#""types":{"add":"counter""#);
    place.write("store.json", &other);
    let output = place.run(&call);
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "toolyard: --state store.json: line 1: tool \"add\": its states were saved with the type \
                    \"counter\", but the tool expects \"python\"";
    assert!(output.status.code() == Some(2) && error.starts_with(expected), "{error}");
    assert!(output.stdout.is_empty());
    assert_eq!(place.read("store.json"), other);
}
