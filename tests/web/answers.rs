//! What a call gets back.

use std::io::Write;

use serde_json::{Value, json};
use toolyard::{BatchKind, Engine, ExecuteOptions, Outcome, ToolCall, ToolResult, builtin::http::HttpTool};

use super::{
    error, get, http, local, output,
    server::{Server, answer, send},
};

#[test]
fn an_answer_has_status_headers_and_a_body_with_exact_numbers() {
    let body = "{\n  \"n\": 123456789012345678901234567890, \"ü\": [1.50]\n}";
    let headers = "Content-Type: application/json; charset=utf-8\r\nX-A: 1\r\nX-A: 2\r\n";
    let server = Server::saying(answer("201 Created", headers, body));
    let result = http(local(), &json!({"url": server.url("/a?b=c"), "headers": {"X-Mine": "yes"}}));
    assert_eq!(result.outcome, Outcome::Ok, "{result:?}");
    let text = result.output.as_ref().unwrap().to_text();
    assert!(text.contains(r#""body":{"n":123456789012345678901234567890,"ü":[1.50]}"#), "{text}");
    let output = output(&result);
    assert_eq!((&output["status"], &output["reason"]), (&json!(201), &json!("Created")));
    assert_eq!(output["url"], server.url("/a?b=c"));
    assert_eq!((&output["headers"]["x-a"], &output["notes"]), (&json!("1, 2"), &Value::Null));
    let request = &server.requests()[0];
    assert_eq!((request.line.as_str(), request.header("x-mine")), ("GET /a?b=c HTTP/1.1", Some("yes")));
    assert!(request.header("user-agent").unwrap().starts_with("toolyard/"));
}

#[test]
fn a_status_of_an_error_is_a_failure_that_keeps_the_body() {
    for status in ["400 Bad Request", "404 Not Found", "500 Internal Server Error"] {
        let server = Server::saying(answer(status, "Content-Type: text/plain\r\n", "the reason"));
        let result = get(local(), &server.url("/"));
        assert_eq!(result.outcome, Outcome::Failed);
        assert_eq!(error(&result), format!("host \"127.0.0.1\": answers {status}"));
        assert_eq!((&output(&result)["body"], server.requests().len()), (&json!("the reason"), 1));
    }
}

#[test]
fn every_method_with_a_body_sends_it_and_defaults_give_way_to_the_call() {
    let mut config = local();
    config.headers.insert("x-default", "d".parse().unwrap());
    config.headers.insert("x-both", "d".parse().unwrap());
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let server = Server::saying(answer("200 OK", "", ""));
        let arguments =
            json!({"url": server.url("/"), "method": method, "body": {}, "headers": {"X-Both": "call"}});
        assert_eq!(http(config.clone(), &arguments).outcome, Outcome::Ok);
        let request = &server.requests()[0];
        assert_eq!(
            (request.line.as_str(), request.body.as_str()),
            (format!("{method} / HTTP/1.1").as_str(), "{}")
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!((request.header("x-default"), request.header("x-both")), (Some("d"), Some("call")));
    }
}

#[test]
fn a_body_is_cut_between_characters_while_it_is_read() {
    let mut config = local();
    config.max_response_bytes = 10;
    let server = Server::saying(answer("200 OK", "Content-Type: text/plain\r\n", "€€€€€€"));
    let result = get(config.clone(), &server.url("/"));
    assert_eq!((&output(&result)["body"], result.outcome), (&json!("€€€"), Outcome::Ok));
    assert_eq!(output(&result)["notes"], json!(["the body is cut: these are the first 10 of 18 bytes"]));
    assert!(result.detail.as_ref().unwrap().truncated);

    let just_fits = Server::saying(answer("200 OK", "Content-Type: text/plain\r\n", "0123456789"));
    let result = get(config, &just_fits.url("/"));
    assert_eq!((&output(&result)["body"], result.detail), (&json!("0123456789"), None));
}

#[test]
fn what_is_no_text_and_what_is_broken_text_is_said() {
    let png = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 3\r\n\r\n\x89\0\xff".to_vec();
    let result = get(local(), &Server::saying(png).url("/"));
    assert_eq!((&output(&result)["body"], result.outcome), (&Value::Null, Outcome::Ok));
    assert_eq!(output(&result)["notes"], json!(["the body is no text: 3 bytes of image/png"]));

    let broken = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\na\xffb";
    let result = get(local(), &Server::saying(broken.to_vec()).url("/"));
    assert_eq!(output(&result)["body"], "a\u{fffd}b");
    assert_eq!(output(&result)["notes"], json!(["bytes of the body that are no text were replaced"]));

    let server = Server::saying(answer("200 OK", "Content-Type: application/json\r\n", "{\"a\": 1"));
    assert_eq!(output(&get(local(), &server.url("/")))["body"], "{\"a\": 1", "no JSON after all");
}

#[test]
fn requests_that_only_look_overlap_and_others_are_kept_alone() {
    // Each GET is answered once both are there.
    let both = std::sync::Barrier::new(2);
    let server = Server::start(move |_, request, stream| {
        if request.line.starts_with("GET") {
            both.wait();
        }
        send(stream, &answer("200 OK", "", &request.line))
    });
    let engine = Engine::builder().tool(HttpTool::new(local())).build().unwrap();
    let call = |arguments: Value| ToolCall::new("http", arguments.into());
    let calls = vec![
        call(json!({"url": server.url("/1")})),
        call(json!(server.url("/2"))),
        call(json!({"url": server.url("/3"), "method": "post"})),
        call(json!({"url": server.url("/4"), "method": "delete"})),
        call(json!({"url": server.url("/5"), "method": "HEAD"})),
    ];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert!(report.results.iter().all(ToolResult::is_ok), "{:?}", report.results);
    let batches: Vec<_> = report.batches.iter().map(|batch| (batch.kind, batch.calls.clone())).collect();
    let (concurrent, sequential) = (BatchKind::Concurrent, BatchKind::Sequential);
    assert_eq!(batches, [(concurrent, vec![0, 1]), (sequential, vec![2, 3]), (concurrent, vec![4])]);
    assert_eq!(output(&report.results[4])["body"], "");
}

#[test]
fn a_connection_is_used_again() {
    let server = Server::start(|_, _, stream| {
        let port = stream.peer_addr().unwrap().port().to_string();
        stream.write_all(answer("200 OK", "", &port).as_bytes()).is_ok()
    });
    let post = json!({"url": server.url("/"), "method": "POST"});
    let results = super::http_list(local(), &[post.clone(), post]);
    assert_eq!(output(&results[0])["body"], output(&results[1])["body"]);
}

#[test]
fn plain_text_is_a_get_of_that_address_and_the_decision_is_made_on_what_runs() {
    use toolyard::{Arguments, Engine, ExecuteOptions, ToolCall, builtin::http::HttpTool};
    let engine = Engine::builder().tool(HttpTool::new(super::local())).build().unwrap();
    let arguments = [
        Arguments::from_text("http://127.0.0.1:1/a".into()),
        Arguments::from_text(r#"{"url": "http://127.0.0.1:1/a", "method": " head "}"#.into()),
        Arguments::from_text(r#"{"url": "http://127.0.0.1:1/a", "method": "post"}"#.into()),
        Arguments::from_text("no address".into()),
    ];
    let calls: Vec<_> = arguments.into_iter().map(|arguments| ToolCall::new("http", arguments)).collect();
    let preview = futures::executor::block_on(engine.plan(calls, ExecuteOptions::new())).unwrap();
    let steps = preview.plan.steps.iter();
    let decisions: Vec<_> =
        steps.map(|step| (step.decision.allowed, step.decision.category.as_str().to_owned())).collect();
    let expected =
        [(true, "allowed"), (true, "allowed"), (false, "args_sensitive"), (false, "args_sensitive")];
    assert_eq!(decisions, expected.map(|(allowed, category)| (allowed, category.to_owned())));
}
