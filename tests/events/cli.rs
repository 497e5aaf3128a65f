//! `--events` and `--timeline`.

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
    for option in ["--events", "--timeline"] {
        for file in ["no/such/folder/file", "src"] {
            let output = run(&["call", option, file], "[]");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.contains(&format!("{option} {file}")), "{text}");
        }
    }
}

#[test]
fn a_list_that_goes_on_is_recorded_too_and_its_timeline_replaces_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (config, kept, page, events) =
        (path("toolyard.toml"), path("kept"), path("page.html"), path("events"));
    std::fs::write(
        &config,
        "[[permissions.rule]]\nverdict = \"ask\"\naction = \"calculator\"\nresource = \"*\"\n",
    )
    .unwrap();
    let list = r#"[{"name": "calculator", "arguments": "6*7", "id": "the-call"}]"#;
    let output = run(&["call", "--config", &config, "--suspend", &kept, "--timeline", &page], list);
    let request = answer(&output)["requests"][0]["id"].as_str().unwrap().to_owned();
    let before = std::fs::read_to_string(&page).unwrap();
    assert!(before.contains("waits for approval") && before.contains("the-call"), "{before}");
    let options = ["--config", &config, "--timeline", &page, "--events", &events, "--approve", &request];
    let output = run(&[&["resume", &kept], &options[..]].concat(), "");
    assert_eq!(answer(&output)["results"][0]["outcome"], "ok", "{output:?}");
    let after = std::fs::read_to_string(&page).unwrap();
    assert!(after.contains("the-call") && !after.contains("waits for approval"), "{after}");
    assert!(std::fs::read_to_string(&events).unwrap().contains(r#""outcome":"ok""#));
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "nothing is left beside them: {left:?}");
}
