//! A model may call what was offered, and nothing else.

use serde_json::{Value, json};
use toolyard::{Engine, PythonFile};

use super::{MCP_SERVER, Place, results, run, toolyard};

/// What a file defines, and what it has from elsewhere, in every way that either can be done.
const FILE: &str = "
import functools, os, contextlib
from os import getenv, makedirs as make
from operator import add, itemgetter
from random import choice
from db import drop_all_tables, careful, Client, plain_decorator
import db
from db import *

def own(): return 1
async def own_async(): return 2
def own_after_return(): return 3
@plain_decorator
def own_decorated(): return 4
@careful
def own_careful(): return 5
own_lambda = lambda: 6
own_partial = functools.partial(own)
own_partial_of_another = functools.partial(os.path.join, 'a')
if True:
    def own_in_a_branch(): return 7
else:
    from db import own_in_a_branch
try:
    from nowhere import own_fallback
except ImportError:
    def own_fallback(): return 8
class Thing:
    def __call__(self, x: int): return x
    def method(self): return 9
own_object = Thing()
own_method = Thing().method

renamed = db.drop_all_tables
listed = [db.drop_all_tables][0]
got = getattr(db, 'drop_all_tables')
client = Client()
bound = Client().erase
foreign_partial = db.partial
upper = 'x'.upper
_hidden = own
";

const DB: &str = "
import functools
def drop_all_tables(): return 'dropped'
def own_in_a_branch(): return 'dropped'
def careful(function):
    @functools.wraps(function)
    def inner(*a, **k): return function(*a, **k)
    return inner
def plain_decorator(function):
    def inner(): return function()
    return inner
partial = functools.partial(drop_all_tables)
class Client:
    def __call__(self): return 'dropped'
    def erase(self): return 'dropped'
";

const OWN: [&str; 13] = [
    "own",
    "own_async",
    "own_after_return",
    "own_decorated",
    "own_careful",
    "own_lambda",
    "own_partial",
    "own_partial_of_another",
    "own_in_a_branch",
    "own_fallback",
    "own_object",
    "own_method",
    "never",
];

fn tools(source: &str, patterns: &str) -> Vec<String> {
    let place = Place::new();
    place.write("f.py", source);
    place.write("db.py", DB);
    let file = PythonFile::parse(&format!("{}{patterns}", place.shown("f.py")));
    let engine = Engine::builder().python_file(file).build().unwrap();
    assert_eq!(engine.python_report().problems, Vec::<String>::new());
    engine.python_report().tools.clone()
}

