//! Sessions of agents, their ends, and what outlives them.

use std::{path::Path, time::Duration};

use futures::executor::block_on;
use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall,
    builtin::python_repl::{HostProcess, PythonReplConfig, PythonReplTool},
};

use super::{Repl, error, processes_in, text};

#[test]
fn each_agent_has_a_session_of_its_own() {
    let repl = Repl::new();
    for (agent, value) in [(None, "1"), (Some("ada"), "2"), (Some("bob"), "3")] {
        assert!(repl.run_for(agent, &format!("mine = {value}")).is_ok());
    }
    for (agent, value) in [(None, "1"), (Some("ada"), "2"), (Some("bob"), "3")] {
        assert_eq!(text(&repl.run_for(agent, "mine")), value);
    }
}

#[test]
fn an_agent_that_is_forgotten_loses_its_session_and_its_names() {
    let repl = Repl::new();
    for agent in ["ada", "bob"] {
        assert!(repl.run_for(Some(agent), "mine = 1").is_ok());
    }
    let folder = text(&repl.run_for(Some("ada"), "import os\nprint(os.getcwd())")).trim().to_owned();
    assert_eq!(block_on(repl.0.forget("ada")).unwrap().rows, 1);
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(error(&repl.run_for(Some("ada"), "mine")).contains("NameError"));
    assert_eq!(text(&repl.run_for(Some("bob"), "mine")), "1");
}

#[test]
fn calls_of_one_list_run_one_after_the_other_in_one_session() {
    let repl = Repl::new();
    let codes = ["n = 1", "n += 1", "n *= 10", "n"];
    let calls = codes.map(|code| ToolCall::new("python_repl", json!({"code": code}).into())).to_vec();
    let report = repl.0.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(text(&report.results[3]), "20");
}

#[test]
fn a_call_that_is_cancelled_ends_its_session_and_the_next_one_says_so() {
    let repl = Repl::new();
    let folder = repl.folder();
    let fifo = format!("{folder}/begun");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let code = "open('begun', 'w').close()\nimport time\ntime.sleep(1000)";
    let run = repl.0.submit(vec![ToolCall::new("python_repl", json!(code).into())], ExecuteOptions::new());
    let control = run.control();
    let begun = std::thread::spawn(move || {
        // Opens when the code does.
        std::fs::File::open(fifo).unwrap();
        control.cancel();
    });
    let report = block_on(run.into_future()).unwrap();
    begun.join().unwrap();
    assert_eq!(report.results[0].outcome, Outcome::Cancelled);
    let next = repl.text("1");
    assert_eq!(next, "[new session, because the last call was stopped: names defined before are gone]\n1");
    block_on(repl.0.shutdown(Duration::ZERO));
    assert_eq!(processes_in(&folder), Vec::<String>::new());
}

/// The state of the row of calls without an agent.
fn row(repl: &Repl) -> Value {
    let row = block_on(repl.0.state("python_repl", None)).unwrap().unwrap();
    serde_json::from_str(row.get()).unwrap()
}

#[test]
fn a_session_goes_on_in_another_engine_and_names_what_could_not_come_along() {
    let first = Repl::new();
    first.text(
        "import math, os.path as p, threading\nfrom collections import Counter\nshared = [1]\npair = (shared, shared)\n\
         counts = Counter('aab')\nbig = 12345678901234567890\ndef f(): return 1\nclass C: pass\nc = C()\n\
         lock = threading.Lock()\nlarge = b'x' * 2_000_000",
    );
    let saved = row(&first);
    let not_kept: Vec<_> = saved["snapshot"]["not_kept"].as_object().unwrap().keys().collect();
    assert_eq!(not_kept, ["C", "c", "f", "large", "lock"]);

    let second = Repl::new();
    let raw = serde_json::value::to_raw_value(&saved).unwrap();
    block_on(second.0.set_state("python_repl", None, raw)).unwrap();
    let begun =
        second.text("pair[0].append(2)\npair, counts['a'], big, math.floor(2.5), p.basename('a/b'), Counter");
    let (news, value) = begun.split_once("]\n").unwrap();
    for missing in [
        "C (C is defined in this session)",
        "f (f is defined in this session)",
        "lock (cannot pickle",
        "large (it has more than 1000000 bytes)",
    ] {
        assert!(news.starts_with("[session loaded without: ") && news.contains(missing), "{news}");
    }
    assert_eq!(value, "(([1, 2], [1, 2]), 2, 12345678901234567890, 2, 'b', <class 'collections.Counter'>)");
    assert_eq!(error(&second.run("f")), "NameError: name 'f' is not defined");
    assert_eq!(second.text("shared"), "[1, 2]", "said once");
}

#[test]
fn a_row_that_is_replaced_or_forgotten_begins_a_new_session() {
    let repl = Repl::new();
    let old = repl.folder();
    repl.text("x = 1");
    let before = serde_json::value::to_raw_value(&row(&repl)).unwrap();
    repl.text("x = 2");
    block_on(repl.0.set_state("python_repl", None, before)).unwrap();
    assert_eq!(repl.text("x"), "[session loaded]\n1");
    assert_ne!(repl.folder(), old);
    assert_eq!(processes_in(&old), Vec::<String>::new());
}

#[test]
fn a_snapshot_that_cannot_be_read_is_told_and_the_session_begins() {
    let repl = Repl::new();
    let state = json!({"mark": 1, "snapshot": {"pickle": "bm90IGEgcGlja2xl", "imports": {"m": "no_such_module"}, "not_kept": {}}});
    block_on(repl.0.set_state("python_repl", None, serde_json::value::to_raw_value(&state).unwrap()))
        .unwrap();
    let text = repl.text("1");
    assert!(text.contains("m (No module named 'no_such_module')") && text.contains("the values ("), "{text}");
    assert!(text.ends_with("]\n1"));
}

