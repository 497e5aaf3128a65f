//! The life of connections.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, Outcome, RetryPolicy, ToolCall,
    mcp::{LinkMode, McpPool, McpServerConfig, McpState},
};

use super::{engine_with, eventually, is_alive, output, run, server, status, tools, within};

#[tokio::test]
async fn a_call_is_lost_with_its_server_and_the_next_finds_a_new_one() {
    let engine = engine_with([("s", server([])), ("other", server([]))]).await;
    let before = output(&engine, "s_pid", json!({})).await;
    let other = output(&engine, "other_pid", json!({})).await;
    let lost = run(&engine, "s_crash", json!({})).await;
    assert_eq!(
        (lost.outcome, lost.error.as_deref()),
        (Outcome::Lost, Some("tool \"s_crash\": the connection went away"))
    );
    assert_ne!(output(&engine, "s_pid", json!({})).await, before);
    assert_eq!(output(&engine, "other_pid", json!({})).await, other);
    let status = &status(&engine)["s"];
    assert_eq!((status.state, status.generation), (McpState::Ready, 2));
    assert_eq!(status.last_error.as_deref(), Some("it ended (exit status 3)"));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_connection_that_breaks_while_nobody_calls_comes_back_by_itself() {
    let engine = engine_with([("s", server([]))]).await;
    let pid = output(&engine, "s_pid", json!({})).await;
    let killed = std::process::Command::new("kill").args(["-9", pid.as_str().unwrap()]).status().unwrap();
    assert!(killed.success());
    eventually("a new connection", || {
        let status = &status(&engine)["s"];
        status.state == McpState::Ready && status.generation == 2
    })
    .await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_bad_server_keeps_nothing_else_out_and_its_status_says_why() {
    let begun = Instant::now();
    let soon = Duration::from_secs(1);
    let engine = engine_with([
        ("dies", server(["dies"])),
        ("good", server([])),
        ("missing", McpServerConfig::stdio("no-such-program", Vec::<String>::new())),
        ("silent", server(["silent"]).connect_timeout(soon)),
    ])
    .await;
    assert_eq!(output(&engine, "good_echo", json!({"text": "hi"})).await, "hi");
    assert!(tools(&engine).iter().all(|name| name.starts_with("good_")));
    let status = status(&engine);
    let error = |name: &str| status[name].last_error.clone().unwrap_or_default();
    assert_eq!(error("dies"), "it ended while starting (exit status 1): a reason to die");
    assert!(error("missing").contains("no program \"no-such-program\" was found"), "{}", error("missing"));
    assert_eq!(error("silent"), "it did not answer within 1 s");
    assert_eq!((status["good"].state, status["good"].last_error.as_deref()), (McpState::Ready, None));
    assert!(begun.elapsed() < Duration::from_secs(25), "nobody waits for the slowest");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn the_tools_of_a_good_server_are_usable_while_others_have_not_answered() {
    let engine = engine_with([]).await;
    let patient = |config: McpServerConfig| config.connect_timeout(Duration::from_mins(10));
    engine.mcp().add("silent", patient(server(["silent"]))).await.unwrap();
    engine.mcp().add("good", patient(server([]))).await.unwrap();
    let has_tools = || !tools(&engine).is_empty();
    engine.mcp().settled(Duration::from_mins(2), has_tools).await;
    assert_eq!(output(&engine, "good_echo", json!({"text": "hi"})).await, "hi");
    assert_eq!(status(&engine)["silent"].state, McpState::Connecting);
    within("the engine stops", engine.shutdown(Duration::ZERO)).await;
}

#[tokio::test]
async fn callers_share_one_try_and_its_outcome() {
    let engine = engine_with([("s", server([]))]).await;
    engine.mcp().disconnect(None).await.unwrap();
    assert_eq!(status(&engine)["s"].state, McpState::Idle);
    let calls = (0..20).map(|_| ToolCall::new("s_pid", json!({}).into()));
    let lists = calls.map(|call| engine.submit(vec![call], ExecuteOptions::new()));
    let running: Vec<_> = lists.map(|list| tokio::spawn(async move { list.await.unwrap() })).collect();
    let mut pids = std::collections::BTreeSet::new();
    for list in running {
        let result = list.await.unwrap().results.remove(0);
        pids.insert(result.output.expect("an output").to_text().to_owned());
    }
    assert_eq!(pids.len(), 1);
    assert_eq!(status(&engine)["s"].generation, 2);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn with_private_links_each_call_has_a_process_of_its_own() {
    let config = server([]).mode(LinkMode::PerCall).trust_hints(true);
    let engine = engine_with([("s", config)]).await;
    let calls: Vec<_> = (0..6).map(|_| ToolCall::new("s_pid", json!({}).into())).collect();
    let report = engine.execute(calls, ExecuteOptions::new()).await.unwrap();
    let pids: std::collections::BTreeSet<String> = report
        .results
        .iter()
        .map(|result| result.output.as_ref().expect("an output").to_text().to_owned())
        .collect();
    assert_eq!(pids.len(), 6);
    eventually("the processes end", || !pids.iter().any(|pid| is_alive(pid))).await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_server_under_a_known_name_is_a_new_one() {
    let engine = engine_with([("s", server(["plain", "old"]))]).await;
    let Value::String(old) = output(&engine, "s_pid", json!({})).await else { panic!("a pid is text") };
    assert!(tools(&engine).contains(&"s_old".to_owned()));
    engine.mcp().add("s", server(["plain", "new"])).await.unwrap();
    assert!(!is_alive(&old) && !tools(&engine).contains(&"s_old".to_owned()));
    engine.mcp().settled(Duration::from_mins(2), || false).await;
    assert!(tools(&engine).contains(&"s_new".to_owned()));
    assert_ne!(output(&engine, "s_pid", json!({})).await, old.as_str());

    engine.mcp().remove("s").await.unwrap();
    assert!(tools(&engine).is_empty());
    let unknown = engine.mcp().remove("s").await.unwrap_err();
    assert_eq!(unknown.to_string(), "no MCP server is named \"s\"; there is: none");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_lost_call_is_sent_again_only_where_the_server_may_say_so_and_the_engine_tries_again() {
    let folder = tempfile::tempdir().unwrap();
    for (trusted, attempts, outcome, times) in
        [(true, 3, Outcome::Ok, 2), (false, 3, Outcome::Lost, 1), (true, 1, Outcome::Lost, 1)]
    {
        let file = folder.path().join(format!("{trusted}-{attempts}"));
        let policy = RetryPolicy { attempts, ..RetryPolicy::default() };
        let engine = Engine::builder().retry(policy).build().unwrap();
        let config = server([]).trust_hints(trusted).connect_timeout(Duration::from_mins(2));
        engine.mcp().add("s", config).await.unwrap();
        engine.mcp().settled(Duration::from_mins(2), || false).await;
        let result = run(&engine, "s_stumble", json!({"file": file})).await;
        assert_eq!(result.outcome, outcome, "{result:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), times);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_scope_connects_to_all_servers_and_disconnects_however_it_ends() {
    let missing = McpServerConfig::stdio("no-such-program", Vec::<String>::new());
    let engine = engine_with([("s", server([])), ("missing", missing)]).await;
    engine.mcp().disconnect(None).await.unwrap();
    let pid = engine.mcp().scoped(async |_| output(&engine, "s_pid", json!({})).await).await;
    assert!(!is_alive(pid.as_str().unwrap()));
    assert_eq!(status(&engine)["s"].state, McpState::Idle);

    let (say, heard) = tokio::sync::oneshot::channel();
    let scope = {
        let (engine, pool) = (engine.clone(), engine.mcp().clone());
        let work = async move |_: &McpPool| {
            say.send(output(&engine, "s_pid", json!({})).await).unwrap();
            std::future::pending::<()>().await;
        };
        tokio::spawn(async move { pool.scoped(work).await })
    };
    let pid = within("it is connected", heard).await.unwrap();
    assert!(is_alive(pid.as_str().unwrap()));
    scope.abort();
    eventually("it is disconnected", || !is_alive(pid.as_str().unwrap())).await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn no_process_is_left_when_the_engine_has_stopped() {
    let engine = engine_with([("a", server([])), ("b", server([]))]).await;
    let pids = [output(&engine, "a_pid", json!({})).await, output(&engine, "b_pid", json!({})).await];
    within("the engine stops", engine.shutdown(Duration::ZERO)).await;
    assert!(pids.iter().all(|pid| !is_alive(pid.as_str().unwrap())));
}
