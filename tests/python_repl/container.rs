//! The tool in containers, on a real daemon: the same promises as on this machine, and none of its dangers.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions,
    Outcome::{self, Failed, Lost, Ok, TimedOut},
    ToolCall, ToolResult,
    config::Config,
    sandbox::SandboxPoolConfig,
};

use super::{check_half_characters, error, text};

/// An engine whose sessions are in containers of its own.
struct Contained {
    engine: Engine,
    name: String,
}

impl Contained {
    /// With settings for the part `[python_repl]`.
    fn new(settings: &str) -> Self {
        static TESTS: AtomicU32 = AtomicU32::new(0);
        let mut sandboxes = SandboxPoolConfig::default();
        let test = TESTS.fetch_add(1, Ordering::Relaxed);
        sandboxes.sandbox.name = format!("test-repl-{}-{test}", std::process::id());
        // Other tests keep the machine busy.
        sandboxes.sandbox.start_timeout = Duration::from_mins(2);
        let name = sandboxes.sandbox.name.clone();
        let config = Config::parse(&format!(
            "[tools]\nenable = [\"python_repl\"]\n[python]\nrepl = \"container\"\n[python_repl]\n{settings}"
        ))
        .unwrap();
        let engine = Engine::builder().config(&config).unwrap().sandbox(sandboxes).build().unwrap();
        Self { engine, name }
    }

    fn run_for(&self, agent: Option<&str>, code: &str) -> ToolResult {
        let options = agent.into_iter().fold(ExecuteOptions::new(), ExecuteOptions::agent);
        let calls = vec![ToolCall::new("python_repl", json!({"code": code}).into())];
        self.engine.execute_blocking(calls, options).unwrap().results.remove(0)
    }

    fn run(&self, code: &str) -> ToolResult {
        self.run_for(None, code)
    }

    fn text(&self, code: &str) -> String {
        let result = self.run(code);
        assert!(result.is_ok(), "{code}: {result:?}");
        text(&result).to_owned()
    }

