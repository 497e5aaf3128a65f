//! `--events`.

use serde_json::{Value, json};

use crate::cli::{json as answer, run};

#[test]
fn the_program_writes_what_happened_as_lines_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.jsonl");
    let list = json!([
        {"name": "calculator", "arguments": "6*7", "id": "a"},
        {"name": "file_read", "arguments": {"path": "no/such/file"}, "id": "b"},
    ]);
    let output = run(&["call", "--events", file.to_str().unwrap()], &list.to_string());
    let results = &answer(&output)["results"];
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["v"] == 1));
    assert!(lines.is_sorted_by_key(|line| line["at_ns"].as_u64()));
    for result in results.as_array().unwrap() {
        let ends: Vec<_> = lines
            .iter()
            .filter(|line| line["event"] == "finished" && line["call"]["id"] == result["id"])
            .collect();
        assert_eq!(ends.len(), 1);
        for key in ["outcome", "error"] {
            assert_eq!(ends[0][key], result[key]);
        }
        assert_eq!(ends[0]["elapsed_ns"].as_u64().unwrap() / 1_000, result["elapsed_us"].as_u64().unwrap());
    }
    assert!(!text.contains("6*7") && !text.contains("42"), "neither arguments nor outputs are on record");
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anything_runs() {
    let output = run(&["call", "--events", "no/such/folder/events.jsonl"], "[]");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("--events no/such/folder/events.jsonl"), "{text}");
}
