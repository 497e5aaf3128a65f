//! What a call gives.

use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall,
    builtin::python_repl::{NoBackend, PythonReplConfig, PythonReplTool},
};

use super::{Repl, check_half_characters, error, text};

#[test]
fn a_call_gives_what_was_printed_and_the_value_of_a_last_expression() {
    let repl = Repl::new();
    for (code, expected) in [
        ("1 + 1", "2"),
        ("x = 20", ""),
        ("x", "20"),
        ("print('a')\nx + 1", "a\n21"),
        ("print('no end', end='')\n'b'", "no end\n'b'"),
        ("None", ""),
        ("for i in range(3): print(i)", "0\n1\n2\n"),
        ("for i in range(2):\n    print(i)\n    ", "0\n1\n"),
        ("def f(n):\n    return n * y\n", ""),
        ("y = 3\nf(2)", "6"),
        ("import sys\nprint('out'); print('err', file=sys.stderr)", "out\nerr\n"),
        ("'grün €'", "'grün €'"),
        ("sys.stdout.buffer.write(b'a\\xffb') and None", "a\u{fffd}b"),
        ("import os\nos.write(1, b'raw\\xff\\n') and None", "raw\u{fffd}\n"),
        (
            "import subprocess\nsubprocess.run(['sh', '-c', 'echo child; echo oops >&2']) and None",
            "child\noops\n",
        ),
        ("# nothing", ""),
        ("a, *b = 1, 2, 3; b", "[2, 3]"),
        ("@lambda g: g\ndef decorated(): pass", ""),
        ("from __future__ import annotations\n1", "1"),
    ] {
        assert_eq!(repl.text(code), expected, "{code}");
    }
}

#[test]
fn an_exception_is_a_failure_with_its_place_and_what_was_defined_before_stays() {
    let repl = Repl::new();
    let result =
        repl.run("before = 1\nprint('printed')\ndef divide():\n    return 1 / 0\ndivide()\nafter = 2");
    assert_eq!((result.outcome, error(&result)), (Outcome::Failed, "ZeroDivisionError: division by zero"));
    assert_eq!(text(&result), "printed\n");
    let traceback = result.detail.unwrap().traceback.unwrap();
    assert!(traceback.contains("File \"<call 1>\", line 4, in divide\n    return 1 / 0"), "{traceback}");
    assert!(!traceback.contains("_execute"), "only the code's own lines: {traceback}");
    assert_eq!(repl.text("before"), "1");
    assert_eq!(error(&repl.run("after")), "NameError: name 'after' is not defined");
    let syntax = repl.run("if True\n    1");
    assert!(error(&syntax).starts_with("SyntaxError: expected ':'"), "{syntax:?}");
}

#[test]
fn output_is_cut_with_a_note_that_gives_its_whole_length() {
    let mut config = PythonReplConfig::default();
    config.max_output_bytes = 10;
    let repl = Repl::with(config);
    for (code, expected) in [
        ("print('é' * 100)", "ééééé\n[cut: 10 of 201 bytes]"),
        ("print('xé' * 100)", "xéxéxéx\n[cut: 10 of 301 bytes]"),
        ("'v' * 100", "'vvvvvvvvv\n[cut: 10 of 102 bytes]"),
        ("for i in range(1000): print('y')", "y\ny\ny\ny\ny\n\n[cut: 10 of 2000 bytes]"),
    ] {
        let result = repl.run(code);
        assert_eq!(text(&result), expected, "{code}");
        assert!(result.detail.unwrap().truncated, "{code}");
    }
    assert_eq!(repl.run("print('0123456789', end='')").detail, None);
}

#[test]
fn exits_are_told_and_do_not_end_the_session() {
    let repl = Repl::new();
    repl.text("kept = 'kept'");
    assert_eq!(repl.run("import sys\nsys.exit()").outcome, Outcome::Ok);
    assert_eq!(repl.run("sys.exit(0)").outcome, Outcome::Ok);
    let failed = repl.run("print('bye')\nsys.exit(3)");
    assert_eq!((failed.outcome, error(&failed)), (Outcome::Failed, "the code exited with status 3"));
    assert_eq!(text(&failed), "bye\n");
    assert_eq!(text(&repl.run("sys.exit('reason')")), "reason\n");
    assert_eq!(repl.run("sys.exit(10**30)").outcome, Outcome::Ok, "as the shell sees it: its last byte");
    assert_eq!(repl.run("exit = sys.exit(True)").outcome, Outcome::Failed);
    assert_eq!(repl.text("kept"), "'kept'");
}

#[test]
fn without_code_or_without_a_backend_nothing_starts() {
    let repl = Repl::new();
    assert_eq!(repl.run("  \n").outcome, Outcome::BadArguments);
    let nowhere = PythonReplTool::new(PythonReplConfig::default(), NoBackend("do this".into()));
    let engine = Engine::builder().tool(nowhere).build().unwrap();
    let calls = vec![ToolCall::new("python_repl", serde_json::json!("1 + 1").into())];
    let result = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().results.remove(0);
    assert_eq!((result.outcome, error(&result)), (Outcome::NotStarted, "do this"));
}

#[test]
fn only_allowed_modules_can_be_imported_by_name_and_the_model_is_told() {
    let mut config = PythonReplConfig::default();
    config.allowed_modules = Some(["math".to_owned(), "json".to_owned()].into());
    let repl = Repl::with(config);
    assert_eq!(repl.text("import math, json.decoder\nfrom math import floor\nfloor(math.pi)"), "3");
    let refused = repl.run("import os");
    assert_eq!(error(&refused), "ImportError: module 'os' may not be imported; there is: json, math");
    assert!(repl.0.specs()[0].description_text().ends_with("Modules that may be imported: math, json."));
}

#[test]
fn half_characters_are_replaced_with_a_note() {
    let repl = Repl::new();
    check_half_characters(|code| repl.run(code));
}