    /// Its containers, by their ids.
    fn containers(&self) -> Vec<String> {
        let listed =
            Command::new("docker").args(["ps", "-q", "--filter"]).arg(format!("name={}", self.name)).output();
        String::from_utf8(listed.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// The commands of the processes in its containers that came of code.
    fn processes(&self) -> Vec<String> {
        let of = |id: String| {
            let top = Command::new("docker").args(["top", &id, "-eo", "pid,args"]).output().unwrap();
            String::from_utf8(top.stdout).unwrap()
        };
        let all: String = self.containers().into_iter().map(of).collect();
        all.lines().filter(|line| line.contains("sleep ")).map(str::to_owned).collect()
    }
}

#[test]
fn a_call_gives_what_was_printed_and_the_value_and_names_stay() {
    let repl = Contained::new("");
    for (code, expected) in [
        ("1 + 1", "2"),
        ("x = 20", ""),
        ("print('a')\nx + 1", "a\n21"),
        ("for i in range(3): print(i)", "0\n1\n2\n"),
        ("def f(n):\n    return n * y\n", ""),
        ("y = 3\nf(2)", "6"),
        ("import sys\nprint('out'); print('err', file=sys.stderr)", "out\nerr\n"),
        ("'grün €'", "'grün €'"),
        ("import os\nos.write(1, b'raw\\xff\\n') and None", "raw\u{fffd}\n"),
        ("import subprocess\nsubprocess.run(['sh', '-c', 'echo child']) and None", "child\n"),
    ] {
        assert_eq!(repl.text(code), expected, "{code}");
    }
    let result = repl.run("before = 1\nprint('printed')\n1 / 0\nafter = 2");
    assert_eq!((result.outcome, error(&result)), (Failed, "ZeroDivisionError: division by zero"));
    assert_eq!(text(&result), "printed\n");
    assert!(result.detail.unwrap().traceback.unwrap().contains("line 3, in <module>\n    1 / 0"));
    assert_eq!(repl.text("before"), "1");
    assert_eq!(error(&repl.run("after")), "NameError: name 'after' is not defined");
    block_on(repl.engine.shutdown(Duration::ZERO));
    assert_eq!(repl.containers(), Vec::<String>::new());
}

#[test]
fn each_agent_has_a_container_and_a_session_of_its_own() {
    let repl = Contained::new("allowed_modules = [\"math\"]");
    for (agent, value) in [("ada", "2"), ("bob", "3")] {
        assert!(repl.run_for(Some(agent), &format!("mine = {value}")).is_ok());
    }
    for (agent, value) in [("ada", "2"), ("bob", "3")] {
        assert_eq!(text(&repl.run_for(Some(agent), "import math\nmine")), value);
    }
    assert_eq!(repl.containers().len(), 2);
    let refused = repl.run_for(Some("ada"), "import os");
    assert_eq!(error(&refused), "ImportError: module 'os' may not be imported; there is: math");
}

/// Code, how its call ends, whether its session goes on, and what is said.
type Case = (&'static str, Outcome, bool, &'static str);

fn check(settings: &str, cases: &[Case]) {
    let repl = Contained::new(settings);
    for (code, outcome, stays, expected) in cases {
        assert!(repl.run("kept = 'kept'").is_ok());
        let began = Instant::now();
        let result = repl.run(code);
        assert!(began.elapsed() < Duration::from_secs(110), "{code}: {:?}", began.elapsed());
        assert_eq!(result.outcome, *outcome, "{code}: {result:?}");
        let said = format!("{} {}", result.error.clone().unwrap_or_default(), text(&result));
        assert!(said.contains(expected), "{code}: {said}");
        let next = repl.text("print('kept' in globals())\n1 + 1");
        if *stays {
            assert_eq!(next, "True\n2", "{code}");
        } else {
            assert!(next.starts_with("[new session, because the last call "), "{code}: {next}");
            assert!(next.ends_with(": names defined before are gone]\nFalse\n2"), "{code}: {next}");
        }
        assert_eq!(repl.processes(), Vec::<String>::new(), "{code}");
    }
    block_on(repl.engine.shutdown(Duration::ZERO));
    assert_eq!(repl.containers(), Vec::<String>::new());
}

#[test]
fn code_that_does_not_end_is_ended_with_all_that_it_started() {
    check(
        "timeout_s = 4",
        &[
            ("while True: pass", TimedOut, false, "stopped after 4 s; the session is ended"),
            (
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                TimedOut,
                false,
                "stopped",
            ),
            (
                "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nsubprocess.run(['sleep', '1000'])",
                TimedOut,
                false,
                "stopped",
            ),
        ],
    );
}

#[test]
fn floods_storms_and_slips_have_a_clear_end() {
    check(
        "timeout_s = 100",
        &[
            ("for i in range(1_000_000): print('x' * 1000)", Ok, true, "[cut: the first 10000 bytes]"),
            ("'x' * 10**7", Ok, true, "[cut: 10000 of 10000002 bytes]"),
            ("input()", Failed, true, "EOFError"),
            ("import sys\nsys.exit(3)", Failed, true, "exited with status 3"),
            ("import os\nos._exit(7)", Lost, false, "the code ended its Python process"),
            ("import os\nos.kill(os.getpid(), 9)", Lost, false, "the code ended its Python process"),
            (
                "import threading, time\nthreading.Thread(target=lambda: time.sleep(1000), daemon=True).start()",
                Ok,
                true,
                "",
            ),
            ("import os\nif not os.fork(): print('child')\nelse: os.wait()", Ok, true, "child"),
            (
                "import subprocess\nmany = [subprocess.Popen(['sleep', '1000']) for i in range(40)]",
                Lost,
                false,
                "the code left 40 processes behind; the session is ended",
            ),
            ("import os\nwhile True: os.fork()", Failed, true, "BlockingIOError"),
        ],
    );
}

#[test]
fn a_session_goes_on_in_another_container() {
    let first = Contained::new("");
    first.text("import math\nshared = [1]\npair = (shared, shared)\ndef f(): return 1");
    let state = block_on(first.engine.state("python_repl", None)).unwrap().unwrap();
    let second = Contained::new("");
    block_on(second.engine.set_state("python_repl", None, state)).unwrap();
    let text = second.text("pair[0].append(2)\npair, math.floor(2.5)");
    assert_eq!(text, "[session loaded without: f (f is defined in this session)]\n(([1, 2], [1, 2]), 2)");
}

#[test]
fn a_container_that_went_away_between_two_calls_is_replaced_with_what_could_be_kept() {
    let repl = Contained::new("");
    repl.text("kept = 'kept'");
    let killed = Command::new("docker").args(["rm", "-f"]).args(repl.containers()).output().unwrap();
    assert!(killed.status.success());
    // The engine hears of it by the end of a stream.
    let began = Instant::now();
    let mut last = repl.run("kept");
    while !last.is_ok() && began.elapsed() < Duration::from_secs(20) {
        last = repl.run("kept");
    }
    assert!(text(&last).ends_with("'kept'"), "{last:?}");
}

#[test]
fn sessions_begin_with_their_globals_and_a_reset_ends_them_with_their_containers() {
    let repl = Contained::new("globals = { limit = 3, flag = true }");
    assert_eq!(repl.text("[limit, flag]"), "[3, True]");
    assert!(repl.run_for(Some("ada"), "open('kept', 'w').close()\nn = 1").is_ok());
    let before = repl.containers();
    assert_eq!(before.len(), 2);
    assert!(block_on(repl.engine.reset()).unwrap().is_complete());
    assert!(repl.containers().iter().all(|container| !before.contains(container)), "those before are gone");
    let after = repl.run_for(Some("ada"), "import os\n['n' in globals(), os.path.exists('kept'), limit]");
    assert_eq!(text(&after), "[False, False, 3]");
}

#[test]
fn half_characters_are_replaced_with_a_note() {
    let contained = Contained::new("");
    check_half_characters(|code| contained.run(code));
}
