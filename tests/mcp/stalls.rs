//! Servers that stop reading, or say nothing any more: their links end, and come back.

use std::time::Duration;

use serde_json::json;
use toolyard::{ExecuteOptions, Outcome, ToolCall, mcp::McpState};

use super::{engine_with, eventually, output, rogue::Rogue, run, run_with, status, within};

/// So long a server is waited for in these tests: it must have started by then, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_server_that_stops_reading_is_left_and_comes_back() {
    let rogue = Rogue::start("stdio").await;
    let engine = engine_with([("s", rogue.config.clone().connect_timeout(PATIENCE))]).await;
    let old = output(&engine, "s_pid", json!({})).await;
    assert_eq!(output(&engine, "s_deaf", json!({})).await, "deaf");
    let large = json!({"line": "x".repeat(3 << 20)});
    let result = within("the stall is seen", run(&engine, "s_raw", large)).await;
    assert_eq!(result.outcome, Outcome::NotStarted, "{result:?}");
    let error = "it stopped reading: it took nothing of what was sent to it for 4 s";
    assert!(result.error.as_deref().unwrap().contains(error), "{result:?}");
    eventually("it is back", || status(&engine)["s"].state == McpState::Ready).await;
    assert_eq!(status(&engine)["s"].last_error.as_deref(), Some(error));
    assert_ne!(output(&engine, "s_pid", json!({})).await, old);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_server_that_works_at_a_call_may_read_when_it_is_done() {
    let rogue = Rogue::start("stdio").await;
    let patience = Duration::from_secs(2);
    let engine = engine_with([("s", rogue.config.clone().connect_timeout(patience))]).await;
    let calls = vec![
        ToolCall::new("s_work", json!({"s": 6}).into()),
        ToolCall::new("s_raw", json!({"line": "{\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{\"content\":[]}}", "more": "x".repeat(1 << 20)}).into()),
    ];
    let report = engine.execute(calls, ExecuteOptions::new()).await.unwrap();
    let outcomes: Vec<_> = report.results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok], "{report:?}");
    assert_eq!(status(&engine)["s"].generation, 1);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_endless_answer_ends_its_call_and_its_link() {
    for link in ["stdio", "old"] {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone().largest_message_bytes(1 << 20))]).await;
        let result = within("it is given up", run(&engine, "s_endless", json!({}))).await;
        assert_eq!(result.outcome, Outcome::Lost, "{result:?}");
        eventually("the link ends", || status(&engine)["s"].last_error.is_some()).await;
        let error = status(&engine)["s"].last_error.clone().unwrap();
        assert!(error.contains("without the end of a line"), "{link}: {error}");
        eventually("it is back", || status(&engine)["s"].state == McpState::Ready).await;
        assert_eq!(within("the next call", output(&engine, "s_echo", json!({}))).await, "echo");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn after_a_call_was_given_up_a_server_that_says_nothing_more_is_left() {
    let rogue = Rogue::start("stdio").await;
    let engine = engine_with([("s", rogue.config.clone().connect_timeout(Duration::from_secs(2)))]).await;
    assert_eq!(output(&engine, "s_deaf", json!({})).await, "deaf");
    let soon = || ExecuteOptions::new().timeout(Duration::from_millis(200));
    let result = run_with(&engine, "s_echo", json!({}), soon()).await;
    assert_eq!(result.outcome, Outcome::TimedOut, "{result:?}");
    let error = "after a call was given up it answered none of 2 health checks within 2 s";
    eventually("it is found out", || status(&engine)["s"].last_error.as_deref() == Some(error)).await;
    eventually("it is back", || status(&engine)["s"].state == McpState::Ready).await;
    assert_eq!(output(&engine, "s_echo", json!({})).await, "echo");

    // One that answers is left alone, and so is one that works at an older call.
    let generation = status(&engine)["s"].generation;
    assert_eq!(run_with(&engine, "s_hang", json!({}), soon()).await.outcome, Outcome::TimedOut);
    let working = run(&engine, "s_work", json!({"s": 8}));
    let impatient = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run_with(&engine, "s_echo", json!({}), soon()).await
    };
    let (worked, given_up) = tokio::join!(working, impatient);
    assert_eq!((worked.outcome, given_up.outcome), (Outcome::Ok, Outcome::TimedOut), "{worked:?}");
    assert_eq!(status(&engine)["s"].generation, generation);
    engine.shutdown(Duration::ZERO).await;
}
