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

#[test]
fn integers_of_thousands_of_digits_are_exact_in_arguments_results_and_states() {
    let (engine, _files) = engine_of(
        "
def same(n: int): return n
def power(exponent: int) -> int: return {'n': [10 ** exponent]}
def add(n: int, inner_state):
    inner_state.state = {'sum': (inner_state.state or {}).get('sum', 0) + n}
    return inner_state.state['sum']
def own(): return int('1' * 5000)
",
    );
    let call = |name: &str, text: String| {
        let call = toolyard::ToolCall::new(name, toolyard::Arguments::from_text(text));
        super::run_all(&engine, vec![call]).results.remove(0)
    };
    let text = |result: &toolyard::ToolResult| {
        assert!(result.is_ok(), "{result:?}");
        result.output.as_ref().unwrap().to_text().to_owned()
    };
    for digits in [400, 5_000, 20_000] {
        let n = "7".repeat(digits);
        assert_eq!(text(&call("same", format!(r#"{{"n": {n}}}"#))), n);
    }
    assert_eq!(
        text(&call("power", r#"{"exponent": 5000}"#.into())),
        format!("{{\"n\":[1{}]}}", "0".repeat(5_000))
    );
    let four = "4".repeat(5_000);
    assert_eq!(text(&call("add", format!(r#"{{"n": {four}}}"#))), four);
    assert_eq!(text(&call("add", format!(r#"{{"n": {four}}}"#))), "8".repeat(5_000), "from the state");
    let guarded = call("own", "{}".into());
    assert!(
        error_of(&guarded).contains("4300 digits"),
        "Python's guard holds for the file's own code: {guarded:?}"
    );
    let too_long = call("same", format!(r#"{{"n": {}}}"#, "7".repeat(100_001)));
    assert_eq!(too_long.outcome, Outcome::BadArguments);
    assert!(
        error_of(&too_long).contains("an integer has 100001 digits: Python functions take at most 100000")
    );
    assert_eq!(text(&call("same", r#"{"n": 1}"#.into())), "1", "the process lives");
}

#[test]
fn generators_are_collected_and_half_characters_replaced_and_both_are_said() {
    let (engine, _files) = engine_of(
        "
def numbers(n: int):
    for number in range(n):
        yield number
async def later():
    async def inner():
        yield 1
        yield 2
    return inner()
def endless():
    while True:
        yield 1
def breaks():
    yield 1
    raise RuntimeError('in the middle')
def half(): return 'a\\ud83db'
def halves(): return '\\ud83d' + '\\ude00'
def remembers(inner_state):
    inner_state.state = 'a\\ud83d'
",
    );
    let generator = "a generator is given as the list of what it yields";
    let half = "half characters (lone surrogates) are given as U+FFFD";
    for (name, arguments, expected, notes) in [
        ("numbers", json!({"n": 3}), json!([0, 1, 2]), vec![generator]),
        ("later", json!({}), json!([1, 2]), vec![generator]),
        ("half", json!({}), json!("a\u{fffd}b"), vec![half]),
        ("halves", json!({}), json!("\u{1f600}"), vec![]),
    ] {
        let result = run(&engine, name, arguments);
        assert_eq!(
            result.output.as_ref().map(toolyard::Output::to_value),
            Some(expected),
            "{name}: {result:?}"
        );
        assert_eq!(result.detail.map(|detail| detail.notes).unwrap_or_default(), notes, "{name}");
    }
    assert!(error_of(&run(&engine, "endless", json!({}))).contains("yields more than 1000000 items"));
    assert!(error_of(&run(&engine, "breaks", json!({}))).contains("in the middle"));
    assert!(error_of(&run(&engine, "remembers", json!({}))).contains("the new inner state is not JSON"));
}

#[test]
fn a_function_says_nothing_of_its_effects_or_that_it_has_none_or_which() {
    let (engine, _files) = engine_of(
        "
def unsaid(): return 1
def none(): return 1
def disk(): return 1
none.effects = []
disk.effects = ' Disk'
",
    );
    let said = |name: &str| {
        let spec = engine.specs().into_iter().find(|spec| spec.name == name).unwrap();
        spec.effects.said().map(<[String]>::to_vec)
    };
    assert_eq!(
        (said("unsaid"), said("none"), said("disk")),
        (None, Some(vec![]), Some(vec!["disk".to_owned()]))
    );
}
