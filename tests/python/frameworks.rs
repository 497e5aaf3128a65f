//! Tool objects of agent frameworks are tools.

use std::time::Duration;

use serde_json::json;
use toolyard::{Engine, Outcome};

use super::{Files, config, error_of, output, run};
use crate::venv;

const TOOLS: &str = r#"
from typing import Annotated

from agents import RunContextWrapper, function_tool
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, tool
from pydantic_ai import RunContext, Tool

@tool
def lc_add(a: int, b: int = 1, user: Annotated[str, InjectedToolArg] = "nobody", config: RunnableConfig = None) -> int:
    """Adds two.

    Args:
        a: first
    """
    return a + b

@tool
async def lc_double(a: int) -> int:
    "Doubles."
    return 2 * a

class Lookup(BaseTool):
    name: str = "lc_lookup"
    description: str = "Looks up."
    def _run(self, key: str, run_manager=None):
        return [key]

lookup = Lookup()

def _pair(a: int):
    return "text", {"raw": a}

pair = StructuredTool.from_function(_pair, name="lc_pair", description="A pair.", response_format="content_and_artifact")

@function_tool
def oa_add(context: RunContextWrapper, a: int, b: int) -> int:
    """Adds two.

    Args:
        a: first
    """
    if a < 0:
        raise ValueError("negative")
    return a + b

@function_tool(needs_approval=True)
def oa_guarded(a: int) -> int:
    "Asks first."
    return a

def _add(a: int, b: int = 1) -> int:
    """Adds two.

    Args:
        a: first
    """
    return a + b

added = Tool(_add, name="pa_add")

def _with_context(context: RunContext[int], a: int) -> int:
    "Wants a context."
    return a

wanting = Tool(_with_context, name="pa_wanting")

def plain(a: int) -> int:
    return a
"#;

#[test]
fn tools_of_agent_frameworks_are_tools_by_their_own_names() {
    let files = Files::new(&[("tools.py", TOOLS)]);
    let config = config(|config| {
        config.interpreter = venv::python("frameworks");
        config.load_timeout = Duration::from_mins(5);
    });
    let file = files.file("tools.py").exclude("tool").exclude("function_tool");
    let engine = Engine::builder().python(config).python_file(file).build().unwrap();
    let report = engine.python_report();
    let mut names = report.tools.clone();
    names.sort_unstable();
    let expected = ["lc_add", "lc_double", "lc_lookup", "lc_pair", "oa_add", "pa_add", "plain"];
    assert_eq!(names, expected, "{report:?}");
    assert_eq!(report.problems.len(), 2, "{report:?}");
    assert!(report.problems[0].contains("oa_guarded is left out: its framework would ask for approval"));
    assert!(report.problems[1].contains("wanting is left out: its first parameter is a run context"));
    for spec in engine.specs().iter().filter(|spec| spec.name.ends_with("_add")) {
        assert_eq!(spec.description_text(), "Adds two.", "{}", spec.name);
        let parameters = spec.parameters();
        let properties = parameters["properties"].as_object().unwrap();
        assert_eq!(properties["a"]["description"], "first", "{}", spec.name);
        assert_eq!(
            properties.keys().collect::<Vec<_>>(),
            ["a", "b"],
            "{}: no value of the framework's",
            spec.name
        );
    }
    assert_eq!(report.excluded["lc_add"], ["user", "config"]);
    for (name, arguments, expected) in [
        ("lc_add", json!({"a": 3}), json!(4)),
        ("lc_double", json!({"a": 3}), json!(6)),
        ("lc_lookup", json!({"key": "k"}), json!(["k"])),
        ("lc_pair", json!({"a": 3}), json!("text")),
        ("oa_add", json!({"a": 3, "b": 4}), json!(7)),
        ("pa_add", json!({"a": 3, "b": 4}), json!(7)),
    ] {
        assert_eq!(output(&engine, name, arguments), expected, "{name}");
    }
    let failed = run(&engine, "oa_add", json!({"a": -1, "b": 4}));
    assert_eq!(failed.outcome, Outcome::Failed, "an exception is no result that looks fine: {failed:?}");
    assert!(error_of(&failed).contains("negative"));
    assert_eq!(run(&engine, "lc_add", json!({"a": 3, "user": "me"})).outcome, Outcome::BadArguments);
    assert_eq!(run(&engine, "oa_add", json!({"a": "x", "b": 4})).outcome, Outcome::BadArguments);
}
