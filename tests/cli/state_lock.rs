//! One store, many processes.

use std::{
    io::{BufRead, BufReader, Write},
    process::Child,
};

use serde_json::{Value, json as value};

use super::{
    state::{Place, add},
    toolyard,
};

/// A process that keeps the store until its input ends. It has the store when this returns.
fn holder(place: &Place) -> Child {
    let arguments = ["call", "--jsonl", "-", "--python", "tools.py", "--state", "store.json"];
    let mut holder = toolyard(&arguments).current_dir(place.path()).spawn().unwrap();
    writeln!(holder.stdin.as_mut().unwrap(), "{}", value!([add(1)])).unwrap();
    let mut answer = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("\"ok\""), "{answer}");
    holder
}

#[test]
fn processes_at_once_lose_no_update_and_no_row() {
    const PROCESSES: usize = 8;
    let place = Place::new();
    place.write("add.json", &value!([add(1)]).to_string());
    place.write("each.json", &value!([{"name": "each"}]).to_string());
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let place = &place;
            scope.spawn(move || {
                let list = if process % 2 == 0 { "add.json" } else { "each.json" };
                let agent = format!("agent-{process}");
                let output = place.run(&[
                    "call",
                    list,
                    "--python",
                    "tools.py",
                    "--state",
                    "store.json",
                    "--state-wait",
                    "300",
                    "--agent",
                    &agent,
                ]);
                assert_eq!(output.status.code(), Some(0), "{output:?}");
            });
        }
    });
    let store = place.read("store.json");
    let rows: Vec<Value> = store.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |tool: &str| rows.iter().filter(|row| row["tool"] == tool).collect::<Vec<_>>();
    assert_eq!(of("add")[0]["state"]["state"]["n"], PROCESSES / 2, "{store}");
    assert_eq!(of("each").len(), PROCESSES / 2, "{store}");
}

#[test]
fn a_store_in_use_is_refused_with_who_has_it_and_free_when_that_has_ended() {
    let place = Place::new();
    place.write("list.json", &value!([add(1)]).to_string());
    let call = |store: &str| {
        place.run(&["call", "list.json", "--python", "tools.py", "--state", store, "--state-wait", "0"])
    };
    std::os::unix::fs::symlink("store.json", place.path().join("link.json")).unwrap();
    let mut first = holder(&place);
    for store in ["store.json", "link.json", "./store.json"] {
        let output = call(store);
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("toolyard: --state {store}: process {} (toolyard) has it locked", first.id());
        assert!(error.starts_with(&expected) && error.lines().count() == 1, "{error}");
        assert!(error.contains("wait for its end") && output.status.code() == Some(2), "{error}");
        assert!(output.stdout.is_empty());
    }
    drop(first.stdin.take());
    first.wait().unwrap();
    assert_eq!(call("link.json").status.code(), Some(0));
    assert!(place.path().join("link.json").is_symlink() && place.read("store.json").contains("\"n\":2"));

    let mut killed = holder(&place);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(call("store.json").status.code(), Some(0), "nobody has it any more");
}
