//! Every hop is judged like a first request, and none takes secrets along.

use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions, Outcome, PermissionRule, PermissionRules, RulePolicy, ToolCall, ToolResult,
    Verdict,
    builtin::{http::HttpTool, web::AddressPolicy},
};

use super::{
    error, get, http, local, output,
    server::{Server, answer, send},
};

fn to(location: &str) -> String {
    answer("302 Found", &format!("Location: {location}\r\n"), "")
}

#[test]
fn a_redirect_is_followed_and_the_last_place_is_shown() {
    let server = Server::start(|_, request, stream| {
        send(stream, &if request.path() == "/a" { to("/b?c") } else { answer("200 OK", "", "there") })
    });
    let result = get(local(), &server.url("/a"));
    assert_eq!(output(&result)["url"], server.url("/b?c"));
    assert_eq!(output(&result)["body"], "there");
}

#[test]
fn a_redirect_to_a_refused_address_is_not_followed() {
    let secret = Server::saying(answer("200 OK", "", "secret"));
    let port = secret.port();
    for place in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("//127.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        let server = Server::saying(to(&place));
        let mut config = local();
        config.policy = AddressPolicy::new([format!("127.0.0.1:{}", server.port()).parse().unwrap()]);
        let result = get(config, &server.url("/"));
        assert_eq!(result.outcome, Outcome::Failed, "{place}: {result:?}");
        assert!(error(&result).ends_with("(a server redirects there)"), "{place}: {}", error(&result));
    }
    assert!(secret.requests().is_empty());
}

#[test]
fn a_loop_of_redirects_ends_at_the_limit() {
    let server = Server::start(|_, _, stream| send(stream, &to("/again")));
    let mut config = local();
    config.max_redirects = 3;
    let result = get(config, &server.url("/"));
    assert!(error(&result).starts_with("more than 3 redirects"), "{result:?}");
    assert_eq!((result.outcome, server.requests().len()), (Outcome::Failed, 4));
}

#[test]
fn a_redirect_to_another_scheme_is_not_followed() {
    for place in ["file:///etc/passwd", "gopher://127.0.0.1/", "javascript:alert(1)"] {
        let result = get(local(), &Server::saying(to(place)).url("/"));
        assert!(error(&result).contains("redirects to where it cannot be followed"), "{result:?}");
        assert!(result.output.is_none());
    }
}

#[test]
fn secrets_stay_with_the_host_that_they_were_given_for() {
    let other = Server::saying(answer("200 OK", "", ""));
    let elsewhere = other.url("/there");
    let server = Server::start(move |number, _, stream| {
        send(stream, &to(if number == 1 { "/same" } else { &elsewhere }))
    });
    let url = server.url("/").replace("http://", "http://me:secret@");
    let headers = json!({"Cookie": "secret", "X-Api-Key": "secret", "Accept": "text/plain"});
    assert_eq!(http(local(), &json!({"url": url, "headers": headers})).outcome, Outcome::Ok);
    let (first, there) = (server.requests(), other.requests());
    assert!(first[0].header("authorization").is_some() && first[1].header("cookie") == Some("secret"));
    assert_eq!(there[0].header("accept"), Some("text/plain"));
    let sent = format!("{:?}", there[0]);
    assert!(!sent.contains("secret") && there[0].header("authorization").is_none(), "{sent}");
}

#[test]
fn a_post_is_sent_on_as_it_is_only_where_the_server_says_so() {
    for (status, line, body) in [
        ("303 See Other", "GET /next HTTP/1.1", ""),
        ("307 Temporary Redirect", "POST /next HTTP/1.1", "{\"a\":1}"),
    ] {
        let first = answer(status, "Location: /next\r\n", "");
        let server = Server::start(move |number, _, stream| {
            send(stream, if number == 1 { &first } else { "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" })
        });
        http(local(), &json!({"url": server.url("/"), "method": "POST", "body": {"a": 1}}));
        let next = &server.requests()[1];
        assert_eq!((next.line.as_str(), next.body.as_str()), (line, body));
    }
}

/// One call of the tool `http` under rules.
fn judged(rules: Vec<PermissionRule>, url: &str) -> ToolResult {
    let policy = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule: rules }).unwrap();
    let engine = Engine::builder().tool(HttpTool::new(local())).permissions(policy).build().unwrap();
    let calls = vec![ToolCall::new("http", json!({"url": url}).into())];
    engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().results.remove(0)
}

#[test]
fn every_redirect_is_judged_by_the_policy_however_it_is_written() {
    for (verdict, reason) in
        [(Verdict::Deny, "not permitted: action = "), (Verdict::Ask, "would have to approve")]
    {
        for place in [
            "/admin",
            "/%61dmin#x",
            "/x/../admin",
            "http://[::ffff:127.0.0.1]:PORT/admin",
            "//127.1:PORT/admin?",
        ] {
            let server = Server::start(move |_, request, stream| {
                let port = request.header("host").unwrap().rsplit(':').next().unwrap();
                let answer = match request.path() {
                    "/a" => to("/b"),
                    "/b" => to(&place.replace("PORT", port)),
                    _ => answer("200 OK", "", "secret"),
                };
                send(stream, &answer)
            });
            let admin = PermissionRule::new(verdict, "http.request", server.url("/admin"));
            let result = judged(vec![admin], &server.url("/a"));
            assert_eq!(result.outcome, Outcome::Denied, "{place}: {result:?}");
            assert!(error(&result).contains("redirects to where the call may not go"), "{}", error(&result));
            assert!(
                error(&result).contains(reason) && error(&result).contains("/admin"),
                "{}",
                error(&result)
            );
            let seen: Vec<_> = server.requests().iter().map(|request| request.path().to_owned()).collect();
            assert_eq!(seen, ["/a", "/b"]);
        }
    }
}

#[test]
fn a_redirect_that_the_policy_permits_is_followed() {
    let server = Server::start(|_, request, stream| {
        send(stream, &if request.path() == "/a" { to("/b") } else { answer("200 OK", "", "there") })
    });
    let rules = vec![
        PermissionRule::new(Verdict::Allow, "http.request", server.url("/*")),
        PermissionRule::new(Verdict::Deny, "*", "*"),
    ];
    assert_eq!(output(&judged(rules, &server.url("/a")))["body"], "there");
}
