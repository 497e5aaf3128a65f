//! The tools and calls of a public benchmark (see `tests/data/make_bfcl.py`).

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use toolyard::{
    ToolSpec,
    contract::names::NameTable,
    formats::{Document, read_document},
};

use super::rules;
use crate::venv;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn every_document_of_the_benchmark_is_read() {
    let documents = documents();
    let calls: usize = documents.iter().map(|document| document.calls.len()).sum();
    assert_eq!((documents.len(), calls), (265, 765));
    assert!(documents.iter().flat_map(|document| &document.calls).all(Result::is_ok));
}

#[test]
fn every_tool_of_the_benchmark_has_a_form_that_each_provider_takes() {
    let tools: Vec<ToolSpec> = documents().into_iter().flat_map(|document| document.tools).collect();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), 394);
    let table = NameTable::new(names.iter().copied());
    for tool in &tools {
        let exposed = table.exposed(&tool.name).expect("every tool is in the table");
        assert_eq!(table.raw(exposed), Some(tool.name.as_str()));
        rules::check_all(tool, exposed);
    }
}

/// The documents, one per line.
pub(crate) fn lines() -> Vec<u8> {
    let made = Command::new(venv::python("bfcl"))
        .arg(PathBuf::from(ROOT).join("tests/data/make_bfcl.py"))
        .output()
        .expect("python runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout.trim_ascii().to_vec()
}

fn documents() -> Vec<Document> {
    lines().split(|byte| *byte == b'\n').map(|line| read_document(line).expect("a document")).collect()
}
