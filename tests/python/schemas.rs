use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};
use toolyard::Engine;

use super::{Files, config, engine_of};
use crate::venv;

fn schema_of(engine: &Engine, name: &str) -> Value {
    let spec = engine.specs().into_iter().find(|spec| spec.name == name).expect("the tool is there");
    spec.parameters().into_value()
}

#[test]
fn a_signature_and_its_docstring_make_the_schema() {
    let (engine, _files) = engine_of(
        r#"
import enum, typing
from typing import Annotated, Literal, Optional

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

def paint(what: str, color: Color = Color.RED, coats: Annotated[int, "how many"] = 1, *more: str,
          mode: Literal["fast", "good"] = "good", note: Optional[str] = None, inner_state=None, **extra: float):
    """Paints something.

    It takes a while.

    Args:
        what (str): The thing:
            a wall, say.
        note: A remark.
    """
"#,
    );
    assert_eq!(
        schema_of(&engine, "paint"),
        json!({
            "type": "object",
            "properties": {
                "what": {"type": "string", "description": "The thing: a wall, say."},
                "color": {"enum": ["red", "blue"], "type": "string", "default": "red"},
                "coats": {"type": "integer", "description": "how many", "default": 1},
                "more": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": null},
                "mode": {"enum": ["fast", "good"], "type": "string", "default": "good"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "description": "A remark."},
                "extra": {
                    "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}],
                    "default": null
                }
            },
            "required": ["what"],
            "additionalProperties": false
        })
    );
    let spec = engine.specs().remove(0);
    assert_eq!(spec.description.as_deref(), Some("Paints something.\n\nIt takes a while."));
}

#[test]
fn a_default_that_no_double_holds_costs_no_file_its_tools() {
    let (engine, _files) = engine_of("def f(n: int = 10**400):\n    return str(n)[:2] + str(len(str(n)))\n");
    assert!(schema_of(&engine, "f")["properties"]["n"]["default"].as_f64().unwrap() > 1e308);
    let calls = vec![toolyard::ToolCall::new("f", json!({}).into())];
    let report = engine.execute_blocking(calls, toolyard::ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].output.as_ref().map(toolyard::Output::to_text), Some("10401"));
}

