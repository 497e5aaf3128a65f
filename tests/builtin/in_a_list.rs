//! The built-in tools where a model meets them: by their names and aliases, in one list.

use std::{fs, process::Command};

use serde_json::{Value, json};
use toolyard::{
    BatchKind, CustomTail, Engine, ExecuteOptions, Outcome, ToolSet,
    builtin::{BuiltinRegistry, file::FileRoot},
    formats::read_document,
};

fn engine(root: &std::path::Path) -> Engine {
    let registry = BuiltinRegistry::shipped(&FileRoot::open(root).unwrap());
    let tools = ToolSet::resolve(None, &[], &registry, CustomTail::Omit).set;
    let with_tools = Engine::builder().tools(tools);
    let builder = registry.aliases().fold(with_tools, |builder, (alias, name)| builder.alias(alias, name));
    builder.build().unwrap()
}

#[test]
fn every_call_of_a_mixed_list_gets_its_own_answer() {
    let folder = tempfile::tempdir().unwrap();
    let made =
        Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("this test needs `mkfifo`");
    assert!(made.success());
    fs::write(folder.path().join("log.txt"), "error: but only a log").unwrap();
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    // Call, outcome, and the output or how the error begins.
    let list = [
        (json!({"name": "calculator", "arguments": {"input": "4/2"}}), Outcome::Ok, json!("2.0")),
        (
            json!({"name": "calc", "arguments": "2**100"}),
            Outcome::Ok,
            json!("1267650600228229401496703205376"),
        ),
        (
            json!({"name": "calc", "arguments": "9**9**9"}),
            Outcome::Failed,
            json!("an integer would have more than"),
        ),
        (
            json!({"name": "calc", "arguments": {"input": deep}}),
            Outcome::Failed,
            json!("the expression has 20001 bytes"),
        ),
        (json!({"name": "calc", "arguments": {"input": 2}}), Outcome::BadArguments, Value::Null),
        (json!({"name": "calc", "arguments": {"expression": "2"}}), Outcome::BadArguments, Value::Null),
        (
            json!({"name": "file_read", "arguments": {"path": "pipe"}}),
            Outcome::Failed,
            json!("file \"pipe\": is a named pipe"),
        ),
        (json!({"name": "read_file", "arguments": "log.txt"}), Outcome::Ok, json!("error: but only a log")),
        (
            json!({"name": "write_file", "arguments": {"path": "out/a.txt", "content": "one"}}),
            Outcome::Ok,
            json!({"path": "out/a.txt", "bytes_written": 3, "total_bytes": 3, "appended": false}),
        ),
        (
            json!({"name": "file_write", "arguments": {"path": "out/a.txt", "content": "two", "append": true}}),
            Outcome::Ok,
            json!({"path": "out/a.txt", "bytes_written": 3, "total_bytes": 6, "appended": true}),
        ),
        (
            json!({"name": "file_write", "arguments": {"path": "out/a.txt"}}),
            Outcome::BadArguments,
            json!("file \"out/a.txt\": no content"),
        ),
        (
            json!({"name": "file_write", "arguments": {"path": "log.txt", "content": 7}}),
            Outcome::BadArguments,
            Value::Null,
        ),
        (json!({"name": "file_read", "arguments": {"path": "out/a.txt"}}), Outcome::Ok, json!("onetwo")),
        (
            json!({"name": "file_read", "arguments": {"path": "../a.txt"}}),
            Outcome::BadArguments,
            json!("file \"../a.txt\": leads outside"),
        ),
    ];
    let calls: Vec<&Value> = list.iter().map(|(call, ..)| call).collect();
    let document = read_document(json!(calls).to_string().as_bytes()).unwrap();
    let report = engine(folder.path()).execute_blocking(document.calls, ExecuteOptions::new()).unwrap();
    for ((call, outcome, expected), result) in list.iter().zip(&report.results) {
        assert_eq!(result.outcome, *outcome, "{call}: {result:?}");
        match &result.error {
            None => assert_eq!(result.output.as_ref().unwrap().to_value(), *expected, "{call}"),
            Some(error) => {
                assert!(error.starts_with(expected.as_str().unwrap_or_default()), "{call}: {error}");
            }
        }
        assert!(result.detail.is_none() || *outcome == Outcome::BadArguments, "{call}: {result:?}");
    }
    assert_eq!(report.results.len(), list.len());
    let kinds: Vec<BatchKind> = report.batches.iter().map(|batch| batch.kind).collect();
    assert_eq!(kinds, [BatchKind::Concurrent, BatchKind::Sequential, BatchKind::Concurrent]);
}
