//! Schemas with numbers beyond 64 bits: declared, of MCP servers and of Python functions; checked, listed and bound to
//! approvals digit by digit.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard::ExactValue;

use crate::cli::{json, outcomes, run};

/// One tool `t`, whose schema is in a file beside it; it answers with what the file `answer` says.
const SERVER: &str = r#"
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
read = lambda name: open(os.path.join(here, name)).read()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, kind, result = message["method"], "result", "{}"
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        result = json.dumps({"protocolVersion": version, "capabilities": {"tools": {}},
                             "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        result = '{"tools": [' + read("tool.json") + "]}"
    elif method == "tools/call":
        result = read("answer.json")
    else:
        kind, result = "error", '{"code": -32601, "message": "no such method"}'
    sys.stdout.write('{"jsonrpc": "2.0", "id": %s, "%s": %s}\n' % (json.dumps(message["id"]), kind, result))
    sys.stdout.flush()
"#;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    /// The options for a server whose tool has these schemas.
    fn server(&self, input: &str, output: &str, answer: &str) -> [String; 2] {
        let script = self.write("server.py", SERVER);
        let text = format!(r#"{{"name": "t", "inputSchema": {input}, "outputSchema": {output}}}"#);
        self.write("tool.json", &text);
        let answer = format!(r#"{{"content": [], "structuredContent": {answer}}}"#);
        self.write("answer.json", &answer);
        let servers = json!({"mcpServers": {"s": {"command": "python3", "args": [script]}}});
        ["--mcp-config".to_owned(), self.write("servers.json", &servers.to_string())]
    }
}

fn answer(options: &[&str], list: &str) -> Value {
    let output = run(&[&["call"], options].concat(), list);
    let text = String::from_utf8(output.stdout).unwrap();
    ExactValue::read(&text).unwrap_or_else(|error| panic!("{error}: {text}")).into_value()
}

/// 10^30, with what is added to it.
fn ten(more: u8) -> String {
    format!("1{}{more}", "0".repeat(29))
}

/// Keywords for a list in `n`, and for each what fits it and what differs by one digit.
fn cases() -> Vec<(String, Vec<String>, Vec<String>)> {
    let (bound, above) = (ten(0), ten(1));
    let huge = "7".repeat(400);
    let each = |keyword: String| format!("{{\"type\":\"array\",\"items\":{{{keyword}}}}}");
    let of = |values: &[&str]| values.iter().map(|value| format!("[{value}]")).collect::<Vec<_>>();
    let other = format!("{}8", &huge[1..]);
    vec![
        (each(format!("\"maximum\":{bound}")), of(&[&bound, "1e30", "1.0e30", "5"]), of(&[&above, &huge])),
        (each(format!("\"exclusiveMinimum\":{bound}")), of(&[&above, &huge]), of(&[&bound, "1e30", "5"])),
        (each(format!("\"const\":{above}")), of(&[&above]), of(&[&bound, "1e30", "5"])),
        (each(format!("\"enum\":[{above},{huge}]")), of(&[&above, &huge]), of(&[&bound, &other])),
        (each(format!("\"multipleOf\":{above}")), of(&[&above, "0"]), of(&[&bound, "3e30", &huge])),
        (each("\"multipleOf\":7".to_owned()), of(&[&huge]), of(&[&bound, &other])),
        (
            "{\"type\":\"array\",\"uniqueItems\":true}".to_owned(),
            of(&[&format!("{bound},{above}"), &format!("{huge},{other}")]),
            of(&[&format!("{bound},1e30"), &format!("{huge},5,{huge}")]),
        ),
    ]
}

fn calls(name: &str, lists: &[String]) -> String {
    let call = |list: &String| format!("{{\"name\":\"{name}\",\"arguments\":{{\"n\":{list}}}}}");
    lists.iter().map(call).collect::<Vec<_>>().join(",")
}

fn object(property: &str) -> String {
    format!("{{\"type\":\"object\",\"properties\":{{\"n\":{property}}}}}")
}

fn assert_fits(answer: &Value, good: &[String], bad: &[String], what: &str) {
    let expected: Vec<&str> = good.iter().map(|_| "ok").chain(bad.iter().map(|_| "bad_arguments")).collect();
    assert_eq!(outcomes(answer), expected, "{what}: {answer}");
}

#[test]
fn declared_tools_check_every_digit() {
    for (property, good, bad) in cases() {
        for key in ["parameters", "inputSchema", "input_schema"] {
            let tool = format!("{{\"name\":\"t\",\"{key}\":{}}}", object(&property));
            let tool = if key == "parameters" {
                format!("{{\"type\":\"function\",\"function\":{tool}}}")
            } else {
                tool
            };
            let calls = calls("t", &[&good[..], &bad[..]].concat());
            let list = format!("{{\"tools\":[{tool}],\"calls\":[{calls}]}}");
            assert_fits(&answer(&["--stub"], &list), &good, &bad, &property);
        }
    }
}

#[test]
fn tools_of_servers_check_every_digit() {
    for (property, good, bad) in cases() {
        let place = Place::new();
        let server = place.server(&object(&property), "{\"type\":\"object\"}", "{}");
        let list = format!("[{}]", calls("s_t", &[&good[..], &bad[..]].concat()));
        assert_fits(&answer(&[&server[0], &server[1]], &list), &good, &bad, &property);
    }
}

#[test]
fn python_functions_check_every_digit_and_show_defaults() {
    let place = Place::new();
    let (bound, above) = (ten(0), ten(1));
    let huge = "7".repeat(400);
    let source = format!(
        "from typing import Literal\n\ndef t(n: Literal[{bound}, {above}], m: int = {huge}):\n    return str(n)\n"
    );
    let file = place.write("tools.py", &source);
    let below = "9".repeat(30);
    let list = format!("[{}]", calls("t", &[bound.clone(), above.clone(), "1e30".to_owned(), below, ten(2)]));
    let report = answer(&["--python", &file], &list);
    assert_eq!(&outcomes(&report)[..2], ["ok", "ok"], "{report}");
    assert_eq!(&outcomes(&report)[3..], ["bad_arguments", "bad_arguments"], "{report}");
    assert_eq!(report["results"][1]["output"], above.as_str());
    let error = report["results"][4]["error"].as_str().unwrap();
    assert!(error.contains(&ten(2)) && error.contains(&bound), "{error}");
    for form in ["native", "openai", "anthropic", "gemini", "mcp"] {
        let output = run(&["tools", "--python", &file, "--format", form], "");
        let text = String::from_utf8(output.stdout).unwrap();
        for digits in [&bound, &above, &huge] {
            assert!(text.contains(digits.as_str()), "{form}: {digits} in {text}");
        }
    }
}

#[test]
fn outputs_are_held_against_every_digit() {
    let (bound, above) = (ten(0), ten(1));
    let schema = format!("{{\"type\":\"object\",\"properties\":{{\"a\":{{\"const\":{bound}}},\"b\":{{}}}}}}");
    for (given, is_it) in [(&bound, true), (&"1e30".to_owned(), true), (&above, false)] {
        let place = Place::new();
        let structured = format!("{{\"a\":{given},\"b\":1}}");
        let server = place.server("{\"type\":\"object\"}", &schema, &structured);
        let report = answer(&[&server[0], &server[1]], r#"[{"name":"s_t","arguments":{}}]"#);
        let mismatch = report["results"][0]["detail"]["output_mismatch"].as_str();
        assert_eq!(mismatch.is_none(), is_it, "{given}: {report}");
        assert!(mismatch.is_none_or(|text| text.contains(&format!("{bound} was expected"))), "{mismatch:?}");
    }
}

#[test]
fn listings_in_every_form_show_numbers_as_they_were_written() {
    let place = Place::new();
    let huge = "7".repeat(400);
    let (max, second) = (ten(1), ten(2));
    // One that a provider takes as it is, and combinations that become notes in descriptions.
    let property = format!(
        "{{\"type\":\"integer\",\"maximum\":{max},\"multipleOf\":{second},\"default\":{huge},\"enum\":[{huge},1E30],\"not\":{{\"const\":36893488147419103233}}}}"
    );
    let output = format!("{{\"type\":\"object\",\"properties\":{{\"o\":{{\"minimum\":-{max}}}}}}}");
    let input =
        object(&property).replacen('{', &format!("{{\"minProperties\":1,\"if\":{{\"const\":{second}}},"), 1);
    let server = place.server(&input, &output, "{}");
    for form in ["native", "openai", "anthropic", "gemini", "mcp"] {
        let shown = run(&["tools", &server[0], &server[1], "--format", form], "");
        let text = String::from_utf8(shown.stdout).unwrap();
        let tool = &text[text.find("s_t").unwrap_or_else(|| panic!("{form}: {text}"))..];
        for digits in [&max, &second, &huge, &"1E30".to_owned(), &"36893488147419103233".to_owned()] {
            assert!(text.contains(digits.as_str()), "{form}: {digits} in {tool}");
        }
        assert!(!text.contains("e+30") && !text.contains("e30") && !text.contains("e+19"), "{form}: {text}");
    }
    let shown = run(&["tools", &server[0], &server[1], "--format", "native"], "");
    assert!(String::from_utf8(shown.stdout).unwrap().contains(&format!("-{max}")), "of the output");
}

#[test]
fn an_approval_does_not_outlive_a_change_of_one_digit() {
    let place = Place::new();
    let rules = "[permissions]\n[[permissions.rule]]\naction = \"mcp.call\"\nverdict = \"ask\"\n";
    let rules = place.write("rules.toml", rules);
    let record = place.path("list.json").display().to_string();
    for (changed, status) in [(ten(2), 2), (ten(1), 0)] {
        let schema = |digits: &str| object(&format!("{{\"maximum\":{digits}}}"));
        let server = place.server(&schema(&ten(1)), "{\"type\":\"object\"}", "{}");
        let options = ["--config", &rules, &server[0], &server[1]];
        let list = format!("[{}]", calls("s_t", &["5".to_owned()]));
        let suspended = json(&run(&[&["call", "--suspend", &record], &options[..]].concat(), &list));
        let id = suspended["requests"][0]["id"].as_str().unwrap_or_else(|| panic!("{suspended}")).to_owned();
        place.server(&schema(&changed), "{\"type\":\"object\"}", "{}");
        let resumed = run(&[&["resume", &record, "--approve", &id], &options[..]].concat(), "");
        assert_eq!(resumed.status.code(), Some(status), "{changed}: {resumed:?}");
        if status == 2 {
            let error = String::from_utf8(resumed.stderr).unwrap();
            assert!(error.contains("the tool's schema has changed"), "{error}");
        }
    }
}

#[test]
fn a_declared_tool_keeps_its_digits_in_a_record() {
    let place = Place::new();
    let rules = "[permissions]\n[[permissions.rule]]\nverdict = \"ask\"\n";
    let rules = place.write("rules.toml", rules);
    let record = place.path("list.json").display().to_string();
    let tool = format!(
        "{{\"name\":\"t\",\"parameters\":{}}}",
        object(&format!("{{\"maximum\":{}}}", "7".repeat(400)))
    );
    let list = format!("{{\"tools\":[{tool}],\"calls\":[{}]}}", calls("t", &[ten(1)]));
    let suspended = json(&run(&["call", "--stub", "--config", &rules, "--suspend", &record], &list));
    let id = suspended["requests"][0]["id"].as_str().unwrap_or_else(|| panic!("{suspended}")).to_owned();
    assert!(fs::read_to_string(&record).unwrap().contains(&"7".repeat(400)));
    let resumed = run(&["resume", &record, "--config", &rules, "--approve", &id], "");
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
}
