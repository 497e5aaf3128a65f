//! What is tried again, and what is not.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{Outcome, ToolResult};

use super::{
    error, http, local, output,
    server::{Server, answer, send},
};

/// A server that is out of order for the first `failures` requests, and the answer to a call of it.
fn flaky(failures: usize, with: &'static str, arguments: Value) -> (ToolResult, usize) {
    let server = Server::start(move |number, _, stream| match with {
        "drop" if number <= failures => false,
        headers if number <= failures => send(stream, &answer("503 Service Unavailable", headers, "busy")),
        _ => send(stream, &answer("200 OK", "", "at last")),
    });
    let mut arguments = arguments;
    arguments["url"] = server.url("/").into();
    (http(local(), &arguments), server.requests().len())
}

#[test]
fn a_request_that_cannot_do_anything_twice_is_tried_again() {
    for with in ["", "drop"] {
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
            let (result, requests) = flaky(2, with, json!({"method": method}));
            assert_eq!((result.outcome, requests), (Outcome::Ok, 3), "{method} {with}: {result:?}");
            assert_eq!(result.detail.unwrap().attempts, Some(3));
        }
    }
}

#[test]
fn any_other_request_is_sent_once_unless_it_has_an_idempotency_key() {
    for method in ["POST", "PATCH"] {
        for with in ["", "drop"] {
            let (result, requests) = flaky(1, with, json!({"method": method, "retries": 5}));
            assert_eq!((result.outcome, requests), (Outcome::Failed, 1), "{method} {with}");
            let keyed = json!({"method": method, "headers": {"idempotency-key": "k1"}});
            let (result, requests) = flaky(1, with, keyed);
            assert_eq!((result.outcome, requests), (Outcome::Ok, 2), "{method} {with}: {result:?}");
        }
    }
}

#[test]
fn the_call_says_how_often_at_most_and_at_least_once() {
    assert_eq!(flaky(9, "", json!({})).1, 3);
    assert_eq!(flaky(9, "", json!({"retries": 2})).1, 2);
    assert_eq!(flaky(9, "", json!({"retries": 0})).1, 1);
    let (result, _) = flaky(9, "", json!({}));
    assert_eq!(error(&result), "host \"127.0.0.1\": answers 503 Service Unavailable");
    assert_eq!(output(&result)["body"], "busy");
}

#[test]
fn the_server_says_when_to_come_again() {
    let began = std::time::Instant::now();
    let (result, requests) = flaky(1, "Retry-After: 1\r\n", json!({}));
    assert_eq!((result.outcome, requests), (Outcome::Ok, 2));
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_pause_that_does_not_fit_the_deadline_is_told_instead_of_waited() {
    for (asked, millis) in [
        ("Retry-After: 120\r\n", 120_000),
        ("Retry-After: 86400\r\n", 86_400_000),
        ("Retry-After: 18446744073709551615\r\n", u64::MAX),
    ] {
        let (result, requests) = flaky(9, asked, json!({}));
        assert_eq!((result.outcome, requests), (Outcome::Failed, 1));
        assert_eq!(result.detail.unwrap().retry_after_ms, Some(millis));
        assert!(result.elapsed < Duration::from_secs(10));
    }
}

#[test]
fn a_request_that_was_not_sent_may_be_tried_again_whatever_it_is() {
    // A port that nobody listens at: found by letting a server go.
    let url = Server::saying("").url("/");
    let result = http(local(), &json!({"url": url, "method": "POST", "retries": 2}));
    assert_eq!(error(&result), "host \"127.0.0.1\": no connection: connection refused");
    assert_eq!(result.outcome, Outcome::Failed);
}

#[test]
fn an_answer_that_says_no_for_good_is_not_asked_for_again() {
    let server = Server::start(|_, _, stream| send(stream, &answer("500 Internal Server Error", "", "")));
    http(local(), &json!({"url": server.url("/")}));
    assert_eq!(server.requests().len(), 1);
}
