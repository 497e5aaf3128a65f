use std::{collections::VecDeque, fs, path::PathBuf, process::Command};

use parking_lot::Mutex;
use serde_json::Value;
use toolyard::{Engine, PythonFile};

use super::{call, config, run_all};
use crate::venv;

fn tools_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/python/bfcl_tools.py")
}

/// Runs the turns of a task one after another on an engine and compares every result and the state at the end.
fn check(line: &str) {
    let task: Value = serde_json::from_str(line).unwrap();
    let id = &task["id"];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let task_file = folder.path().join("task.json");
    // As it came: some results follow the order of its keys.
    fs::write(&task_file, line).expect("a new file");
    let mut config = config(|config| config.interpreter = venv::python("bfcl"));
    config.env.push(("BFCL_TASK".into(), task_file.into()));
    let engine = Engine::builder().python(config).python_file(PythonFile::new(tools_file())).build().unwrap();
    assert_eq!(engine.python_report().problems, Vec::<String>::new(), "{id}");

    let turns = task["turns"].as_array().unwrap().iter().zip(task["expected"].as_array().unwrap());
    for (turn, expected) in turns {
        let calls = turn.as_array().unwrap().iter();
        let calls = calls.map(|one| call(one["name"].as_str().unwrap(), one["arguments"].clone())).collect();
        let report = run_all(&engine, calls);
        for (result, expected) in report.results.iter().zip(expected.as_array().unwrap()) {
            assert!(result.is_ok(), "{id}: {result:?}");
            let output = result.output.as_ref().map_or(Value::Null, toolyard::Output::to_value);
            assert_eq!(&output, expected, "{id}: {}", result.tool);
        }
    }
    assert_eq!(super::output(&engine, "task_state", serde_json::json!({})), task["state"], "{id}");
}

#[test]
fn stateful_tasks_of_a_public_benchmark_run_as_the_classes_themselves_do() {
    let made = Command::new(venv::python("bfcl")).arg(tools_file()).arg("1").output();
    let made = made.expect("python runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let lines = String::from_utf8(made.stdout).expect("text");
    let tasks: VecDeque<&str> = lines.lines().collect();
    assert!(tasks.len() > 90, "only {} tasks", tasks.len());
    let tasks = Mutex::new(tasks);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = tasks.lock().pop_front();
                    let Some(task) = next else { return };
                    check(task);
                }
            });
        }
    });
}
