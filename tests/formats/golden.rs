//! Fixed outputs: a change of one shows in review. `TOOLYARD_BLESS=1 cargo test golden` writes them anew.

use std::{fs, path::PathBuf};

use serde::Serialize;
use toolyard::{
    ToolSpec,
    contract::names::NameTable,
    formats::{read_document, schema},
};

use super::rules;

#[test]
fn hard_schemas_have_these_forms_for_each_provider() {
    let tools = tools();
    let names = NameTable::new(tools.iter().map(|tool| tool.name.as_str()));
    let exposed = |tool: &ToolSpec| names.exposed(&tool.name).expect("every tool is in the table").to_owned();
    golden(
        "openai.json",
        &tools.iter().map(|tool| schema::openai::tool(tool, &exposed(tool))).collect::<Vec<_>>(),
    );
    golden(
        "anthropic.json",
        &tools.iter().map(|tool| schema::anthropic::tool(tool, &exposed(tool))).collect::<Vec<_>>(),
    );
    golden(
        "gemini.json",
        &tools.iter().map(|tool| schema::gemini::function(tool, &exposed(tool))).collect::<Vec<_>>(),
    );
    golden("mcp.json", &tools.iter().map(|tool| schema::mcp::tool(tool, &exposed(tool))).collect::<Vec<_>>());
}

#[test]
fn hard_schemas_pass_the_rules_of_each_provider() {
    for tool in tools() {
        rules::check_all(&tool, "t");
    }
}

#[test]
fn a_schema_without_a_strict_form_says_why() {
    let reasons: Vec<(String, Option<String>)> =
        tools().iter().map(|tool| (tool.name.clone(), schema::openai::tool(tool, "t").not_strict)).collect();
    golden("not_strict.json", &reasons);
}

fn tools() -> Vec<ToolSpec> {
    let text = fs::read_to_string(file("tools.json")).expect("the tools are there");
    let document = format!("{{\"calls\": [], \"tools\": {text}}}");
    read_document(document.as_bytes()).expect("a document").tools
}

/// Compares with the golden file of this name.
pub(super) fn golden(name: &str, value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("it is written as JSON") + "\n";
    if std::env::var_os("TOOLYARD_BLESS").is_some() {
        fs::write(file(name), &text).expect("the golden file can be written");
    }
    let expected = fs::read_to_string(file(name)).expect("the golden file is there");
    compare(&text, &expected, name);
}

fn compare(text: &str, expected: &str, name: &str) {
    if let Some((n, (is, was))) =
        text.lines().zip(expected.lines()).enumerate().find(|(_, (is, was))| is != was)
    {
        panic!("{name}, line {}:\n is  {is}\n was {was}", n + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "{name} has another length");
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats/golden").join(name)
}
