//! What may not be reached is not reached, however it is written.

use std::sync::Arc;

use serde_json::json;
use toolyard::{
    Outcome,
    builtin::web::{AddressPolicy, WebConfig},
};

use super::{
    Changing, error, get, local, output,
    server::{Server, answer},
};

fn guarded() -> WebConfig {
    WebConfig::default()
}

#[test]
fn every_spelling_of_a_near_address_is_refused_and_nothing_is_sent() {
    let server = Server::saying(answer("200 OK", "", "reached"));
    let port = server.port();
    for host in [
        "127.0.0.1",
        "127.0.0.2",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0x7f.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "localhost",
        "LOCALHOST",
        "user:password@127.0.0.1",
        "public.example@127.0.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "100.64.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "2852039166",
        "[::ffff:a9fe:a9fe]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        let result = get(guarded(), &format!("http://{host}:{port}/"));
        assert_eq!(result.outcome, Outcome::Denied, "{host}: {result:?}");
        assert!(
            error(&result).contains("private or reserved") && !error(&result).contains("password"),
            "{host}"
        );
    }
    assert!(server.requests().is_empty());
}

#[test]
fn what_is_allowed_is_reached_at_its_port_alone() {
    let (open, shut) =
        (Server::saying(answer("200 OK", "", "reached")), Server::saying(answer("200 OK", "", "")));
    let mut config = guarded();
    config.policy = AddressPolicy::new([format!("127.0.0.1:{}", open.port()).parse().unwrap()]);
    assert_eq!(output(&get(config.clone(), &open.url("/")))["body"], "reached");
    assert_eq!(get(config.clone(), &format!("http://0x7f.1:{}/", open.port())).outcome, Outcome::Ok);
    assert_eq!(get(config, &shut.url("/")).outcome, Outcome::Denied);
    assert!(shut.requests().is_empty());
}

#[test]
fn a_name_is_resolved_once_and_the_connection_goes_where_that_led() {
    let server = Server::saying(answer("200 OK", "", "reached"));
    // The first answer may be reached, the next one may not: a second look would be refused.
    let names = Changing::new(&["127.0.0.1", "10.0.0.1"]);
    let mut config = local();
    config.resolver = names.clone();
    let result = get(config, &format!("http://rebinding.example:{}/", server.port()));
    assert_eq!((result.outcome, names.asked()), (Outcome::Ok, 1), "{result:?}");
    assert_eq!(server.requests()[0].header("host"), Some(&*format!("rebinding.example:{}", server.port())));
}

#[test]
fn a_name_that_leads_near_is_refused_without_telling_where() {
    let server = Server::saying(answer("200 OK", "", "reached"));
    for address in ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "10.1.2.3"] {
        let mut config = guarded();
        config.resolver = Changing::new(&[address]);
        let result = get(config, &format!("http://innocent.example:{}/", server.port()));
        assert_eq!(result.outcome, Outcome::Denied);
        assert!(!error(&result).contains(address), "{result:?}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_name_without_addresses_is_said_to_be_unknown() {
    let mut config = guarded();
    config.resolver = Arc::new(Nobody);
    let result = get(config, "http://nobody.example/");
    assert_eq!(error(&result), "host \"nobody.example\": the name is not known");
    assert_eq!(result.outcome, Outcome::Failed);
}

struct Nobody;

impl toolyard::builtin::web::NameResolver for Nobody {
    fn resolve(
        &self,
        _: &str,
    ) -> futures::future::BoxFuture<'static, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(std::future::ready(Err(std::io::Error::other("no such name"))))
    }
}

#[test]
fn a_proxy_is_used_when_it_is_configured_and_addresses_in_urls_are_judged_all_the_same() {
    let proxy = Server::saying(answer("200 OK", "", "by proxy"));
    let config = || guarded().proxy(&proxy.url("")).unwrap();
    assert_eq!(output(&get(config(), "http://far.example/x"))["body"], "by proxy");
    assert_eq!(proxy.requests()[0].line, "GET http://far.example/x HTTP/1.1");
    assert_eq!(get(config(), "http://127.0.0.1/").outcome, Outcome::Denied);
    assert_eq!(proxy.requests().len(), 1);
    let bad = guarded().proxy("socks://me:secret@h").unwrap_err().to_string();
    assert!(!bad.contains("secret"));
}

#[test]
fn the_policy_of_permissions_sees_the_whole_url_without_its_password() {
    use toolyard::{PermissionContext, Tool, builtin::http::HttpTool};
    let arguments = json!({"url": "https://me:secret@0x7f.1/a?b", "method": "PUT"}).to_string();
    let check = HttpTool::default().permission_check(&arguments, &PermissionContext::default()).unwrap();
    assert_eq!((check.action.as_str(), check.resource.as_str()), ("http.request", "https://127.0.0.1/a?b"));
}
