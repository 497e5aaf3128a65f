//! Spans with the names of OpenTelemetry's conventions.

use std::{collections::BTreeMap, future::IntoFuture, time::Duration};

use futures::executor::block_on;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, Failure, ToolCall, ToolSpec, telemetry::layer};
use tracing_subscriber::prelude::*;

use crate::engine::tools::{call, tool};

fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.to_string())).collect()
}

#[test]
fn calls_are_execute_tool_spans_inside_their_list_inside_the_callers_span() {
    use opentelemetry::trace::{Status, TracerProvider};
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let subscriber = tracing_subscriber::registry().with(layer(provider.tracer("test")));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let outer = tool(ToolSpec::new("Outer"), |invocation| async move {
        let inner = vec![ToolCall::new("shut", json!({"secret": "s3cr3t"}).into())];
        Ok(json!(invocation.context.submit(inner).await?.len()).into())
    });
    let shut = tool(ToolSpec::new("shut"), |_| async { Err(Failure::failed("closed")) });
    let engine = Engine::builder().tool(outer).tool(shut).build().unwrap();
    let calls = vec![call("Outer", json!({})).with_id("call_7")];
    let turn = tracing::info_span!(target: "toolyard_actors", "turn");
    let run = turn.in_scope(|| engine.submit(calls, ExecuteOptions::new().agent("scout")));
    drop(turn);
    block_on(run.into_future()).unwrap();
    block_on(engine.shutdown(Duration::from_secs(1)));

    let spans = exporter.get_finished_spans().unwrap();
    let named = |name: &str| -> Vec<&SpanData> { spans.iter().filter(|span| span.name == name).collect() };
    let ([outer], [shut]) = (&named("execute_tool Outer")[..], &named("execute_tool shut")[..]) else {
        panic!("{spans:?}")
    };
    let said = attributes(outer);
    for (key, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "Outer"),
        ("gen_ai.tool.call.id", "call_7"),
        ("gen_ai.tool.type", "function"),
        ("outcome", "ok"),
    ] {
        assert_eq!(said.get(key).map(String::as_str), Some(value), "{key}: {said:?}");
    }
    assert!(!said.contains_key("error.type"));
    assert_eq!(outer.status, Status::Unset);
    let failed = attributes(shut);
    assert_eq!((failed["error.type"].as_str(), failed["outcome"].as_str()), ("failed", "failed"));
    assert!(matches!(shut.status, Status::Error { .. }));

    let parent = |span: &SpanData| {
        spans.iter().find(|other| other.span_context.span_id() == span.parent_span_id).unwrap()
    };
    assert_eq!(attributes(parent(outer))["gen_ai.agent.id"], "scout");
    assert_eq!(parent(parent(outer)).name, "turn");
    assert_eq!(parent(parent(shut)).span_context, outer.span_context);
    assert!(!format!("{spans:?}").contains("s3cr3t"), "arguments are in no span");
}

#[cfg(feature = "cli")]
#[test]
fn the_program_exports_spans_to_the_collector_that_the_environment_names() {
    use std::io::{Read, Write};
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = collector.accept().unwrap();
        let (mut request, mut piece) = (Vec::new(), [0; 4096]);
        // The end of the one request is where its only call has been read.
        while !String::from_utf8_lossy(&request).contains("gen_ai.tool.call.id") {
            let read = stream.read(&mut piece).unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&request));
            request.extend_from_slice(&piece[..read]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        String::from_utf8_lossy(&request).into_owned()
    });
    let mut child =
        crate::cli::toolyard(&["call"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).spawn().unwrap();
    let list = r#"[{"name": "calculator", "arguments": "6*7", "id": "call_7"}]"#;
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let request = received.join().unwrap();
    assert!(request.starts_with("POST /v1/traces"), "{request}");
    for text in ["execute_tool calculator", "gen_ai.tool.name", "toolyard"] {
        assert!(request.contains(text), "{text}: {request}");
    }
}
