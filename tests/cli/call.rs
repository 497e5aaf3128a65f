//! `toolyard call`: exit status, documents, options.

use serde_json::{Value, json};

use super::{json, lines, outcomes, run};

/// The one line of an error, and the exit status.
fn refusal(arguments: &[&str], input: &str) -> (String, i32) {
    let output = run(arguments, input);
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (text.trim_end().to_owned(), output.status.code().unwrap())
}

#[test]
fn the_example_of_the_readme_has_one_ok_result_per_call() {
    let output = run(&["call", "examples/calls.json"], "");
    assert_eq!(output.status.code(), Some(0));
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["ok"; 5]);
    let ids: Vec<_> = answer["results"].as_array().unwrap().iter().map(|result| &result["id"]).collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c4", "c5"]);
    let kinds: Vec<_> = answer["batches"].as_array().unwrap().iter().map(|batch| &batch["kind"]).collect();
    assert_eq!(kinds, ["concurrent", "sequential", "concurrent"]);
}

#[test]
fn every_result_has_the_keys_of_the_contract_in_order() {
    let output = run(
        &["call", "--jsonl"],
        r#"{"id": "doc-1", "calls": [{"name": "calculator", "arguments": "2+2"}]}"#,
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let start = r#"{"id":"doc-1","results":[{"index":0,"id":null,"tool":"calculator","ok":true,"outcome":"ok","output":"4","error":null,"elapsed_us":"#;
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains(r#"}],"batches":[{"kind":"concurrent","calls":[0]}],"elapsed_us":"#), "{text}");
}

#[test]
fn a_call_that_is_not_ok_makes_the_exit_status_1() {
    let list = json!([
        {"name": "calculator", "arguments": {"input": "1/0"}, "id": 7},
        {"name": "calculater", "arguments": {}},
        {"name": "calculator", "arguments": "{\"input\": \"2"},
        "not a call",
        {"name": "calculator", "arguments": "2**70", "id": ""},
    ]);
    let output = run(&["call"], &list.to_string());
    assert_eq!(output.status.code(), Some(1));
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["failed", "unknown_tool", "bad_arguments", "bad_arguments", "ok"]);
    assert_eq!(answer["results"][0]["id"], 7);
    assert_eq!(answer["results"][4]["output"], "1180591620717411303424");
    assert!(answer["results"][1]["error"].as_str().unwrap().contains("calculator"));
}

#[test]
fn an_empty_list_is_a_list() {
    let output = run(&["call"], "[]");
    assert_eq!((output.status.code(), &json(&output)["results"]), (Some(0), &json!([])));
}

#[test]
fn what_cannot_be_used_is_named_in_one_line_with_exit_status_2() {
    for (arguments, input, named) in [
        (vec!["call"], "[{\"name\": ]", "standard input: line 1, column"),
        (vec!["call"], "[\n{\"name\": \"x\"},\n]", "line 3, column"),
        (vec!["call", "no/such/file.json"], "", "no/such/file.json"),
        (vec!["call", "--tools", "calculater"], "[]", "calculator"),
        (vec!["call", "--root", "no/such/folder"], "[]", "no/such/folder"),
        (vec!["call", "--timeout", "0"], "[]", "--timeout"),
        (vec!["call", "--timeout", "soon"], "[]", "--timeout"),
        (vec!["call", "--no-such-option"], "[]", "--no-such-option"),
        (vec!["call", "--unordered"], "[]", "--jsonl"),
        (vec!["walk"], "", "walk"),
        (vec!["call"], "7", "standard input"),
    ] {
        let (text, status) = refusal(&arguments, input);
        assert_eq!(status, 2, "{arguments:?}: {text}");
        assert!(text.contains(named), "{arguments:?}: {text}");
    }
}

#[test]
fn a_line_that_is_no_document_is_answered_and_the_rest_goes_on() {
    let input = "[]\n\n{\"calls\": [{\"name\": \"calc\", \"arguments\": \"1+1\"}]}\n{broken\n[]\n";
    let output = run(&["call", "--jsonl"], input);
    assert_eq!(output.status.code(), Some(1));
    let answers = lines(&output);
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[1]["results"][0]["output"], "2");
    assert_eq!(answers[2]["line"], 4);
    assert!(answers[2]["error"].as_str().unwrap().contains("line 1, column"), "{}", answers[2]);
}

