use serde_json::{Value, json};
use toolyard::{Engine, NanPolicy, Outcome};

use super::{config, engine_of, engine_with, error_of, output, run};

#[test]
fn results_become_json_by_the_documented_rules() {
    let (engine, _files) = engine_of(
        r#"
import collections, dataclasses, datetime, decimal, enum, pathlib, uuid

class Color(enum.Enum):
    RED = "red"

class Level(enum.IntEnum):
    LOW = 1

@dataclasses.dataclass
class Point:
    x: int
    tags: set

Pair = collections.namedtuple("Pair", "left right")

def values(which: str):
    return {
        "none": None, "text": "äöü\u0000", "list": [1, 2.5, True, None, "x"], "tuple": (1, (2,)),
        "keys": {1: "a", None: "b", True: "c", (1, 2): "d"}, "enum": [Color.RED, Level.LOW, {Color.RED: 1}],
        "dataclass": Point(1, {"b", "a"}), "namedtuple": Pair(1, "r"),
        "times": [datetime.datetime(2024, 2, 29, 12, 30), datetime.date(2024, 2, 29), datetime.time(1, 2, 3),
                  datetime.timedelta(days=1, seconds=3723.5)],
        "decimal": decimal.Decimal("1.50"), "bytes": b"text", "set": {3, 1, 2}, "mixed": {1, "a"},
        "uuid": uuid.UUID(int=1), "path": pathlib.Path("a/b"), "range": range(3), "deque": collections.deque([1]),
        "views": [{"a": 1}.keys(), {"a": 1}.values()], "big": 10 ** 30,
    }[which]
"#,
    );
    for (which, expected) in [
        ("none", json!(null)),
        ("text", json!("äöü\0")),
        ("list", json!([1, 2.5, true, null, "x"])),
        ("tuple", json!([1, [2]])),
        ("keys", json!({"1": "c", "null": "b", "[1, 2]": "d"})),
        ("enum", json!(["red", 1, {"red": 1}])),
        ("dataclass", json!({"x": 1, "tags": ["a", "b"]})),
        ("namedtuple", json!([1, "r"])),
        ("times", json!(["2024-02-29T12:30:00", "2024-02-29", "01:02:03", "P1DT1H2M3.5S"])),
        ("decimal", json!("1.50")),
        ("bytes", json!("text")),
        ("set", json!([1, 2, 3])),
        ("mixed", json!([1, "a"])),
        ("uuid", json!("00000000-0000-0000-0000-000000000001")),
        ("path", json!("a/b")),
        ("range", json!([0, 1, 2])),
        ("deque", json!([1])),
        ("views", json!([["a"], [1]])),
    ] {
        assert_eq!(output(&engine, "values", json!({"which": which})), expected, "{which}");
    }
}

#[test]
fn what_json_cannot_carry_is_given_as_text_with_a_note() {
    let (engine, _files) = engine_of(
        "
class Thing:
    def __str__(self): return 'a thing'

def thing(): return [Thing()]
def raw(): return b'\\xff\\x00'
def cycle():
    a = []
    a.append(a)
    return a
",
    );
    for (name, expected, note) in [
        ("thing", json!(["a thing"]), "Thing is given as text"),
        ("raw", json!("/wA="), "bytes that are not UTF-8 are given as base64"),
        ("cycle", json!([null]), "a value that contains itself is cut off"),
    ] {
        let result = run(&engine, name, json!({}));
        assert_eq!(result.output.as_ref().map(toolyard::Output::to_value), Some(expected));
        assert_eq!(result.detail.expect("a detail").notes, [note]);
    }
}

#[test]
fn numbers_that_json_does_not_have_follow_the_policy() {
    let source = "def odd(): return {'a': [float('nan'), float('inf'), -float('inf'), 1.5]}\n";
    let odd = |nan| {
        let config = config(|config| config.nan = nan);
        let (engine, _files) = engine_with(Engine::builder().python(config), source);
        run(&engine, "odd", json!({}))
    };
    let value = |result: &toolyard::ToolResult| {
        result.output.as_ref().map_or(Value::Null, toolyard::Output::to_value)
    };
    assert_eq!(value(&odd(NanPolicy::Null)), json!({"a": [null, null, null, 1.5]}));
    assert_eq!(value(&odd(NanPolicy::Text)), json!({"a": ["NaN", "Infinity", "-Infinity", 1.5]}));
    let failed = odd(NanPolicy::Fail);
    assert_eq!(failed.outcome, Outcome::Failed);
    assert_eq!(error_of(&failed), "the result holds nan, which JSON cannot carry");
}

#[test]
fn a_result_that_is_too_long_or_too_deep_fails_its_own_call() {
    let config = config(|config| config.largest_result_bytes = 1000);
    let (engine, _files) = engine_with(
        Engine::builder().python(config),
        "
def long(): return 'x' * 1001
def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value
def fine(): return 'x' * 900
",
    );
    assert!(error_of(&run(&engine, "long", json!({}))).contains("over the limit"));
    assert!(error_of(&run(&engine, "deep", json!({}))).contains("nested more than"));
    assert!(run(&engine, "fine", json!({})).is_ok());
}

#[test]
fn progress_reaches_those_who_listen() {
    let (engine, _files) = engine_of(
        "
def steps(n: int, stream_writer):
    for step in range(n):
        stream_writer({'step': step})
    return 'done'
",
    );
    let mut events = engine.subscribe(64);
    assert_eq!(output(&engine, "steps", json!({"n": 3, "stream_writer": "from the model"})), json!("done"));
    let mut steps = Vec::new();
    while let Some(event) = events.try_next() {
        if let toolyard::EventKind::Progress { payload, .. } = &event.kind {
            steps.push(payload.clone());
        }
    }
    assert_eq!(steps, [json!({"step": 0}), json!({"step": 1}), json!({"step": 2})]);
}
