use std::{collections::HashMap, fs, path::Path, thread, time::Duration};

use serde_json::json;
use toolyard::{Engine, Outcome, PythonConfig};

use super::{Files, call, error_of, output, run, run_all};
use crate::processes::{assert_gone, kill_now, mark};

const STEPS: &str = "
import os, time
here = os.path.dirname(__file__)

def note(name, text):
    fd = os.open(os.path.join(here, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, (text + '\\n').encode())
    os.close(fd)

note('pids', str(os.getpid()))

def alone(n: int):
    note('begun', str(n))
    time.sleep(0.0005)
    return n

def beside(n: int):
    note('begun', str(n))
    time.sleep(0.001)
    return n

beside.parallel_safe = True

async def task(n: int):
    note('begun', str(n))
    import asyncio
    await asyncio.sleep(0.001)
    return n
";

/// Numbers that look random and are the same in each run.
fn numbers(below: usize) -> impl Iterator<Item = usize> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % below
    })
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_thousand_calls_survive_fifty_kills_of_their_worker_and_none_is_repeated() {
    const CALLS: usize = 1000;
    const KILLS: usize = 50;
    let files = Files::new(&[("tools.py", STEPS)]);
    let mark = mark();
    let mut config = PythonConfig::default();
    config.env.push(("TOOLYARD_TEST_MARK".into(), mark.clone().into()));
    let file = files.file("tools.py").exclude("note");
    let engine = Engine::builder().python(config).python_file(file).build().unwrap();
    let (begun, pids) = (files.path("begun"), files.path("pids"));

    let mut moments: Vec<_> = numbers(CALLS * 9 / 10).take(KILLS).collect();
    moments.sort_unstable();
    let killer = thread::spawn({
        let (begun, pids) = (begun.clone(), pids.clone());
        move || {
            for moment in moments {
                while lines(&begun).len() < moment {
                    thread::yield_now();
                }
                let current = lines(&pids).pop().and_then(|pid| pid.parse().ok());
                kill_now(current.expect("a worker that has started"));
            }
        }
    });
    let mut results = Vec::new();
    for list in (0..CALLS).collect::<Vec<_>>().chunks(25) {
        let calls = list.iter().map(|n| {
            let name = ["alone", "beside", "task", "beside", "task"][n % 5];
            call(name, json!({ "n": n }))
        });
        results.extend(run_all(&engine, calls.collect()).results);
    }
    killer.join().unwrap();

    let mut times: HashMap<String, usize> = HashMap::new();
    for line in lines(&begun) {
        *times.entry(line).or_default() += 1;
    }
    assert_eq!(results.len(), CALLS);
    for (n, result) in results.iter().enumerate() {
        let ran = times.get(&n.to_string()).copied().unwrap_or(0);
        match result.outcome {
            Outcome::Ok => assert_eq!(ran, 1, "{n}: {result:?}"),
            Outcome::Lost => assert!(ran <= 1, "{n} ran {ran} times: {result:?}"),
            Outcome::NotStarted => assert_eq!(ran, 0, "{n}: {result:?}"),
            _ => panic!("{n}: {result:?}"),
        }
    }
    assert!(results.iter().any(|result| result.outcome == Outcome::Lost), "no kill met a call");
    assert!(results.iter().filter(|result| result.is_ok()).count() > CALLS / 2);
    futures::executor::block_on(engine.shutdown(Duration::ZERO));
    assert_gone(&mark);
}

#[test]
fn a_call_whose_process_ends_is_lost_and_the_next_one_finds_another() {
    let (engine, _files) = super::engine_of(
        "
import os, signal

def leave(): os._exit(3)
def die(): os.kill(os.getpid(), signal.SIGKILL)
def pid(): return os.getpid()
",
    );
    let first = output(&engine, "pid", json!({}));
    let left = run(&engine, "leave", json!({}));
    assert_eq!(left.outcome, Outcome::Lost);
    assert!(error_of(&left).ends_with("(exit status 3)"), "{left:?}");
    let second = output(&engine, "pid", json!({}));
    assert_ne!(first, second);
    let died = run(&engine, "die", json!({}));
    assert!(error_of(&died).ends_with("(signal 9 (SIGKILL))"), "{died:?}");
    assert_ne!(output(&engine, "pid", json!({})), second);
}

#[test]
fn calls_that_wait_behind_a_lost_one_run_in_the_next_process() {
    let (engine, _files) =
        super::engine_of("import os\n\ndef leave(): os._exit(1)\n\ndef fine(): return 1\n");
    let results = run_all(
        &engine,
        ["leave", "fine", "leave", "fine"].iter().map(|name| call(name, json!({}))).collect(),
    )
    .results;
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Lost, Outcome::Ok, Outcome::Lost, Outcome::Ok]);
}

#[test]
fn a_file_that_breaks_after_a_crash_leaves_its_calls_not_started() {
    let (engine, files) = super::engine_of("import os\n\ndef leave(): os._exit(1)\n\ndef fine(): return 1\n");
    files.write("tools.py", "raise RuntimeError('broken now')\n");
    let results = run_all(&engine, vec![call("leave", json!({})), call("fine", json!({}))]).results;
    assert_eq!(results[0].outcome, Outcome::Lost);
    assert_eq!(results[1].outcome, Outcome::NotStarted);
    assert!(error_of(&results[1]).contains("tools.py:1: RuntimeError: broken now"), "{results:?}");
}

#[test]
fn shutting_down_leaves_no_process() {
    let files = Files::new(&[(
        "tools.py",
        "import subprocess\nsubprocess.Popen(['sleep', '86399'])\n\ndef f(): return 1\n",
    )]);
    let mark = mark();
    let mut config = PythonConfig::default();
    config.env.push(("TOOLYARD_TEST_MARK".into(), mark.clone().into()));
    let engine = Engine::builder().python(config).python_file(files.file("tools.py")).build().unwrap();
    assert_eq!(output(&engine, "f", json!({})), json!(1));
    assert!(!crate::processes::marked(&mark).is_empty());
    futures::executor::block_on(engine.shutdown(Duration::ZERO));
    assert_gone(&mark);
}
