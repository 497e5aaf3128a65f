//! The forms on the command line.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::{golden::golden, rules};

/// Four calls, each in all five shapes: one works, one fails, one names no tool and has a blank id, one has no id.
const LISTS: [&str; 5] = [
    r#"[{"name": "calculator", "arguments": {"input": "2+2"}, "id": "c1"},
        {"name": "calculator", "arguments": {"input": "1/0"}, "id": "c2"},
        {"name": "Nothing.Here", "arguments": {}, "id": ""}, {"name": "calculator", "arguments": {"input": "3*3"}}]"#,
    r#"[{"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": "{\"input\": \"2+2\"}"}},
        {"id": "c2", "type": "function", "function": {"name": "calculator", "arguments": "{\"input\": \"1/0\"}"}},
        {"id": "", "type": "function", "function": {"name": "Nothing.Here", "arguments": ""}},
        {"id": null, "type": "function", "function": {"name": "calculator", "arguments": "{\"input\": \"3*3\"}"}}]"#,
    r#"[{"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "calculator", "arguments": "{\"input\": \"2+2\"}"},
        {"type": "function_call", "call_id": "c2", "name": "calculator", "arguments": "{\"input\": \"1/0\"}"},
        {"type": "function_call", "call_id": "", "name": "Nothing.Here", "arguments": "{}"},
        {"type": "function_call", "name": "calculator", "arguments": "{\"input\": \"3*3\"}"}]"#,
    r#"[{"type": "tool_use", "id": "c1", "name": "calculator", "input": {"input": "2+2"}},
        {"type": "tool_use", "id": "c2", "name": "calculator", "input": {"input": "1/0"}},
        {"type": "tool_use", "id": "", "name": "Nothing.Here", "input": {}},
        {"type": "tool_use", "name": "calculator", "input": {"input": "3*3"}}]"#,
    r#"[{"functionCall": {"id": "c1", "name": "calculator", "args": {"input": "2+2"}}},
        {"functionCall": {"id": "c2", "name": "calculator", "args": {"input": "1/0"}}},
        {"functionCall": {"id": "", "name": "Nothing.Here"}},
        {"functionCall": {"name": "calculator", "args": {"input": "3*3"}}}]"#,
];

#[test]
fn one_list_gives_the_same_results_in_every_shape() {
    let [first, others @ ..] = LISTS.map(|list| without_times(call(list, "native")));
    golden("answer_native.json", &first);
    for other in others {
        assert_eq!(other, first);
    }
}

#[test]
fn each_output_is_answered_in_the_form_of_its_provider() {
    for form in ["openai", "responses", "anthropic", "gemini"] {
        let answers = LISTS.map(|list| call(list, form));
        golden(&format!("answer_{form}.json"), &answers[0]);
        for answer in &answers {
            assert_eq!(answer, &answers[0], "{form}");
            rules::answers(form, answer, &["c1", "c2", "call_2", "call_3"]);
        }
    }
}

#[test]
fn the_tools_that_are_there_have_a_form_that_each_provider_takes() {
    let each = |form: &str, check: fn(&Value) -> Result<(), String>| {
        let tools = tools(form);
        let list = if form == "gemini" { &tools[0]["functionDeclarations"] } else { &tools };
        let list = list.as_array().unwrap_or_else(|| panic!("{form}: a list"));
        assert!(list.len() >= 3, "{form}: {tools}");
        for tool in list {
            assert_eq!(check(tool), Ok(()), "{form}: {tool}");
        }
    };
    each("openai", rules::openai);
    each("anthropic", rules::anthropic);
    each("gemini", rules::gemini);
    each("mcp", rules::mcp);
}

#[test]
fn the_names_are_listed_with_what_providers_see() {
    let names = tools("names");
    assert!(
        names.as_array().unwrap().contains(&json!({"name": "calculator", "exposed": "calculator"})),
        "{names}"
    );
}

fn call(list: &str, form: &str) -> Value {
    let ran = run(&["call", "--tools", "calculator", "--output", form], list);
    assert_eq!(ran.status.code(), Some(1), "some calls fail: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("standard output is JSON")
}

fn tools(form: &str) -> Value {
    let ran = run(&["tools", "--format", form], "");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("standard output is JSON")
}

fn without_times(mut answer: Value) -> Value {
    answer["elapsed_us"] = json!(0);
    for result in answer["results"].as_array_mut().expect("results") {
        result["elapsed_us"] = json!(0);
    }
    answer
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolyard"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the program reads");
    child.wait_with_output().expect("the program ends")
}
