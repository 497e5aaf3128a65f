//! Code that does its worst: every call ends in time with a clear outcome, nothing is left, and the next call works.

use std::time::{Duration, Instant};

use toolyard::Outcome::{self, Failed, Lost, Ok, TimedOut};

use super::{Repl, processes_in, text};

/// How a call goes on with the session.
#[derive(PartialEq)]
enum Session {
    Stays,
    Ends,
}
use Session::{Ends, Stays};

fn check(new: impl Fn() -> Repl, cases: &[(&str, Outcome, Session, &str)]) {
    for (code, outcome, session, expected) in cases {
        let repl = new();
        repl.text("kept = 'kept'");
        let folder = repl.folder();
        let began = Instant::now();
        let result = repl.run(code);
        assert!(began.elapsed() < Duration::from_secs(40), "{code}: {:?}", began.elapsed());
        assert_eq!(result.outcome, *outcome, "{code}: {result:?}");
        let said = format!("{} {}", result.error.clone().unwrap_or_default(), text(&result));
        assert!(said.contains(expected), "{code}: {said}");
        if *session == Ends {
            assert_eq!(processes_in(&folder), Vec::<String>::new(), "{code}");
        }
        let next = repl.text("print('kept' in globals())\n1 + 1");
        match session {
            Stays => assert_eq!(next, "True\n2", "{code}"),
            Ends => {
                assert!(next.starts_with("[new session, because the last call "), "{code}: {next}");
                assert!(next.ends_with(": names defined before are gone]\nFalse\n2"), "{code}: {next}");
            }
        }
        let (old, new) = (folder, repl.folder());
        futures::executor::block_on(repl.0.shutdown(Duration::ZERO));
        for folder in [old, new] {
            assert_eq!(processes_in(&folder), Vec::<String>::new(), "{code}");
            assert!(!std::path::Path::new(&folder).exists(), "{code}");
        }
    }
}

#[test]
fn code_that_does_not_end_is_ended() {
    check(
        Repl::hasty,
        &[
            ("while True: pass", TimedOut, Ends, "stopped after 2 s; the session is ended"),
            ("print('before')\nimport time\ntime.sleep(1000)", TimedOut, Ends, "before"),
            (
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                TimedOut,
                Ends,
                "stopped",
            ),
            (
                "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\nwhile True: pass",
                TimedOut,
                Ends,
                "stopped",
            ),
            ("class R:\n    def __repr__(self):\n        while True: pass\nR()", TimedOut, Ends, "stopped"),
            (
                "import threading\nthreading.Lock().acquire() and threading.Event().wait()",
                TimedOut,
                Ends,
                "stopped",
            ),
            ("'(' * 10**9 + ')' if False else 10**10**10", TimedOut, Ends, "stopped"),
        ],
    );
}

#[test]
fn floods_are_cut_while_they_are_produced() {
    check(
        Repl::new,
        &[
            ("print('x' * 10**9)", Ok, Stays, "[cut: 10000 of 1000000001 bytes]"),
            ("'x' * 10**8", Ok, Stays, "[cut: 10000 of 100000002 bytes]"),
        ],
    );
    check(
        Repl::hasty,
        &[
            ("while True: print('x' * 1000)", TimedOut, Ends, "stopped after 2 s"),
            ("import os\nwhile True: os.write(1, b'x' * 65536)", TimedOut, Ends, "stopped after 2 s"),
            ("import subprocess\nsubprocess.run('yes')", TimedOut, Ends, "stopped after 2 s"),
        ],
    );
}

#[test]
fn what_asks_for_too_much_gets_an_exception() {
    check(
        Repl::new,
        &[
            ("bytearray(10**11)", Failed, Stays, "MemoryError"),
            ("x = []\nwhile True: x.append(bytearray(10**7))", Failed, Stays, "MemoryError"),
            ("def f(): return f()\nf()", Failed, Stays, "RecursionError"),
            ("input()", Failed, Stays, "EOFError"),
            ("import sys\nsys.stdin.read()", Ok, Stays, "''"),
            (
                "f = open('big', 'wb')\nfor i in range(3000): f.write(b'x' * 100_000)",
                Failed,
                Stays,
                "OSError",
            ),
            ("files = [open('/dev/null') for i in range(1000)]", Failed, Stays, "Too many open files"),
        ],
    );
}

// The storms stop growing by themselves, for the sake of the machine that runs a test that fails.
#[test]
fn a_storm_of_processes_is_ended() {
    let forks = "import os, time\nfor i in range(8): os.fork()\ntime.sleep(1000)";
    let orphans = "import subprocess, time\nscript = 'f() { if [ $1 = 0 ]; then sleep 1000; else f $(($1-1)) & f $(($1-1)) & fi; }; f 6'\n\
                   subprocess.run(['sh', '-c', script])\ntime.sleep(1000)";
    for storm in [forks, orphans] {
        check(Repl::new, &[(storm, Lost, Ends, "the code started more than 16 processes")]);
    }
}

#[test]
fn what_ends_its_process_or_breaks_its_pipes_loses_its_session() {
    check(
        Repl::new,
        &[
            (
                "import os\nprint('last words')\nos._exit(7)",
                Lost,
                Ends,
                "the code ended its Python process (exit status 7)",
            ),
            ("import os\nos.kill(os.getpid(), 9)", Lost, Ends, "signal 9 (SIGKILL)"),
            ("import ctypes\nctypes.string_at(0)", Lost, Ends, "signal 11 (SIGSEGV)"),
            (
                "import os\nfor fd in range(3, 250):\n    try: os.write(fd, b'\\xff' * 100)\n    except OSError: pass",
                Lost,
                Ends,
                "wrote over the session's own pipe",
            ),
            ("import os\nos.closerange(0, 250)", Lost, Ends, "the session is ended"),
            ("import os\nos.killpg(0, 9)", Lost, Ends, "signal 9"),
        ],
    );
}

#[test]
fn what_only_leaves_a_mess_in_the_session_stays_in_it() {
    check(
        Repl::new,
        &[
            (
                "import threading, time\nthreading.Thread(target=lambda: time.sleep(1000)).start()\n'started'",
                Ok,
                Stays,
                "'started'",
            ),
            (
                "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()",
                Ok,
                Stays,
                "",
            ),
            ("import subprocess\nsubprocess.Popen(['sleep', '1000']) and None", Ok, Stays, ""),
            (
                "import os\npid = os.fork()\nprint('in both')\npid and os.waitpid(pid, 0) and None",
                Ok,
                Stays,
                "in both",
            ),
            ("import sys\nsys.stdout = sys.stderr = None\nprint('nowhere')", Ok, Stays, ""),
            ("class E(Exception):\n    def __str__(self): raise E\nraise E", Failed, Stays, "E"),
            ("raise KeyboardInterrupt", Failed, Stays, "KeyboardInterrupt"),
            ("raise BaseException('odd')", Failed, Stays, "BaseException: odd"),
            ("raise Exception('\\udcff')", Failed, Stays, "Exception: "),
        ],
    );
}