#[test]
fn every_style_of_docstring_describes_parameters() {
    let (engine, _files) = engine_of(
        r#"
def google(a: int, *rest: int):
    """Short.

    Args:
        a (int): first
        *rest: others

    Returns:
        int: sum
    """

def numpy(a: int, b: int, c: int = 1):
    """Short.

    Parameters
    ----------
    a : int
        first
    b, c : int, optional
        others

    Returns
    -------
    int
        sum
    """

def rest(a: int, b: int):
    """Short.

    :param int a: first
        and more
    :param b: others
    :type b: int
    :returns: sum
    """

def epydoc(a: int, b: int):
    """Short.

    @param a: first
        and more
    @type a: int
    @param b: others
    @return: sum
    """
"#,
    );
    let text = |tool: &str, parameter: &str| {
        schema_of(&engine, tool)["properties"][parameter]["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!([text("google", "a"), text("google", "rest")], ["first", "others"]);
    assert_eq!([text("numpy", "a"), text("numpy", "b"), text("numpy", "c")], ["first", "others", "others"]);
    assert_eq!([text("rest", "a"), text("rest", "b")], ["first and more", "others"]);
    assert_eq!([text("epydoc", "a"), text("epydoc", "b")], ["first and more", "others"]);
    assert!(engine.specs().iter().all(|spec| spec.description.as_deref() == Some("Short.")));
}

#[test]
fn what_is_not_about_parameters_and_results_stays_in_the_description() {
    let (engine, _files) = engine_of(
        r#"
def google(a: int):
    """Short.

    Long text.

    Args:
        a: first

    Returns:
        int: nothing of interest

    Warning:
        Only once a day.

    Note:
        Costs money.
    """

def numpy(a: int):
    """Short.

    Long text.

    Parameters
    ----------
    a : int
        first

    Raises
    ------
    ValueError
        always

    Warnings
    --------
    Only once a day.

    Notes
    -----
    Costs money.
    """

def rest(a: int):
    """Short.

    Long text.

    .. warning:: Only once a day.

    :param a: first
    :raises ValueError: always
    :note: Costs money.
    """

def epydoc(a: int):
    """Short.

    Long text.

    @param a: first
    @type a: int
    @return: nothing of interest
    @warning: Only once a day.
    @note: Costs money.
    """
"#,
    );
    for spec in engine.specs() {
        let (name, text) = (&spec.name, spec.description_text());
        assert!(text.starts_with("Short.\n\nLong text.\n\n"), "{name}: {text}");
        assert!(text.contains("Only once a day.") && text.contains("Costs money."), "{name}: {text}");
        assert!(
            !text.contains("first") && !text.contains("interest") && !text.contains("always"),
            "{name}: {text}"
        );
        assert_eq!(schema_of(&engine, name)["properties"]["a"]["description"], "first", "{name}");
    }
}

#[test]
fn a_function_says_by_attributes_what_of_it_a_model_sees_and_the_report_says_what_not() {
    let (engine, _files) = engine_of(
        "
def plain(a: int, *more: int, key: int = 1, **rest: int):
    'Short.\\n\\nLong.'
    return [a, more, key, rest]

def terse(a: int, *more: int, key: int = 1, other: int = 2, **rest: int):
    'Short.\\n\\nLong.'
    return [a, more, key, rest]

terse.long_description = terse.varargs = terse.varkwargs = False
terse.excluded_parameters = ['key', 'other', 'no_such']

def one(a: int, key: int = 1, inner_state=None):
    return a

one.excluded_parameters = 'key'
",
    );
    let seen = |tool: &str| {
        let spec = engine.specs().into_iter().find(|spec| spec.name == tool).unwrap();
        let parameters = spec.parameters();
        let names = parameters["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        (spec.description_text().to_owned(), names.join(" "))
    };
    assert_eq!(seen("plain"), ("Short.\n\nLong.".into(), "a key more rest".into()));
    assert_eq!(seen("terse"), ("Short.".into(), "a".into()));
    let excluded = &engine.python_report().excluded;
    assert_eq!(excluded["terse"], ["more", "key", "other", "rest"], "those that were really excluded");
    assert_eq!(excluded["one"], ["key", "inner_state"]);
    assert!(!excluded.contains_key("plain"));
    let refused = super::run(&engine, "terse", json!({"a": 1, "key": 5}));
    assert_eq!(refused.outcome, toolyard::Outcome::BadArguments);
}

#[test]
fn every_kind_of_callable_can_be_a_tool() {
    let (engine, _files) = engine_of(
        r#"
import functools

def add(a: int, b: int, c: int = 0):
    "Adds."
    return a + b + c

five_more = functools.partial(add, 5)
b_is_two = functools.partial(add, b=2)
anonymous = lambda x: x

class Scale:
    "Scales."
    def __init__(self, by): self.by = by
    def __call__(self, n: int): return n * self.by
    def method(self, n: int): return n + self.by

triple = Scale(3)
bound = Scale(4).method

def plain(inner_state, stream_writer, y: int): return y
"#,
    );
    let names: Vec<_> = engine.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["add", "five_more", "b_is_two", "anonymous", "triple", "bound", "plain"]);
    let parameters = |tool: &str| {
        let schema = schema_of(&engine, tool);
        schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(parameters("five_more"), ["b", "c"]);
    assert_eq!(parameters("b_is_two"), ["a", "c"]);
    assert_eq!(parameters("plain"), ["y"]);
    let description = |tool: &str| {
        engine.specs().into_iter().find(|spec| spec.name == tool).and_then(|spec| spec.description)
    };
    assert_eq!(description("five_more").as_deref(), Some("Adds."), "not that of functools.partial");
    assert_eq!(description("triple").as_deref(), Some("Scales."));
    assert_eq!(super::output(&engine, "five_more", json!({"b": 1})), json!(6));
    assert_eq!(super::output(&engine, "b_is_two", json!({"a": 1})), json!(3));
    assert_eq!(super::output(&engine, "triple", json!({"n": 2})), json!(6));
    assert_eq!(super::output(&engine, "bound", json!({"n": 2})), json!(6));
}

#[test]
fn recursive_types_refer_to_themselves() {
    let (engine, _files) = engine_of(
        "
from __future__ import annotations
import dataclasses

@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)

def depth(tree: Tree):
    return 1 + max((depth(child) for child in tree.children), default=0)
",
    );
    assert_eq!(schema_of(&engine, "depth")["properties"]["tree"], json!({"$ref": "#/$defs/Tree"}));
    let tree = json!({"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}});
    assert_eq!(super::output(&engine, "depth", tree), json!(3));
}

#[test]
fn schemas_and_conversions_agree_with_pydantic_on_300_generated_signatures() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let said = Command::new(venv::python("pydantic"))
        .arg(root.join("tests/python/schema_oracle.py"))
        .arg(root.join("actors/src/python/worker"))
        .args(["300", "7"])
        .output()
        .expect("python runs");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(text.contains("300 signatures") && text.contains(" 0 disagreements"), "{text}");
}

#[test]
fn pydantic_models_arrive_as_such() {
    let files = Files::new(&[(
        "tools.py",
        r#"
import pydantic

class Address(pydantic.BaseModel):
    street: str
    title: str = "home"

class Person(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1, description="the name")
    home: Address

def greet(person: Person):
    assert isinstance(person.home, Address)
    return person
"#,
    )]);
    let config = config(|config| config.interpreter = venv::python("pydantic"));
    let engine = Engine::builder().python(config).python_file(files.file("tools.py")).build().unwrap();
    assert_eq!(engine.python_report().problems, Vec::<String>::new());
    let person = json!({"name": "n", "home": {"street": "s"}});
    assert_eq!(
        super::output(&engine, "greet", json!({"person": person})),
        json!({"name": "n", "home": {"street": "s", "title": "home"}})
    );
    let schema = schema_of(&engine, "greet");
    assert_eq!(
        schema["$defs"]["Address"]["properties"]["title"],
        json!({"type": "string", "default": "home"})
    );
    let wrong = super::run(&engine, "greet", json!({"person": {"name": "", "home": {"street": "s"}}}));
    assert_eq!(wrong.outcome, toolyard::Outcome::BadArguments);
}
