//! Servers that want a login, and nobody there to log in.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall, ToolResult,
    mcp::{Credentials, Isolation, McpLogin, McpSecret, McpServerConfig},
};

use super::{authorization_server::Guarded, engine_with, eventually, output, run, run_with, status, within};

fn config(server: &Guarded, secret: McpSecret) -> McpServerConfig {
    McpServerConfig::http(&server.url).login(McpLogin::client_credentials("toolyard", secret))
}

async fn logged_in(server: &Guarded) -> Engine {
    engine_with([("s", config(server, McpSecret::new("hush-1")))]).await
}

/// Why a call was not started.
fn not_started(result: &ToolResult) -> &str {
    assert_eq!(result.outcome, Outcome::NotStarted, "{result:?}");
    assert!(!format!("{result:?}").contains("hush"), "{result:?}");
    result.error.as_deref().unwrap()
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_before_it_is_sent_and_nobody_is_needed() {
    let server = Guarded::start();
    // They have ended when they arrive.
    server.with(|state| state.lasts = Some(0));
    let engine = logged_in(&server).await;
    let refused = server.with(|state| state.refused);
    for _ in 0..3 {
        output(&engine, "s_who", json!({})).await;
    }
    assert_eq!(server.with(|state| state.refused), refused);
    let shown = server.with(|state| state.shown.clone());
    assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), 3, "{shown:?}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_is_asked_is_what_the_standards_have() {
    let server = Guarded::start();
    let engine = logged_in(&server).await;
    output(&engine, "s_who", json!({})).await;
    let (form, authorization) = server.with(|state| state.asked.remove(0));
    assert_eq!((form["grant_type"].as_str(), &form["resource"]), ("client_credentials", &server.url));
    // As both are taken, the one that is in no body.
    assert_eq!((form.len(), authorization.as_str()), (2, "Basic dG9vbHlhcmQ6aHVzaC0x"));
    let extensions = server.with(|state| state.can["extensions"].clone());
    assert_eq!(extensions, json!({"io.modelcontextprotocol/oauth-client-credentials": {}}));
    engine.shutdown(Duration::ZERO).await;

    let server = Guarded::start();
    let posts = json!(["client_secret_post"]);
    server.with(|state| state.metadata.insert("token_endpoint_auth_methods_supported".to_owned(), posts));
    let login = McpLogin::client_credentials("toolyard", McpSecret::new("hush-1")).scopes(["a", "b"]);
    let engine = engine_with([("s", McpServerConfig::http(&server.url).login(login))]).await;
    output(&engine, "s_who", json!({})).await;
    let (form, authorization) = server.with(|state| state.asked.remove(0));
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("toolyard", "hush-1"));
    assert_eq!((form["scope"].as_str(), authorization.as_str()), ("a b", ""));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn calls_whose_token_was_revoked_share_one_request_for_a_new_one() {
    let server = Guarded::start();
    let engine = logged_in(&server).await;
    output(&engine, "s_who", json!({})).await;
    let before = server.asked();
    server.revoke();
    server.with(|state| state.holds = true);
    let calls: Vec<_> = (0..20).map(|_| ToolCall::new("s_who", json!({}).into())).collect();
    let list = engine.submit(calls, ExecuteOptions::new());
    let running = tokio::spawn(async move { list.await.unwrap().results });
    eventually("a new one is asked for", || server.asked() == before + 1).await;
    server.with(|state| state.holds = false);
    let results = within("they end", running).await.unwrap();
    assert!(results.iter().all(ToolResult::is_ok), "{results:?}");
    assert_eq!((results.len(), server.asked()), (20, before + 1));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_refused_secret_is_said_without_it_and_not_tried_again_at_once() {
    let server = Guarded::start();
    let engine = engine_with([("s", config(&server, McpSecret::new("hush-0")).backoff(quick()))]).await;
    let state = status(&engine)["s"].clone();
    let error = state.last_error.as_deref().unwrap();
    assert_eq!(
        error,
        "the authorization server refused: invalid_client: the secret … is wrong; check the client id and its secret \
         or key"
    );
    assert!(!format!("{state:?}").contains("hush-0"));
    // Several tries to connect.
    assert_eq!(server.asked(), 1);
    engine.shutdown(Duration::ZERO).await;
}

fn quick() -> toolyard::mcp::Backoff {
    let one = Duration::from_millis(1);
    toolyard::mcp::Backoff { first: one, longest: one, tries: 3 }
}

#[tokio::test]
async fn calls_after_a_refusal_are_not_started_and_a_secret_that_was_replaced_is_read() {
    let server = Guarded::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    fs::write(&file, "hush-1\n").unwrap();
    let engine = engine_with([("s", config(&server, McpSecret::file(&file)))]).await;
    output(&engine, "s_who", json!({})).await;
    server.with(|state| state.secret = "hush-2".to_owned());
    fs::write(&file, "hush-2\n").unwrap();
    server.revoke();
    output(&engine, "s_who", json!({})).await;

    let posts = json!(["client_secret_post"]);
    server.with(|state| {
        state.metadata.insert("token_endpoint_auth_methods_supported".to_owned(), posts);
        state.secret = "another".to_owned();
    });
    server.revoke();
    let before = server.asked();
    for _ in 0..3 {
        let result = run(&engine, "s_who", json!({})).await;
        let reason = not_started(&result);
        assert!(reason.contains("invalid_client: the secret … is wrong; check the client id"), "{reason}");
    }
    assert_eq!(server.asked(), before + 1);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_token_that_the_server_does_not_take_is_not_asked_for_again_and_again() {
    let server = Guarded::start();
    let engine = logged_in(&server).await;
    output(&engine, "s_who", json!({})).await;
    let before = server.asked();
    server.with(|state| state.takes_none = true);
    for _ in 0..3 {
        let result = run(&engine, "s_who", json!({})).await;
        assert!(not_started(&result).contains("does not take the token that its authorization server gave"));
    }
    assert_eq!(server.asked(), before + 1);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_call_that_needs_more_gets_a_token_that_allows_it_once() {
    let server = Guarded::start();
    let engine = logged_in(&server).await;
    let before = server.asked();
    for _ in 0..2 {
        output(&engine, "s_admin", json!({})).await;
        output(&engine, "s_who", json!({})).await;
    }
    assert_eq!(server.asked(), before + 1);
    assert_eq!(server.with(|state| state.asked[before].0["scope"].clone()), "admin");
    // The authorization server gives what is asked for, and the server wants more all the same.
    server.with(|state| state.tokens.values_mut().for_each(String::clear));
    let result = run(&engine, "s_admin", json!({})).await;
    assert!(not_started(&result).contains("allows too little; check the scopes"), "{result:?}");
    assert_eq!(server.asked(), before + 1);
    output(&engine, "s_who", json!({})).await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn secrets_go_to_the_issuer_that_the_server_names_alone() {
    for (member, value, reason) in [
        ("issuer", json!("https://other.example"), "says that it is another issuer"),
        ("issuer", json!(null), "does not say its name"),
        ("token_endpoint", json!("http://192.0.2.1/token"), "does not give tokens by https"),
        ("token_endpoint", json!("http://as.example/token"), "does not give tokens by https"),
    ] {
        let server = Guarded::start();
        server.with(|state| state.metadata.insert(member.to_owned(), value.clone()));
        let engine = engine_with([("s", config(&server, McpSecret::new("hush-1")).backoff(quick()))]).await;
        let error = status(&engine)["s"].last_error.clone().unwrap();
        assert!(error.contains(reason), "{member} {value}: {error}");
        assert_eq!(server.asked(), 0, "{member} {value}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn tokens_that_must_be_bound_to_a_key_are_refused_when_they_are_not() {
    let server = Guarded::start();
    let login = McpLogin::client_credentials("toolyard", McpSecret::new("hush-1")).require_dpop(true);
    let config = McpServerConfig::http(&server.url).login(login).backoff(quick());
    let engine = engine_with([("s", config)]).await;
    let error = status(&engine)["s"].last_error.clone().unwrap();
    assert!(error.contains("not bound to a key (DPoP)"), "{error}");
    assert_eq!(server.with(|state| state.shown.len()), 0);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn tokens_are_bound_to_a_key_where_the_server_offers_it_and_nonces_may_change() {
    let server = Guarded::start();
    server.with(|state| state.nonce = Some("nonce-0".to_owned()));
    let login = McpLogin::client_credentials("toolyard", McpSecret::new("hush-1")).require_dpop(true);
    let engine = engine_with([("s", McpServerConfig::http(&server.url).login(login))]).await;
    output(&engine, "s_who", json!({})).await;
    let before = server.asked();
    for round in 1..4 {
        server.with(|state| state.nonce = Some(format!("nonce-{round}")));
        output(&engine, "s_who", json!({})).await;
        output(&engine, "s_who", json!({})).await;
    }
    // The token stays: only its proofs have another nonce.
    assert_eq!((server.asked(), server.with(|state| state.shown.len())), (before, 7));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_a_caller_shows_wins_and_all_others_share_one_token() {
    let server = Guarded::start();
    server.with(|state| state.tokens.insert("own-a".to_owned(), String::new()));
    let credentials = Credentials::new(|agent| match agent {
        Some("a") => BTreeMap::from([("Authorization".to_owned(), "Bearer own-a".to_owned())]),
        _ => BTreeMap::new(),
    });
    let isolation = Isolation::default().credentials(credentials);
    let engine = engine_with([("s", config(&server, McpSecret::new("hush-1")).isolation(isolation))]).await;
    for (agent, token) in [("a", "own-a"), ("b", "token-1"), ("c", "token-1")] {
        let result = run_with(&engine, "s_who", json!({}), ExecuteOptions::new().agent(agent)).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(server.with(|state| state.shown.pop()).as_deref(), Some(token));
    }
    assert_eq!(server.asked(), 1);
    // One whose own token is refused is not given another's.
    server.with(|state| state.tokens.remove("own-a"));
    let result = run_with(&engine, "s_who", json!({}), ExecuteOptions::new().agent("a")).await;
    assert!(!result.is_ok(), "{result:?}");
    assert_eq!(server.asked(), 1);
    engine.shutdown(Duration::ZERO).await;
}

#[test]
fn a_file_says_how_and_no_output_of_the_program_has_a_secret_or_a_token() {
    let server = Guarded::start();
    let folder = tempfile::tempdir().unwrap();
    let login = "login = { client_id = \"toolyard\", client_secret_env = \"QUIET\" }";
    let text = format!("[mcp.servers.s]\nurl = {:?}\n{login}\n", server.url);
    fs::write(folder.path().join("servers.toml"), text).unwrap();
    let own = json!({"url": server.url, "login": {"clientId": "toolyard", "clientSecretEnv": "QUIET"}});
    fs::write(folder.path().join("mcp.json"), json!({"mcpServers": {"s": own}}).to_string()).unwrap();
    fs::write(folder.path().join("calls.json"), r#"[{"name": "s_admin", "arguments": {}}]"#).unwrap();
    let run = |arguments: &[&str], secret: &str, expected: i32| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.current_dir(folder.path()).args(arguments).env("QUIET", secret).env("TOOLYARD_LOG", "trace");
        let ran = command.output().unwrap();
        let (said, logged) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert_eq!(ran.status.code(), Some(expected), "{said}\n{logged}");
        for hidden in ["hush-", "dG9vbHlhcmQ6", "token-"] {
            assert!(!logged.contains(hidden) && !said.contains(hidden), "{hidden}: {said}\n{logged}");
        }
        assert!(logged.contains("TRACE"), "{logged}");
        said
    };
    for file in [["--config", "servers.toml"], ["--mcp-config", "mcp.json"]] {
        let arguments = ["call", "calls.json", file[0], file[1]];
        assert!(run(&arguments, "hush-1", 0).contains("done"));
    }
    let refused = run(&["call", "calls.json", "--config", "servers.toml"], "hush-0", 1);
    assert!(refused.contains("invalid_client") && refused.contains("not_started"), "{refused}");
}
