use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use serde_json::json;
use toolyard::{Engine, PythonConfig};

use super::Files;
use crate::processes::{assert_gone, kill_now, mark, wait_for};

/// Functions that leave processes behind: in the group, in a session of their own, and a daemon that ignores
/// signals and knows nothing of its past.
fn tools(mark: &str) -> String {
    format!(
        "
import ctypes, subprocess, time

def leave():
    subprocess.Popen(['sleep', '{mark}'])
    subprocess.Popen(['setsid', 'sleep', '{mark}'])
    subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" TERM HUP; env -i sleep {mark} & sleep {mark}'])

def hang():
    ctypes.PyDLL(None).sleep(86399)  # in C, with the interpreter's lock held

def leave_in_the_group():
    subprocess.Popen(['sleep', '{mark}'])
"
    )
}

/// Writes a line to an engine's input and reads its answer.
fn ask(engine: &mut Child, answers: &mut impl BufRead, document: &str) -> String {
    let stdin = engine.stdin.as_mut().unwrap();
    writeln!(stdin, "{document}").and_then(|()| stdin.flush()).unwrap();
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    answer
}

#[cfg(feature = "cli")]
mod program {
    use super::*;
    use crate::processes::marked;

    fn start(files: &Files, mark: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_toolyard"))
            .args(["call", "--jsonl", "--python"])
            .arg(files.path("tools.py"))
            .env("TOOLYARD_TEST_MARK", mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(engine.stdout.take().unwrap());
        (engine, answers)
    }

    fn kill(mut engine: Child) {
        kill_now(engine.id());
        engine.wait().unwrap();
    }

    #[test]
    fn nothing_outlives_the_program_when_it_is_killed() {
        let mark = mark();
        let files = Files::new(&[("tools.py", &tools(&mark))]);
        let (mut engine, mut answers) = start(&files, &mark);
        let answer = ask(&mut engine, &mut answers, r#"[{"name": "leave"}]"#);
        assert!(answer.contains(r#""outcome":"ok""#), "{answer}");
        // The program, the keeper, the worker, and what the call left.
        wait_for(3 + 5, &mark);
        kill(engine);
        assert_gone(&mark);
    }

    #[test]
    fn nothing_outlives_the_program_when_it_is_killed_during_a_call_that_holds_the_interpreter() {
        let mark = mark();
        let files = Files::new(&[("tools.py", &tools(&mark))]);
        let (mut engine, mut answers) = start(&files, &mark);
        ask(&mut engine, &mut answers, r#"[{"name": "leave"}]"#);
        writeln!(engine.stdin.as_mut().unwrap(), r#"[{{"name": "hang"}}]"#).unwrap();
        kill(engine);
        assert_gone(&mark);
    }

    #[test]
    fn nothing_outlives_the_program_when_it_is_killed_at_any_moment_of_its_start() {
        for round in 0..9 {
            let mark = mark();
            let files = Files::new(&[("tools.py", &tools(&mark))]);
            let (engine, _answers) = start(&files, &mark);
            // Moments that differ by what has been started, not by a clock: so many processes must be there.
            wait_for(1 + round % 3, &mark);
            kill(engine);
            assert_gone(&mark);
        }
    }

    #[test]
    fn nothing_outlives_the_program_when_it_ends_by_itself() {
        let mark = mark();
        let files = Files::new(&[("tools.py", &tools(&mark))]);
        let (mut engine, mut answers) = start(&files, &mark);
        ask(&mut engine, &mut answers, r#"[{"name": "leave"}]"#);
        drop(engine.stdin.take());
        assert!(engine.wait().unwrap().success());
        assert_eq!(marked(&mark), []);
    }
}

const HOST: &str = "python::engine_killed::host_for_another_test";

/// A program that embeds the engine and does not offer itself as a keeper: this one, run by the test below.
#[test]
#[ignore = "runs until it is killed, for another test"]
fn host_for_another_test() {
    let Some(file) = std::env::var_os("TOOLYARD_TEST_FILE") else { return };
    let engine = Engine::builder()
        .python(PythonConfig::default())
        .python_file(toolyard::PythonFile::new(file))
        .build()
        .unwrap();
    super::output(&engine, "leave_in_the_group", json!({}));
    println!("ready");
    super::run(&engine, "hang", json!({}));
}

#[test]
fn without_a_keeper_the_group_of_a_worker_still_ends_with_the_engine() {
    let mark = mark();
    let files = Files::new(&[("tools.py", &tools(&mark))]);
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", HOST, "--ignored", "--nocapture"])
        .env("TOOLYARD_TEST_FILE", files.path("tools.py"))
        .env("TOOLYARD_TEST_MARK", &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let answers = BufReader::new(host.stdout.take().unwrap());
    assert!(answers.lines().any(|line| line.unwrap().contains("ready")));
    wait_for(4, &mark);
    kill_now(host.id());
    host.wait().unwrap();
    assert_gone(&mark);
}
