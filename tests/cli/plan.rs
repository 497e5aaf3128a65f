//! `toolyard plan`: what would happen, and why.

use serde_json::json;

use super::{json, lines, run};

#[test]
fn the_example_shows_both_kinds_of_batch_with_reasons() {
    let output = run(&["plan", "examples/calls.json"], "");
    assert_eq!(output.status.code(), Some(0));
    let plan = json(&output);
    assert_eq!(
        plan["batches"],
        json!([
            {"kind": "concurrent", "calls": [0, 1]},
            {"kind": "sequential", "calls": [2]},
            {"kind": "concurrent", "calls": [3, 4]},
        ])
    );
    assert_eq!(
        plan["decisions"][2],
        json!({"index": 2, "tool": "file_write", "allowed": false, "category": "stateful_tool",
               "reason": "the tool is not declared parallel-safe", "effects": ["filesystem"]})
    );
    assert_eq!(plan["problems"], json!([]));
}

#[test]
fn problems_are_listed_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let list = json!([
        {"name": "file_write", "arguments": {"path": "a.txt", "content": "x"}},
        {"name": "nothing", "arguments": {}},
        17,
    ])
    .to_string();
    let output = run(&["plan", "--jsonl", "--root", root], &list);
    assert_eq!(output.status.code(), Some(1));
    let plan = &lines(&output)[0];
    let problems: Vec<_> =
        plan["problems"].as_array().unwrap().iter().map(|p| (&p["index"], &p["outcome"])).collect();
    assert_eq!(problems, [(&json!(1), &json!("unknown_tool")), (&json!(2), &json!("bad_arguments"))]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