#[test]
fn sessions_make_room_for_one_another_and_come_back_with_their_names() {
    let mut config = PythonReplConfig::default();
    config.max_sessions = 2;
    let repl = Repl::with(config);
    let folders: Vec<String> = ["a", "b", "c"]
        .map(|agent| {
            let result = repl.run_for(Some(agent), &format!("mine = '{agent}'\nimport os\nos.getcwd()"));
            text(&result).trim_matches('\'').to_owned()
        })
        .to_vec();
    assert_eq!(processes_in(&folders[0]), Vec::<String>::new(), "the oldest made room");
    assert!(!processes_in(&folders[1]).is_empty());
    assert_eq!(text(&repl.run_for(Some("a"), "mine")), "[session loaded]\n'a'");
}

#[test]
fn nothing_of_a_session_outlives_its_engine() {
    let repl = Repl::new();
    let folder = repl.folder();
    repl.text("open('file', 'w').close()\nimport subprocess\nsubprocess.Popen(['sleep', '1000']) and None");
    assert!(processes_in(&folder).len() >= 2);
    block_on(repl.0.shutdown(Duration::ZERO));
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(!Path::new(&folder).exists());
}

#[test]
fn code_runs_in_a_short_environment_and_a_folder_of_its_own() {
    let repl = Repl::new();
    // The interpreter may be a script that sets variables of its own.
    assert!(std::env::var_os("HOME").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(
        repl.text("import os\n[name for name in os.environ if name[:5] in ('HOME', 'CARGO')]"),
        "['HOME']"
    );
    let mode = "import os, stat\nprint(oct(stat.S_IMODE(os.stat('.').st_mode)), os.listdir('.'))";
    assert_eq!(repl.text(mode), "0o700 []\n");
}

#[test]
fn a_call_waits_for_a_session_when_all_are_at_work_and_is_not_started_when_none_comes_to_rest() {
    let mut config = PythonReplConfig::default();
    config.max_sessions = 1;
    let tool = PythonReplTool::new(config, HostProcess::default());
    let engine = Engine::builder().tool(tool).admission_timeout(Duration::from_secs(5)).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let list = |agent: &str, code: String| {
        let calls = vec![ToolCall::new("python_repl", json!({"code": code}).into())];
        engine.submit(calls, ExecuteOptions::new().agent(agent).timeout(Duration::from_mins(1)))
    };
    let code = format!(
        "import os, time\nopen({:?}, 'w').close()\nwhile not os.path.exists({:?}): time.sleep(0.01)",
        path("began"),
        path("go")
    );
    std::thread::scope(|scope| {
        let first = list("a", code);
        let first = scope.spawn(|| block_on(async { first.await.unwrap() }));
        while !path("began").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let late = block_on(async { list("b", "1".into()).await.unwrap() });
        assert_eq!(late.results[0].outcome.as_str(), "not_started", "{:?}", late.results);
        assert!(late.results[0].detail.as_ref().unwrap().retry_after_ms == Some(5_000));
        let next = list("c", "2".into());
        let next = scope.spawn(|| block_on(async { next.await.unwrap() }));
        std::thread::sleep(Duration::from_millis(300));
        std::fs::write(path("go"), "").unwrap();
        assert!(first.join().unwrap().all_ok());
        let next = next.join().unwrap();
        assert!(next.all_ok(), "{:?}", next.results);
    });
}

#[test]
fn a_session_begins_with_the_globals_of_its_settings() {
    let mut config = PythonReplConfig::default();
    let globals = json!({"limit": 3, "names": ["a", {"b": null, "c": true}], "text": "it's \"quoted\"\n"});
    config.globals = std::sync::Arc::new(globals.as_object().unwrap().clone());
    let repl = Repl::with(config);
    assert_eq!(
        repl.text("[limit, names, text]"),
        r#"[3, ['a', {'b': None, 'c': True}], 'it\'s "quoted"\n']"#
    );
    assert!(repl.run("limit = 4").is_ok());
    assert_eq!(repl.text("limit"), "4");
    assert_eq!(text(&repl.run_for(Some("ada"), "limit")), "3", "each session has its own");
    let spec = repl.0.specs().remove(0);
    assert!(
        spec.description_text().ends_with("Names that are defined from the beginning: limit, names, text.")
    );
}

#[test]
fn a_stop_ends_sessions_whose_names_are_kept_and_a_reset_forgets_the_names_too() {
    let repl = Repl::new();
    assert!(repl.run("n = 1").is_ok());
    let folder = repl.folder();
    assert!(block_on(repl.0.stop()).unwrap().is_complete());
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(repl.text("n").ends_with("\n1"), "the names come back in another process");
    let folder = repl.folder();
    assert!(block_on(repl.0.reset()).unwrap().is_complete());
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(error(&repl.run("n")).contains("NameError"));
}

#[test]
fn a_session_at_work_when_its_engine_is_reset_ends_with_its_call() {
    let repl = Repl::new();
    let folder = repl.folder();
    let fifo = format!("{folder}/begun");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let code = "n = 1\nopen('begun', 'w').close()\nopen('begun').close()";
    let run = repl.0.submit(vec![ToolCall::new("python_repl", json!(code).into())], ExecuteOptions::new());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| block_on(run.into_future()).unwrap());
        // Each opens when the code does.
        drop(std::fs::File::open(&fifo).unwrap());
        block_on(repl.0.stop()).unwrap();
        drop(std::fs::File::options().write(true).open(&fifo).unwrap());
        assert!(running.join().unwrap().all_ok());
    });
    while !processes_in(&folder).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(repl.text("n").ends_with("\n1"));
}
