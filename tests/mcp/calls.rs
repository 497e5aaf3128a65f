//! Calls to servers: results, failures, cancels, progress.

use std::time::Duration;

use serde_json::json;
use toolyard::{
    Arguments, EventKind, ExecuteOptions, Outcome, ToolCall,
    formats::{anthropic, gemini},
};

use super::{engine_with, eventually, output, run, run_with, server, status};

#[tokio::test]
async fn every_kind_of_content_comes_through() {
    let engine = engine_with([("s", server([]))]).await;
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "t"});
    let cases = [
        (json!({"content": []}), json!("")),
        (json!({"content": [text, text]}), json!("t\nt")),
        (json!({"content": [image]}), json!([image])),
        (json!({"content": [], "structuredContent": {"result": [1, 2]}}), json!([1, 2])),
        (json!({"content": [text], "structuredContent": {"a": 1, "b": null}}), json!({"a": 1, "b": null})),
    ];
    for (sent, expected) in cases {
        assert_eq!(output(&engine, "s_content", sent).await, expected);
    }
    let result = run(&engine, "s_content", json!({"content": [image, text], "_meta": {"m": 1}})).await;
    let detail = result.detail.unwrap();
    assert_eq!(detail.content.unwrap().to_value(), json!([image, text]));
    assert_eq!(detail.meta.unwrap().to_value(), json!({"m": 1}));
    let failed = run(&engine, "s_content", json!({"content": [text], "isError": true})).await;
    assert_eq!((failed.outcome, failed.error.as_deref()), (Outcome::Failed, Some("t")));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn images_are_blocks_of_the_provider_and_a_failure_is_said_once() {
    let engine = engine_with([("s", server([]))]).await;
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "a cat"});
    let shown = run(&engine, "s_content", json!({"content": [text, image]})).await;
    let failed = run(&engine, "s_content", json!({"content": [text], "isError": true})).await;
    let results = [shown, failed];
    let blocks = json!(anthropic::blocks(&results));
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let expected = json!([{"type": "text", "text": "a cat"}, {"type": "image", "source": source}]);
    assert_eq!(blocks[0]["content"], expected);
    assert_eq!((&blocks[1]["content"], &blocks[1]["is_error"]), (&json!("failed: a cat"), &json!(true)));
    let parts = json!(gemini::response_parts(&results));
    let inline = json!([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]);
    assert_eq!(parts[0]["functionResponse"]["parts"], inline);
    assert_eq!(parts[1]["functionResponse"]["response"], json!({"error": "a cat"}));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn integers_of_any_size_go_out_and_come_back_exact() {
    let engine = engine_with([("s", server([]))]).await;
    for number in ["-9223372036854775809", "123456789012345678901234567890", &"7".repeat(200)] {
        for (structured, expected) in [
            (format!("{{\"a\":{number},\"b\":[{number}]}}"), None),
            (format!("{{\"result\":{number}}}"), Some(number)),
        ] {
            let arguments = format!("{{\"content\":[],\n\"structuredContent\":{structured}}}");
            let call = ToolCall::new("s_content", Arguments::Json(arguments));
            let result = engine.execute(vec![call], ExecuteOptions::new()).await.unwrap().results.remove(0);
            let output = result.output.as_ref().map(|output| output.to_text().replace(' ', ""));
            assert_eq!(output.as_deref(), Some(expected.unwrap_or(&structured)), "{result:?}");
            assert!(result.detail.is_none_or(|detail| detail.meta.is_none()));
        }
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_refusal_fails_its_own_call_alone() {
    let engine = engine_with([("s", server([]))]).await;
    let calls =
        ["s_echo", "s_refuse", "s_nothing", "s_echo"].map(|name| ToolCall::new(name, json!({}).into()));
    let report = engine.execute(calls.to_vec(), ExecuteOptions::new()).await.unwrap();
    let outcomes: Vec<_> = report.results.iter().map(|result| result.outcome.as_str()).collect();
    assert_eq!(outcomes, ["ok", "failed", "unknown_tool", "ok"]);
    assert_eq!(report.results[1].error.as_deref(), Some("tool \"s_refuse\": no tools/call"));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_lost_at_once_and_the_link_lives() {
    let engine = engine_with([("s", server([]).largest_message_bytes(100_000))]).await;
    let pid = output(&engine, "s_pid", json!({})).await;
    let result = run(&engine, "s_big", json!({"bytes": 1_000_000})).await;
    assert_eq!(result.outcome, Outcome::Lost);
    let error = "tool \"s_big\": its answer is larger than 100000 bytes";
    assert_eq!(result.error.as_deref(), Some(error));
    assert_eq!(output(&engine, "s_pid", json!({})).await, pid);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn noise_on_the_wire_disturbs_nothing() {
    let engine = engine_with([("s", server([]))]).await;
    assert_eq!(output(&engine, "s_noise", json!({})).await, "done");
    let text = "h\u{e9} \u{1f600} \u{2028} \u{85} \u{0} \u{feff}";
    assert_eq!(output(&engine, "s_echo", json!({"text": text})).await, text);
    assert_eq!(status(&engine)["s"].generation, 1);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_call_that_is_stopped_is_cancelled_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let engine = engine_with([("s", server([]).env("NOTES", notes.display().to_string()))]).await;
    let lines = || std::fs::read_to_string(&notes).unwrap_or_default().lines().count();

    let options = ExecuteOptions::new().timeout(Duration::from_millis(100));
    assert_eq!(run_with(&engine, "s_wait", json!({}), options).await.outcome, Outcome::TimedOut);
    eventually("the server hears of the time-out", || lines() == 1).await;

    let list = engine.submit(vec![ToolCall::new("s_wait", json!({}).into())], ExecuteOptions::new());
    let control = list.control();
    let running = tokio::spawn(async move { list.await.unwrap() });
    eventually("the call is out", || status(&engine)["s"].in_flight == 1).await;
    control.cancel();
    assert_eq!(running.await.unwrap().results[0].outcome, Outcome::Cancelled);
    eventually("the server hears of the cancel", || lines() == 2).await;
    assert_eq!(status(&engine)["s"].in_flight, 0);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn progress_comes_in_order() {
    let engine = engine_with([("s", server([]))]).await;
    let mut events = engine.subscribe(10_000);
    assert_eq!(output(&engine, "s_steps", json!({"steps": 200})).await, "done");
    let mut reached = Vec::new();
    while let Some(event) = events.try_next() {
        if let EventKind::Progress { payload, .. } = event.kind {
            reached.push(payload["progress"].as_f64().unwrap());
        }
    }
    assert!(!reached.is_empty());
    assert!(reached.is_sorted_by(|one, next| one < next), "{reached:?}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn the_time_of_a_call_starts_when_its_server_is_connected() {
    let folder = tempfile::tempdir().unwrap();
    let slow = folder.path().join("slow");
    // The first start is quick, for the list of tools; later ones take two seconds.
    let script = "test -e \"$1\" && sleep 2; touch \"$1\"; exec python3 \"$0\"";
    let config =
        toolyard::mcp::McpServerConfig::stdio("sh", ["-c", script, super::SERVER, slow.to_str().unwrap()])
            .mode(toolyard::mcp::LinkMode::PerCall);
    let engine = engine_with([("s", config)]).await;
    let options = ExecuteOptions::new().timeout(Duration::from_millis(1_500));
    let result = run_with(&engine, "s_echo", json!({}), options).await;
    assert_eq!(result.outcome, Outcome::Ok, "{result:?}");
    assert!(result.elapsed < Duration::from_millis(1_500), "waiting is not counted: {:?}", result.elapsed);
    engine.shutdown(Duration::ZERO).await;
}
