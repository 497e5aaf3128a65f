use serde_json::json;
use toolyard::Outcome;

use super::{call, engine_of, error_of, output, run, run_all};

#[test]
fn arguments_arrive_as_the_types_that_the_function_asks_for() {
    let (engine, _files) = engine_of(
        r#"
import dataclasses, datetime, decimal, enum, typing

class Color(enum.Enum):
    RED = "red"

@dataclasses.dataclass
class Point:
    x: int
    y: float = 2.5

def types(color: Color, points: typing.List[Point], day: datetime.date, price: decimal.Decimal, names: typing.Set[str]):
    assert points[0] == Point(1, 2.5)
    return [type(value).__name__ for value in (color, points[0], day, price, names)]
"#,
    );
    let arguments =
        json!({"color": "red", "points": [{"x": 1}], "day": "2024-02-29", "price": "1.5", "names": ["a"]});
    assert_eq!(output(&engine, "types", arguments), json!(["Color", "Point", "date", "Decimal", "set"]));
}

#[test]
fn arguments_that_do_not_fit_run_nothing() {
    let (engine, _files) = engine_of(
        r"
import datetime
ran = 0

def day(d: datetime.date, n: int = 1):
    global ran
    ran += 1

def count():
    return ran
",
    );
    for arguments in [
        json!({"d": "2024-02-30"}),
        json!({"d": "2024-02-28", "n": "x"}),
        json!({}),
        json!({"d": "2024-02-28", "z": 1}),
    ] {
        let result = run(&engine, "day", arguments.clone());
        assert_eq!(result.outcome, Outcome::BadArguments, "{arguments}");
    }
    assert_eq!(output(&engine, "count", json!({})), json!(0));
    let wrong = run(&engine, "day", json!({"d": "2024-02-30"}));
    assert_eq!(error_of(&wrong), "tool \"day\": d: the text is not a date");
}

#[test]
fn positional_only_starred_and_double_starred_parameters_are_spread() {
    let (engine, _files) = engine_of(
        r#"
def spread(a: int, /, b: int = 2, *rest: int, c: str = "c", **named: float):
    return [a, b, list(rest), c, named]
"#,
    );
    let all = json!({"a": 1, "rest": [3, 4], "c": "x", "named": {"z": 0.5}});
    assert_eq!(output(&engine, "spread", all), json!([1, 2, [3, 4], "x", {"z": 0.5}]));
    assert_eq!(output(&engine, "spread", json!({"a": 1, "b": 5})), json!([1, 5, [], "c", {}]));
    let clash = run(&engine, "spread", json!({"a": 1, "named": {"c": 0.5}}));
    assert_eq!(clash.outcome, Outcome::BadArguments);
}

#[test]
fn an_exception_fails_the_call_with_a_traceback_of_user_code_alone() {
    let (engine, _files) = engine_of("def f():\n    g()\n\ndef g():\n    raise ValueError('no good')\n");
    let result = run(&engine, "f", json!({}));
    assert_eq!(result.outcome, Outcome::Failed);
    assert_eq!(error_of(&result), "ValueError: no good");
    let traceback = result.detail.and_then(|detail| detail.traceback).expect("a traceback");
    assert!(traceback.contains("tools.py\", line 5, in g"), "{traceback}");
    assert!(!traceback.contains("<toolyard>"), "{traceback}");
}

#[test]
fn what_a_call_prints_is_its_own_wherever_it_is_printed() {
    let (engine, _files) = engine_of(
        r#"
import os, subprocess, sys

def loud(name: str):
    print("python", name)
    sys.stderr.write("error\n")
    os.write(1, b"descriptor\n")
    subprocess.run(["echo", "process"])
    return "result"

def quiet():
    return 1
"#,
    );
    let results =
        run_all(&engine, vec![call("loud", json!({"name": "a"})), call("quiet", json!({}))]).results;
    let printed = |index: usize| results[index].detail.as_ref().and_then(|detail| detail.printed.clone());
    let mut lines: Vec<_> = printed(0).unwrap_or_default().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["descriptor", "error", "process", "python a"]);
    assert_eq!(printed(1), None);
}

#[test]
fn printing_without_end_is_cut_and_breaks_nothing() {
    let (engine, _files) = engine_of(
        "import os\n\ndef flood():\n    for _ in range(2000):\n        print('x' * 1000)\n        os.write(1, b'y' * 1000)\n    return 'done'\n",
    );
    let result = run(&engine, "flood", json!({}));
    assert!(result.is_ok(), "{result:?}");
    let printed = result.detail.and_then(|detail| detail.printed).expect("printed text");
    assert!(printed.len() < 70_000 && printed.ends_with("more bytes]"), "{} bytes", printed.len());
}

#[test]
fn standard_input_is_empty_and_exit_is_a_failure() {
    let (engine, _files) =
        engine_of("import sys\n\ndef ask():\n    return sys.stdin.read()\n\ndef leave():\n    sys.exit(3)\n");
    assert_eq!(output(&engine, "ask", json!({})), json!(""));
    assert_eq!(error_of(&run(&engine, "leave", json!({}))), "SystemExit: 3");
    assert_eq!(output(&engine, "ask", json!({})), json!(""));
}

#[test]
fn large_integers_stay_exact_both_ways() {
    let (engine, _files) = engine_of("def twice(n: int):\n    return n * 2\n");
    let report = run_all(
        &engine,
        vec![toolyard::ToolCall::new(
            "twice",
            toolyard::Arguments::from_text(r#"{"n": 123456789012345678901234567890}"#.into()),
        )],
    );
    let output = report.results[0].output.as_ref().map(toolyard::Output::to_text);
    assert_eq!(output, Some("246913578024691357802469135780"));
}
