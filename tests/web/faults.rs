//! Servers that are slow, lie, flood and break off.

use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;
use toolyard::{Outcome, builtin::web::WebConfig};

use super::{
    error, get, http, local, output,
    server::{Server, answer},
};

/// Settings that give up at once.
fn hasty() -> WebConfig {
    let mut config = local();
    config.timeout = Duration::from_millis(300);
    config
}

/// Waits until the client closes the connection.
fn until_closed(stream: &mut TcpStream) -> bool {
    while stream.write_all(b"").is_ok()
        && std::io::Read::read(stream, &mut [0; 64]).is_ok_and(|read| read > 0)
    {}
    false
}

#[test]
fn a_server_that_does_not_answer_or_not_to_the_end_is_given_up_in_time() {
    for sent in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe first",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        let server = Server::start(move |_, _, stream| {
            let _ = stream.write_all(sent.as_bytes());
            until_closed(stream)
        });
        let began = Instant::now();
        let result = get(hasty(), &server.url("/"));
        assert_eq!(result.outcome, Outcome::TimedOut, "{sent:?}: {result:?}");
        assert_eq!(error(&result), "no whole answer from \"127.0.0.1\" within 0.3 s");
        assert!(began.elapsed() < Duration::from_secs(10), "one deadline for everything");
    }
}

#[test]
fn a_post_that_timed_out_was_sent_once() {
    let server = Server::start(|_, _, stream| until_closed(stream));
    let result = http(hasty(), &json!({"url": server.url("/"), "method": "POST", "body": {}, "retries": 5}));
    assert_eq!((result.outcome, server.requests().len()), (Outcome::TimedOut, 1));
}

#[test]
fn a_server_that_drips_is_given_up_at_the_one_deadline() {
    let server = Server::start(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        // Slow on purpose: every byte comes before a time-out for one read would pass.
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    });
    assert_eq!(get(hasty(), &server.url("/")).outcome, Outcome::TimedOut);
}

#[test]
fn a_connection_that_drops_is_a_failure_that_keeps_what_came() {
    for (sent, came) in [
        ("", None),
        ("HTTP/1.1 200", None),
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe first", Some("the first")),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz", Some("abc")),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", None),
    ] {
        let server = Server::saying(sent);
        let result = http(local(), &json!({"url": server.url("/"), "method": "POST"}));
        assert_eq!((result.outcome, server.requests().len()), (Outcome::Failed, 1), "{sent:?}: {result:?}");
        match came {
            Some(came) => assert_eq!(output(&result)["body"], came, "{result:?}"),
            None => assert!(result.output.is_none(), "{result:?}"),
        }
    }
}

#[test]
fn a_flood_is_cut_and_the_connection_closed() {
    let server = Server::start(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
        while stream.write_all(&[b'x'; 8_192]).is_ok() {}
        false
    });
    let result = get(local(), &server.url("/"));
    assert_eq!(result.outcome, Outcome::Ok, "{result:?}");
    assert_eq!(output(&result)["body"].as_str().unwrap().len(), 50_000);
    assert!(result.detail.unwrap().truncated);
}

#[test]
fn a_flood_of_headers_is_a_failure() {
    let server = Server::start(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"x-header: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n").is_ok() {}
        false
    });
    let result = http(local(), &json!({"url": server.url("/"), "retries": 1}));
    assert_eq!(result.outcome, Outcome::Failed, "{result:?}");
}

#[test]
fn tens_of_thousands_of_headers_are_refused_on_both_sides_before_a_library_counts_them() {
    let headers: serde_json::Map<_, _> = (0..40_000).map(|n| (format!("h{n}"), json!("v"))).collect();
    let result = http(local(), &json!({"url": "http://127.0.0.1:1/", "headers": headers}));
    assert_eq!(result.outcome, Outcome::BadArguments, "{result:?}");
    assert!(error(&result).contains("40000 headers are too many: a request has at most 256"));
    let many: String = (0..40_000).map(|n| format!("h{n}: v\r\n")).collect();
    let server = Server::saying(format!("HTTP/1.1 200 OK\r\n{many}\r\n"));
    let result = http(local(), &json!({"url": server.url("/"), "retries": 1}));
    assert_eq!(result.outcome, Outcome::Failed, "{result:?}");
}

#[test]
fn a_length_that_is_too_short_or_too_long_is_not_believed() {
    let short = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdef");
    assert_eq!(output(&get(local(), &short.url("/")))["body"], "abc");
    let long = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\nabc");
    let result = http(local(), &json!({"url": long.url("/"), "retries": 1}));
    assert_eq!((result.outcome, &output(&result)["body"]), (Outcome::Failed, &json!("abc")));
    for no_length in ["-1", "18446744073709551615", "3\r\ncontent-length: 4"] {
        let server = Server::saying(format!("HTTP/1.1 200 OK\r\ncontent-length: {no_length}\r\n\r\nabc"));
        assert_eq!(http(local(), &json!({"url": server.url("/"), "retries": 1})).outcome, Outcome::Failed);
    }
}

/// The bytes that `gzip` makes of as many zeros.
fn zeros_packed(count: u64) -> Vec<u8> {
    let zeros = std::fs::File::open("/dev/zero").unwrap();
    let head =
        Command::new("head").args(["-c", &count.to_string()]).stdin(zeros).stdout(Stdio::piped()).spawn();
    let mut head = head.unwrap();
    let gzip = Command::new("gzip").arg("-c").stdin(head.stdout.take().unwrap()).output();
    let packed = gzip.expect("this test needs `gzip`").stdout;
    assert!(head.wait().unwrap().success());
    packed
}

#[test]
fn a_gzip_bomb_is_unpacked_no_further_than_it_is_read() {
    let packed = zeros_packed(200 << 20);
    let mut sent = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        packed.len()
    )
    .into_bytes();
    sent.extend(packed);
    let result = get(local(), &Server::saying(sent).url("/"));
    assert_eq!(result.outcome, Outcome::Ok, "{:?}", result.error);
    assert_eq!(output(&result)["body"].as_str().unwrap().len(), 50_000);
    assert_eq!(output(&result)["notes"], json!(["the body is cut: these are the first 50000 bytes"]));
}

#[test]
fn what_is_not_packed_as_it_says_is_a_failure() {
    let server = Server::saying(answer("200 OK", "content-encoding: gzip\r\n", "plain"));
    let result = http(local(), &json!({"url": server.url("/"), "retries": 1}));
    assert_eq!(result.outcome, Outcome::Failed, "{result:?}");
}

#[test]
fn a_server_that_does_not_encrypt_as_it_should_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        until_closed(&mut stream);
    });
    let result = http(local(), &json!({"url": url, "retries": 1}));
    assert!(error(&result).contains("the encryption cannot be set up"), "{result:?}");
    server.join().unwrap();
}
