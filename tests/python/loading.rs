use serde_json::json;
use toolyard::{Engine, Outcome};

use super::{Files, config, engine_of, output, run};

const FUNCTIONS: &str = "
from textwrap import dedent
from helpers import helped

def read_file(): return 'r'
def read_secret(): return 's'
def write_file(): return 'w'
def _hidden(): return 'h'
";

fn names(patterns: &str) -> Vec<String> {
    let files = Files::new(&[("f.py", FUNCTIONS), ("helpers.py", "def helped(): return 'help'\n")]);
    let spec = format!("{}{patterns}", files.path("f.py").display());
    let engine = Engine::builder().python_file(spec.parse().unwrap()).build().unwrap();
    engine.python_report().tools.clone()
}

#[test]
fn patterns_pick_among_the_functions_of_a_file() {
    assert_eq!(names(""), ["read_file", "read_secret", "write_file"]);
    assert_eq!(names(":read_*,!*secret"), ["read_file"]);
    assert_eq!(names(":*_file,r*"), ["read_file"]);
    assert_eq!(names(":!*"), Vec::<String>::new());
}

#[test]
fn private_and_borrowed_functions_are_tools_only_when_named_in_full() {
    assert_eq!(names(":_hidden"), ["_hidden"]);
    assert_eq!(names(":dedent"), ["dedent"]);
    assert_eq!(names(":helped"), ["helped"]);
    assert_eq!(names(":help*"), Vec::<String>::new());
    assert_eq!(names(":_*"), Vec::<String>::new());
}

#[test]
fn a_file_that_cannot_be_imported_is_reported_and_takes_nothing_along() {
    let files = Files::new(&[
        ("good.py", "def fine(): return 1\n"),
        ("bad.py", "x = 1\ny = x / 0\n"),
        ("syntax.py", "def f(:\n"),
        ("exits.py", "import os\nos._exit(7)\n"),
    ]);
    let missing = files.file("missing.py");
    let engine = ["bad.py", "good.py", "syntax.py", "exits.py"]
        .iter()
        .fold(Engine::builder(), |builder, name| builder.python_file(files.file(name)))
        .python_file(missing)
        .build()
        .unwrap();
    let report = engine.python_report();
    assert_eq!(report.tools, ["fine"]);
    let expected = [
        "bad.py:2: ZeroDivisionError: division by zero",
        "syntax.py:1: SyntaxError",
        "exits.py",
        "missing.py",
    ];
    for (problem, expected) in report.problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
    assert_eq!(report.problems.len(), expected.len());
    assert_eq!(output(&engine, "fine", json!({})), json!(1));
}

#[test]
fn an_import_without_end_is_given_up() {
    let files = Files::new(&[("slow.py", "import time\ntime.sleep(1000)\n")]);
    let config = config(|config| config.load_timeout = std::time::Duration::from_millis(300));
    let engine = Engine::builder().python(config).python_file(files.file("slow.py")).build().unwrap();
    let problem = &engine.python_report().problems[0];
    assert!(problem.ends_with("its import took longer than 0.3 s"), "{problem}");
}

#[test]
fn a_function_whose_parameter_json_cannot_carry_is_left_out() {
    let files = Files::new(&[(
        "f.py",
        "import threading\n\ndef a(lock: threading.Event): return 1\n\ndef b(x: int, lock: threading.Event = None): return x\n",
    )]);
    let engine = Engine::builder().python_file(files.file("f.py")).build().unwrap();
    assert_eq!(engine.python_report().tools, ["b"]);
    assert!(engine.python_report().problems[0].contains("parameter lock"), "{:?}", engine.python_report());
    assert_eq!(output(&engine, "b", json!({"x": 4})), json!(4));
    assert_eq!(run(&engine, "b", json!({"x": 4, "lock": 1})).outcome, Outcome::BadArguments);
}

#[test]
fn the_public_methods_of_a_class_share_one_instance() {
    let files = Files::new(&[(
        "f.py",
        "
class Base:
    def reset(self): self.n = 0

class Counter(Base):
    def __init__(self): self.n = 0
    def add(self, by: int = 1):
        self.n += by
        return self.n
    @classmethod
    def kind(cls): return cls.__name__
    @staticmethod
    def double(n: int): return 2 * n
    def _private(self): return 1

def outside(): return 1
",
    )]);
    let engine = Engine::builder().python_file(files.file("f.py").class("Counter")).build().unwrap();
    assert_eq!(engine.python_report().tools, ["reset", "add", "kind", "double"]);
    assert_eq!(output(&engine, "add", json!({})), json!(1));
    assert_eq!(output(&engine, "add", json!({"by": 4})), json!(5));
    assert_eq!(output(&engine, "reset", json!({})), json!(null));
    assert_eq!(output(&engine, "add", json!({})), json!(1));
    assert_eq!(output(&engine, "kind", json!({})), json!("Counter"));
    assert_eq!(output(&engine, "double", json!({"n": 4})), json!(8));
}

#[test]
fn a_name_that_is_taken_stays_with_the_first_file() {
    let files = Files::new(&[
        ("a.py", "def f(): return 'a'\n"),
        ("b.py", "def f(): return 'b'\ndef g(): return 'g'\n"),
    ]);
    let engine =
        Engine::builder().python_file(files.file("a.py")).python_file(files.file("b.py")).build().unwrap();
    assert_eq!(engine.python_report().tools, ["f", "g"]);
    assert_eq!(engine.python_report().problems.len(), 1);
    assert_eq!(output(&engine, "f", json!({})), json!("a"));
}

#[test]
fn a_changed_file_is_read_again_on_demand() {
    let (engine, files) = engine_of("def same(): return 1\ndef gone(): return 1\n");
    assert_eq!(output(&engine, "same", json!({})), json!(1));
    let reload = || futures::executor::block_on(engine.reload_python_files());
    assert_eq!(reload().tools, Vec::<String>::new(), "an unchanged file is left alone");

    files.write("tools.py", "def same(): return 2\ndef new(): return 3\n");
    let report = reload();
    assert_eq!((report.tools, report.problems), (vec!["same".to_owned(), "new".to_owned()], vec![]));
    assert_eq!(output(&engine, "same", json!({})), json!(2));
    assert_eq!(output(&engine, "new", json!({})), json!(3));
    assert_eq!(run(&engine, "gone", json!({})).outcome, Outcome::UnknownTool);

    files.write("tools.py", "def same(:\n");
    assert!(reload().problems[0].contains("tools.py:1: SyntaxError"));
    assert_eq!(output(&engine, "same", json!({})), json!(2), "the old one stays");
}

#[test]
fn files_can_be_added_to_a_running_engine() {
    let files = Files::new(&[("late.py", "def late(): return 1\n")]);
    let engine = Engine::builder().build().unwrap();
    let report = futures::executor::block_on(engine.add_python_file_tools(vec![files.file("late.py")]));
    assert_eq!(report.tools, ["late"]);
    assert_eq!(output(&engine, "late", json!({})), json!(1));
}