#[test]
fn unordered_documents_are_all_answered_each_under_its_id() {
    let document = |id: usize| {
        json!({"id": id, "calls": [{"name": "calc", "arguments": format!("{id}*2")}]}).to_string()
    };
    let input: Vec<String> = (0..200).map(document).collect();
    let output = run(&["call", "--jsonl", "--unordered", "--max-in-flight", "8"], &input.join("\n"));
    assert_eq!(output.status.code(), Some(0));
    let mut answers: Vec<(u64, Value)> = lines(&output)
        .iter()
        .map(|a| (a["id"].as_u64().unwrap(), a["results"][0]["output"].clone()))
        .collect();
    answers.sort_by_key(|(id, _)| *id);
    let expected: Vec<_> = (0..200).map(|id| (id, Value::String((id * 2).to_string()))).collect();
    assert_eq!(answers, expected);
}

#[test]
fn declared_tools_without_an_implementation_are_stubs_only_when_asked_for() {
    let document = json!({
        "tools": [
            {"type": "function", "function": {"name": "math.power", "parameters": {
                "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}},
            {"name": "calculator", "inputSchema": {"type": "object", "required": ["nothing"]}},
        ],
        "calls": [
            {"name": "math.power", "arguments": {"n": 123_456_789_012_345_678_u64}},
            {"name": "math.power", "arguments": {"n": "x"}},
            {"name": "calculator", "arguments": {"input": "5"}},
        ],
    })
    .to_string();
    let stubbed = json(&run(&["call", "--stub"], &document));
    assert_eq!(outcomes(&stubbed), ["ok", "bad_arguments", "ok"]);
    assert_eq!(stubbed["results"][0]["output"], json!({"n": 123_456_789_012_345_678_u64}));
    assert_eq!(stubbed["results"][2]["output"], "5", "an implementation's own schema wins");
    let plain = json(&run(&["call"], &document));
    assert_eq!(outcomes(&plain), ["unknown_tool", "unknown_tool", "ok"]);
}

#[test]
fn a_tool_that_is_declared_twice_differently_is_named() {
    let document = r#"{"tools": [{"name": "a", "parameters": {}}, {"name": "A", "parameters": {"type": "object"}}], "calls": []}"#;
    let (text, status) = refusal(&["call", "--stub"], document);
    assert_eq!(status, 2);
    assert!(text.contains("tools, item 1: \"A\" is declared twice"), "{text}");
}

#[test]
fn file_tools_stay_inside_the_root_and_only_named_tools_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let list = json!([
        {"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}},
        {"name": "read_file", "arguments": "a.txt"},
        {"name": "read_file", "arguments": {"path": "../../etc/passwd"}},
    ])
    .to_string();
    let answer = json(&run(&["call", "--root", root], &list));
    assert_eq!(outcomes(&answer)[..2], ["ok", "ok"]);
    assert_ne!(outcomes(&answer)[2], "ok");
    let answer = json(&run(&["call", "--root", root, "--tools", "read_file,calc"], &list));
    assert_eq!(outcomes(&answer)[..2], ["inactive", "ok"]);
}

#[test]
fn a_list_can_stop_at_its_first_failure() {
    let list = json!([
        {"name": "file_read", "arguments": {"path": "no/such/file"}},
        {"name": "file_write", "arguments": {"path": "never.txt", "content": "x"}},
    ])
    .to_string();
    let output = run(&["call", "--stop-on-failure"], &list);
    let answer = json(&output);
    assert_eq!(outcomes(&answer), ["failed", "skipped"], "{answer}");
    assert_eq!(output.status.code(), Some(1));
}
