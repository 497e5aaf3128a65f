//! Metrics over HTTP, on loopback.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions, Failure, RetryPolicy, ToolSpec,
    telemetry::{PrometheusError, measure, serve_prometheus},
};

use crate::engine::tools::{blocking, call, echo, tool};

/// What is served there now.
fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn calls_are_counted_by_tool_and_outcome_and_invented_names_make_no_series() {
    // An address that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    serve_prometheus(address).unwrap();
    let shut = tool(ToolSpec::new("shut").max_in_flight(1).parallel_safe(true), |_| async {
        tokio::task::yield_now().await;
        Err(Failure::failed("closed"))
    });
    let looks = blocking(ToolSpec::new("looks"), move |_| Ok(scrape(address).into()));
    let flaky = tool(ToolSpec::new("flaky").idempotent(true), |invocation| async move {
        if invocation.context.attempt == 1 {
            let mut once = Failure::failed("once");
            once.detail.get_or_insert_default().retry_after_ms = Some(1);
            return Err(once);
        }
        Ok("".into())
    });
    let hog = tool(ToolSpec::new("hog"), move |_| async move {
        // Blocks its arbiter until it has been found out.
        let late = Instant::now() + Duration::from_mins(1);
        while !scrape(address).contains("toolyard_blocked_total{") && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok("".into())
    });
    let builder = Engine::builder()
        .tool(hog)
        .tool(echo("echo"))
        .alias("reverb", "echo")
        .tool(shut)
        .tool(looks)
        .tool(flaky);
    let twice = RetryPolicy { attempts: 2, ..RetryPolicy::default() };
    let engine = builder.retry(twice).build().unwrap();
    measure(&engine);
    let called =
        ["echo", "ECHO", "reverb", "shut", "shut", "invented-1", "invented-2", "flaky", "looks", "hog"];
    let calls = called.map(|name| call(name, json!({}))).to_vec();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    let meanwhile = report.results[8].output.as_ref().unwrap().to_text();
    for line in [
        r#"toolyard_calls_running{tool="looks"} 1"#,
        r#"toolyard_calls_running{tool="flaky"} 0"#,
        "toolyard_lists_under_way 1",
    ] {
        assert!(meanwhile.lines().any(|found| found == line), "{line} is not in:\n{meanwhile}");
    }
    let text = scrape(address);
    for line in [
        r#"toolyard_calls_total{tool="echo",outcome="ok"} 3"#,
        r#"toolyard_calls_total{tool="shut",outcome="failed"} 2"#,
        r#"toolyard_calls_total{tool="(other)",outcome="unknown_tool"} 2"#,
        r#"toolyard_waits_total{tool="shut",on="tool"} 1"#,
        r#"toolyard_tries_total{tool="shut"} 2"#,
        r#"toolyard_call_seconds_count{tool="echo"} 3"#,
        r#"toolyard_call_seconds_bucket{tool="echo",le="300"} 3"#,
        r#"toolyard_calls_running{tool="shut"} 0"#,
        r#"toolyard_calls_running{tool="looks"} 0"#,
        r#"toolyard_blocked_total{tool="hog"} 1"#,
        "toolyard_lists_total 1",
        "toolyard_lists_under_way 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("invented"), "{text}");
}

#[test]
fn metrics_are_not_served_to_other_machines() {
    let error = serve_prometheus("0.0.0.0:0".parse().unwrap()).unwrap_err();
    assert!(matches!(error, PrometheusError::NotLoopback(_)), "{error}");
}