#[test]
fn only_what_a_file_defines_becomes_a_tool() {
    // The last is no function.
    let mut expected: Vec<_> = OWN[..12].to_vec();
    let mut found = tools(FILE, "");
    expected.sort_unstable();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn what_is_imported_becomes_a_tool_where_it_is_named_in_full_or_by_all() {
    for name in ["drop_all_tables", "getenv", "renamed", "_hidden"] {
        assert_eq!(tools(FILE, &format!(":{name}")), [name]);
    }
    for glob in ["drop*", "*", "get*", "rename?"] {
        assert!(!tools(FILE, &format!(":{glob}")).iter().any(|name| !OWN.contains(&name.as_str())), "{glob}");
    }
    let all = format!("{FILE}\n__all__ = ['own', 'drop_all_tables']\n");
    assert_eq!(tools(&all, ""), ["drop_all_tables", "own"]);
    assert_eq!(tools(&all, ":own_async"), Vec::<String>::new());
}

#[test]
fn methods_of_a_class_from_elsewhere_become_tools_only_by_name() {
    let source = "from db import Client\nclass Mine(Client):\n    def hello(self): return 1\n";
    assert_eq!(tools(source, ":Mine"), ["hello"]);
    assert_eq!(tools(source, ":Mine:erase"), ["erase"]);
    assert_eq!(tools(source, ":Mine:*"), ["erase", "hello"]);
    assert_eq!(tools(source, ":Mine:!x*"), ["hello"]);
    let overridden = format!("{source}    def erase(self): return 'kept'\n");
    assert_eq!(tools(&overridden, ":Mine"), ["erase", "hello"]);
}

/// Where tools may come from.
const SOURCES: [(&str, &str); 4] =
    [("nothing", ""), ("--python", "tools.py"), ("--mcp-config", "servers.json"), ("--config", "tools.toml")];

#[test]
fn built_in_tools_are_there_by_name_and_by_default_only_where_nothing_else_is() {
    let place = Place::new();
    place.write("tools.py", "def hello(): return 'hello'\n");
    place.write("servers.json", r#"{"mcpServers": {}}"#);
    place.write("tools.toml", "[python]\nfiles = [\"tools.py\"]\n");
    place.write("note.txt", "note");
    let builtins = [
        "calculator",
        "file_read",
        "file_write",
        "http",
        "web_search",
        "python_repl",
        "sandbox_python",
        "sandbox_shell",
    ];
    let aliases = ["calc", "read_file", "write_file", "http_request", "duckduckgo", "python"];
    for (option, value) in SOURCES {
        let source: Vec<&str> = if value.is_empty() { vec![] } else { vec![option, value] };
        for (asked, names) in [
            (None, if value.is_empty() { &builtins[..3] } else { &[] }),
            (Some("none"), &[][..]),
            (Some("all"), &builtins[..]),
            (Some("file_read"), &builtins[1..2]),
            (Some("calc,write_file"), &["calculator", "file_write"][..]),
        ] {
            let mut arguments = vec!["tools", "--format", "names"];
            arguments.extend(&source);
            arguments.extend(asked.iter().flat_map(|asked| ["--tools", asked]));
            let output = run(toolyard(place.0.path(), &arguments), "");
            let listed: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            let listed = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
            let listed: Vec<_> = listed.filter(|name| *name != "hello").collect();
            assert_eq!(listed, names, "{option} {value} {asked:?}");

            // Whatever is off is inactive, under each of its names, and says how to switch it on.
            let all: Vec<_> = builtins.iter().chain(&aliases).collect();
            let list: Vec<_> =
                all.iter().map(|name| json!({"name": name, "arguments": {"none": 1}})).collect();
            arguments.splice(..3, ["plan"]);
            let output = run(toolyard(place.0.path(), &arguments), &json!(list).to_string());
            let plan: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            for (index, name) in all.iter().enumerate() {
                let problem =
                    plan["problems"].as_array().unwrap().iter().find(|problem| problem["index"] == index);
                let canonical = match **name {
                    "calc" => "calculator",
                    "read_file" => "file_read",
                    "write_file" => "file_write",
                    "http_request" => "http",
                    "duckduckgo" => "web_search",
                    "python" => "python_repl",
                    other => other,
                };
                let problem = problem.unwrap_or_else(|| panic!("{name}: {plan}"));
                let expected = if names.contains(&canonical) { "bad_arguments" } else { "inactive" };
                assert_eq!(problem["outcome"], expected, "{name} with {arguments:?}");
                if expected == "inactive" {
                    let error = problem["error"].as_str().unwrap();
                    assert!(error.contains(&format!("{name:?}")) && error.contains("`--tools`"), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_call_of_what_is_off_does_nothing_and_leaves_the_rest_alone() {
    let place = Place::new();
    place.write("tools.py", "def hello(): return 'hello'\ndef calculator(): return 'mine'\n");
    let list = json!([
        {"name": "file_write", "arguments": {"path": "x.txt", "content": "x"}},
        {"name": "hello"},
        {"name": "nobody"},
        {"name": "calculator"},
    ]);
    let output = run(toolyard(place.0.path(), &["call", "--python", "tools.py"]), &list.to_string());
    let results = results(&output);
    let outcomes: Vec<_> = results.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["inactive", "ok", "unknown_tool", "ok"]);
    assert_eq!(results[3].1, "mine", "a name that is free is anybody's");
    assert!(!place.path("x.txt").exists());

    // A name that a server or a document brings is theirs, too.
    let server = json!({"mcpServers": {"s": {"command": "python3", "args": [MCP_SERVER]}}});
    place.write("servers.json", &server.to_string());
    let document = json!({
        "tools": [{"name": "http", "description": "", "parameters": {"type": "object"}}],
        "calls": [{"name": "s_echo", "arguments": {"text": "hi"}}, {"name": "http", "arguments": {}}, {"name": "calc", "arguments": "1"}],
    });
    let output = run(
        toolyard(place.0.path(), &["call", "--stub", "--mcp-config", "servers.json"]),
        &document.to_string(),
    );
    let outcomes: Vec<_> = super::results(&output).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["ok", "ok", "inactive"], "{output:?}");
}
