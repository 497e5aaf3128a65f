//! `sandbox_python` and `sandbox_shell` as a model meets them.

use std::{future::IntoFuture, time::Duration};

use serde_json::{Value, json};
use toolyard::{Engine, EventKind, ExecuteOptions, Outcome, ToolCall, ToolResult};

use super::{config, containers};

/// An engine with both tools, and the name of its containers.
fn engine() -> (Engine, String) {
    let config = config();
    let name = config.sandbox.name.clone();
    (Engine::builder().sandbox(config).sandbox_tools().build().unwrap(), name)
}

async fn run(engine: &Engine, calls: &[(&str, Value)], options: ExecuteOptions) -> Vec<ToolResult> {
    let calls: Vec<_> =
        calls.iter().map(|(name, arguments)| ToolCall::new(*name, arguments.clone().into())).collect();
    engine.execute(calls, options).await.unwrap().results
}

fn output(result: &ToolResult) -> Value {
    result.output.as_ref().unwrap().to_value()
}

#[tokio::test]
async fn an_agents_calls_share_files_and_run_in_their_order() {
    let (engine, name) = engine();
    let calls = [
        ("sandbox_python", json!({"code": "open('a', 'w').write('it\\'s')\nprint('made')"})),
        ("sandbox_shell", json!({"code": "cat a; echo >> a"})),
        ("sandbox_python", json!({"input": "print(len(open('a').read()))"})),
    ];
    let results = run(&engine, &calls, ExecuteOptions::new().agent("one")).await;
    let said: Vec<_> =
        results.iter().map(|result| output(result)["stdout"].as_str().unwrap().to_owned()).collect();
    assert_eq!(said, ["made\n", "it's", "5\n"]);
    assert_eq!(output(&results[0])["artifacts"], json!([{"path": "a", "bytes": 4}]));
    let other =
        run(&engine, &[("sandbox_shell", json!({"code": "ls"}))], ExecuteOptions::new().agent("two")).await;
    assert_eq!(output(&other[0])["stdout"], "");
    assert_eq!(containers(&name).len(), 2);
    engine.shutdown(Duration::ZERO).await;
    assert_eq!(containers(&name), Vec::<String>::new());
}

#[tokio::test]
async fn every_end_has_its_outcome_and_keeps_what_was_printed() {
    let (engine, _) = engine();
    let calls = [
        ("sandbox_python", json!({"code": "print('out')\n1 / 0"})),
        ("sandbox_python", json!({"code": "print('out', flush=True)\nwhile True: pass", "timeout_s": 0.3})),
        ("sandbox_python", json!({"code": "print('x' * 3_000_000)"})),
        ("sandbox_shell", json!({"code": "kill -9 $$"})),
        ("sandbox_shell", json!({})),
        ("sandbox_shell", json!({"code": "true", "timeout_s": -1})),
    ];
    let results = run(&engine, &calls, ExecuteOptions::new().agent("a")).await;
    let ends: Vec<_> =
        results.iter().map(|result| (result.outcome, result.error.as_deref().unwrap_or_default())).collect();
    assert_eq!(ends[0], (Outcome::Failed, "exit code 1: ZeroDivisionError: division by zero"));
    assert_eq!(output(&results[0])["stdout"], "out\n");
    assert_eq!(ends[1].0, Outcome::TimedOut);
    assert_eq!(output(&results[1])["stdout"], "out\n");
    assert_eq!((ends[2].0, results[2].detail.as_ref().unwrap().truncated), (Outcome::Ok, true));
    assert_eq!(ends[3], (Outcome::Failed, "ended by signal 9"));
    assert_eq!(ends[4], (Outcome::BadArguments, "no code: give it in `code`"));
    assert_eq!(ends[5].0, Outcome::BadArguments);
}

#[tokio::test]
async fn a_call_that_is_stopped_stops_its_code_and_the_next_finds_the_files() {
    let (engine, _) = engine();
    let mut events = engine.subscribe(100);
    let endless = json!({"code": "open('kept', 'w').close()\nprint('begun')\nwhile True: pass"});
    let calls = vec![ToolCall::new("sandbox_python", endless.into())];
    let running = engine.submit(calls, ExecuteOptions::new().agent("a"));
    let control = running.control();
    let stop = async {
        while let Some(event) = events.next().await {
            if matches!(event.kind, EventKind::Progress { .. }) {
                return control.cancel();
            }
        }
    };
    let (report, ()) = tokio::join!(running.into_future(), stop);
    assert_eq!(report.unwrap().results[0].outcome, Outcome::Cancelled);
    // It ends by itself when the other's process is gone.
    let look = "import os, time\nown = lambda pid: os.stat(f'/proc/{pid}/environ').st_uid == os.getuid()\n\
                while sum(pid.isdigit() and own(pid) for pid in os.listdir('/proc')) > 1: time.sleep(0.01)\n\
                print(os.listdir())";
    let calls = [("sandbox_python", json!({"code": look}))];
    let next = run(&engine, &calls, ExecuteOptions::new().agent("a")).await;
    assert_eq!(output(&next[0])["stdout"], "['kept']\n", "{next:?}");
}

#[tokio::test]
async fn what_is_printed_is_told_while_the_call_runs() {
    let (engine, _) = engine();
    let mut events = engine.subscribe(100);
    run(&engine, &[("sandbox_python", json!({"code": "print('seen')"}))], ExecuteOptions::new()).await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::Progress { payload, .. } => told.push(payload),
            EventKind::ListFinished { .. } => break,
            _ => {}
        }
    }
    assert_eq!(told, [json!({"stream": "stdout", "text": "seen\n"})]);
}

#[tokio::test]
async fn without_a_daemon_a_call_is_not_started_and_says_what_to_do() {
    let mut config = config();
    config.sandbox.daemon = Some("unix:///nowhere/docker.sock".to_owned());
    let engine = Engine::builder().sandbox(config).sandbox_tools().build().unwrap();
    let results = run(&engine, &[("sandbox_python", json!({"code": "1"}))], ExecuteOptions::new()).await;
    assert_eq!(results[0].outcome, Outcome::NotStarted);
    assert!(results[0].error.as_ref().unwrap().contains("start it"), "{results:?}");
}
