//! Another set of servers while the engine runs.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use toolyard::mcp::McpServerConfig;

use super::{engine_with, output, server, status, tools};

fn set<const N: usize>(servers: [(&str, McpServerConfig); N]) -> BTreeMap<String, McpServerConfig> {
    servers.map(|(name, config)| (name.to_owned(), config.connect_timeout(Duration::from_mins(2)))).into()
}

#[tokio::test]
async fn only_what_has_changed_is_touched() {
    let engine = engine_with([]).await;
    let pool = engine.mcp();
    let first = set([("stays", server([])), ("changes", server(["plain", "old"])), ("goes", server([]))]);
    let changes = pool.replace_all(first).await.unwrap();
    assert_eq!(changes.added, ["changes", "goes", "stays"]);
    pool.settled(Duration::from_mins(2), || false).await;
    let before = output(&engine, "stays_pid", json!({})).await;

    let second = set([("stays", server([])), ("changes", server(["plain", "new"])), ("comes", server([]))]);
    let changes = pool.replace_all(second.clone()).await.unwrap();
    assert_eq!((changes.added, changes.replaced), (vec!["comes".to_owned()], vec!["changes".to_owned()]));
    assert_eq!(changes.removed, ["goes"]);
    pool.settled(Duration::from_mins(2), || false).await;
    let has = |name: &str| tools(&engine).contains(&name.to_owned());
    assert!(has("changes_new") && has("comes_pid") && !has("changes_old") && !has("goes_pid"));
    assert_eq!(output(&engine, "stays_pid", json!({})).await, before);
    assert_eq!(status(&engine)["stays"].generation, 1);

    assert_eq!(pool.replace_all(second).await.unwrap(), toolyard::mcp::McpChanges::default());
    let refused = pool.replace_all(set([("", server([]))])).await.unwrap_err();
    assert!(refused.to_string().contains("cannot be the name"), "{refused}");
    assert_eq!(status(&engine).len(), 3, "nothing is changed then");
    engine.shutdown(Duration::ZERO).await;
}
