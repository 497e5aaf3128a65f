//! Lists of tools: pages, changes, names.

use std::time::Duration;

use serde_json::json;
use toolyard::mcp::McpState;

use super::{engine_with, eventually, output, server, status, tools};

#[tokio::test]
async fn all_pages_are_read_and_a_list_that_leads_in_circles_keeps_the_pages_that_were_had() {
    let engine = engine_with([("paged", server(["paged"])), ("circle", server(["circle"]))]).await;
    assert_eq!(engine.mcp().tools(Some("paged")).unwrap().len(), 15);
    assert_eq!(engine.mcp().tools(Some("circle")).unwrap().len(), 8);
    assert_eq!(output(&engine, "circle_echo", json!({"text": "x"})).await, "x");
    assert!(engine.mcp().tools(Some("other")).is_err());
    let circle = &status(&engine)["circle"];
    assert_eq!(circle.state, McpState::Ready);
    let problems: Vec<_> =
        circle.problems.iter().filter(|problem| !problem.contains("listed twice")).collect();
    assert_eq!(problems, ["its list of tools ends early: a page leads back to an earlier one"]);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_keeps_no_other_out_and_the_status_says_why() {
    let engine = engine_with([("s", server(["odd"]))]).await;
    assert_eq!(tools(&engine), ["s_echo"]);
    assert_eq!(output(&engine, "s_echo", json!({"text": "x"})).await, "x");
    let status = &status(&engine)["s"];
    assert_eq!(status.state, McpState::Ready);
    let problems = &status.problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(problems[0], "\"echo\" is listed twice; the first counts");
    assert!(problems[1].contains("s_odd"), "{problems:?}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_list_that_changes_is_read_again() {
    let engine = engine_with([("s", server([]))]).await;
    assert!(!tools(&engine).contains(&"s_grown".to_owned()));
    output(&engine, "s_grow", json!({})).await;
    eventually("the new tool", || tools(&engine).contains(&"s_grown".to_owned())).await;
    assert_eq!(output(&engine, "s_grown", json!({})).await, "grown");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn hints_count_only_where_the_server_is_trusted() {
    let engine = engine_with([("a", server([])), ("b", server([]).trust_hints(true))]).await;
    let safe: Vec<_> = engine
        .specs()
        .into_iter()
        .filter(|spec| spec.parallel_safe && spec.idempotent)
        .map(|spec| spec.name)
        .collect();
    assert_eq!(safe, ["b_pid"]);
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn tools_whose_plain_names_are_alike_are_both_there() {
    let engine = engine_with([("a_b", server(["plain", "c"])), ("a", server(["plain", "b_c"]))]).await;
    assert_eq!(output(&engine, "a_b_c", json!({"text": "x"})).await, "x");
    let names = tools(&engine);
    let suffixed: Vec<_> = names.iter().filter(|name| name.starts_with("a_b_c_x")).collect();
    assert_eq!(suffixed.len(), 1);
    assert_eq!(output(&engine, suffixed[0], json!({"text": "y"})).await, "y");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_name_keeps_its_tool_when_the_server_lists_a_twin() {
    let engine = engine_with([("s", server(["plain", "Grown"]))]).await;
    assert_eq!(output(&engine, "s_grown", json!({})).await, "Grown", "there is one that it can mean");
    output(&engine, "s_grow", json!({})).await;
    let twin = || tools(&engine).into_iter().find(|name| name.starts_with("s_grown_x"));
    eventually("the twin", || twin().is_some()).await;
    assert_eq!(output(&engine, "s_Grown", json!({})).await, "Grown");
    assert_eq!(output(&engine, "s_grown", json!({})).await, "Grown");
    assert_eq!(output(&engine, &twin().unwrap(), json!({})).await, "grown");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn entries_that_cannot_be_read_are_mended_or_left_out_alone_and_the_status_names_them() {
    let engine = engine_with([("s", server(["broken"]))]).await;
    assert_eq!(tools(&engine), ["s_echo", "s_hint", "s_none", "s_null", "s_number", "s_pid"]);
    assert_eq!(output(&engine, "s_echo", json!({"text": "x"})).await, "x");
    let problems = &status(&engine)["s"].problems;
    let named = [
        ("\"none\"", "without parameters"),
        ("\"null\"", "without parameters"),
        ("\"true\"", "left out"),
        ("\"number\"", "is dropped"),
        ("\"hint\"", "is dropped"),
        ("entry 6", "left out"),
        ("entry 7", "left out"),
    ];
    assert_eq!(problems.len(), named.len(), "{problems:?}");
    for (problem, (name, what)) in problems.iter().zip(named) {
        assert!(problem.starts_with(name) && problem.contains(what), "{problem}");
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn tools_that_are_switched_off_are_not_listed() {
    let engine = engine_with([("a", server([])), ("b", server([]))]).await;
    engine.activation().deactivate("a_echo");
    let listed =
        |server| engine.mcp().tools(server).unwrap().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let all = engine.mcp().all_tools(None).unwrap();
    assert_eq!(all.len(), listed(None).len() + 1);
    assert!(!listed(Some("a")).contains(&"a_echo".to_owned()));
    assert!(listed(Some("b")).contains(&"b_echo".to_owned()));
    assert_eq!(listed(Some("a")).len() + listed(Some("b")).len(), listed(None).len());
    engine.shutdown(Duration::ZERO).await;
}
