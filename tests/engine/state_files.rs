//! States in files: saved, loaded, kept, refused.

use std::{fs, path::PathBuf};

use actix::System;
use futures::executor::block_on;
use serde_json::json;
use tempfile::TempDir;
use toolyard::{
    Engine, ExecuteOptions, StateScope, Stateful,
    persist::{StateRow, read_rows},
};

use super::{
    state::Counter,
    tools::{call, echo},
};

/// An engine whose named tools count: for the whole engine, or for each agent if the name says so.
fn engine(tools: &[&str]) -> Engine {
    let scope = |name: &str| if name.contains("agent") { StateScope::Agent } else { StateScope::Engine };
    let counters = tools.iter().map(|name| Stateful::new(Counter::new(name, scope(name))));
    Engine::builder().tool(echo("stateless")).tools(counters).arbiters(2).build().unwrap()
}

fn count(engine: &Engine, tool: &str, agent: &str, times: usize) {
    let calls = vec![call(tool, json!({})); times];
    assert!(engine.execute_blocking(calls, ExecuteOptions::new().agent(agent)).unwrap().all_ok());
}

fn state(engine: &Engine, tool: &str, agent: &str) -> Option<String> {
    block_on(engine.state(tool, Some(agent))).unwrap().map(|raw| raw.get().to_owned())
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    (folder, file)
}

fn rows(file: &std::path::Path) -> Vec<(String, Option<String>, String)> {
    let shown =
        |row: StateRow| (row.tool, row.agent.map(|agent| agent.to_string()), row.state.get().to_owned());
    read_rows(file).unwrap().map(|row| shown(row.unwrap())).collect()
}

#[test]
fn states_outlive_their_engine_in_a_file() {
    let (_folder, file) = place();
    let first = engine(&["total", "by_agent"]);
    count(&first, "total", "x", 3);
    for (agent, times) in [("a", 1), ("b", 2), ("c", 3)] {
        count(&first, "by_agent", agent, times);
    }
    assert_eq!(block_on(first.save_state(&file)).unwrap(), 4);
    let second = engine(&["by_agent", "total"]);
    let loaded = block_on(second.load_state(&file)).unwrap();
    assert_eq!((loaded.rows, loaded.unknown), (4, vec![]));
    count(&second, "total", "x", 1);
    count(&second, "by_agent", "b", 1);
    assert_eq!(state(&second, "total", "x").as_deref(), Some("4"));
    assert_eq!(state(&second, "by_agent", "b").as_deref(), Some("3"));
    assert_eq!(state(&second, "by_agent", "nobody"), None);
}

/// More rows than wait for the disk at once.
const MANY: usize = 3_000;

#[test]
fn more_rows_than_wait_for_the_disk_are_saved_and_loaded() {
    let (_folder, file) = place();
    let first = engine(&["by_agent"]);
    (0..MANY).for_each(|agent| count(&first, "by_agent", &agent.to_string(), 1));
    assert_eq!(block_on(first.save_state(&file)).unwrap(), MANY as u64);
    assert_eq!(block_on(engine(&["by_agent"]).load_state(&file)).unwrap().rows, MANY as u64);
}

#[test]
fn an_attached_engine_saves_and_loads_too() {
    let (_folder, file) = place();
    let attached = || {
        let counter = Stateful::new(Counter::new("by_agent", StateScope::Agent));
        Engine::builder().tool(counter).attach().unwrap()
    };
    System::new().block_on(async {
        let first = attached();
        for agent in 0..MANY {
            let options = ExecuteOptions::new().agent(agent.to_string());
            assert!(first.execute(vec![call("by_agent", json!({}))], options).await.unwrap().all_ok());
        }
        assert_eq!(first.save_state(&file).await.unwrap(), MANY as u64);
        assert_eq!(first.update_state(&file).await.unwrap(), MANY as u64);
        assert_eq!(attached().load_state(&file).await.unwrap().rows, MANY as u64);
    });
}

#[test]
fn loading_replaces_the_rows_of_the_tools_in_the_file_and_leaves_the_others() {
    let (_folder, file) = place();
    let saved = engine(&["by_agent", "unused_agent"]);
    count(&saved, "by_agent", "a", 1);
    block_on(saved.save_state(&file)).unwrap();

    let other = engine(&["by_agent", "unused_agent", "total"]);
    for (tool, agent) in [("by_agent", "b"), ("unused_agent", "b"), ("total", "b")] {
        count(&other, tool, agent, 7);
    }
    block_on(other.load_state(&file)).unwrap();
    assert_eq!(state(&other, "by_agent", "a").as_deref(), Some("1"));
    assert_eq!(state(&other, "by_agent", "b"), None, "not in the file");
    assert_eq!(state(&other, "unused_agent", "b"), None, "in the file without rows");
    assert_eq!(state(&other, "total", "b").as_deref(), Some("7"), "not in the file at all");
}

#[test]
fn tools_that_are_not_there_are_reported_and_the_rest_is_loaded() {
    let (_folder, file) = place();
    let saved = engine(&["one", "two"]);
    count(&saved, "one", "x", 1);
    count(&saved, "two", "x", 2);
    block_on(saved.save_state(&file)).unwrap();
    let other = engine(&["two"]);
    let loaded = block_on(other.load_state(&file)).unwrap();
    assert_eq!((loaded.rows, loaded.unknown), (2, vec!["one".to_owned()]));
    assert_eq!(state(&other, "two", "x").as_deref(), Some("2"));
}

#[test]
fn a_file_is_loaded_as_a_whole_or_not_at_all() {
    let (_folder, file) = place();
    let saved = engine(&["by_agent", "total"]);
    count(&saved, "by_agent", "a", 1);
    count(&saved, "total", "x", 1);
    block_on(saved.save_state(&file)).unwrap();
    let good = fs::read_to_string(&file).unwrap();
    let row = |row: &str| format!("{row}\n{{\"rows\":3}}\n");
    let with = |last: &str| good.replace("{\"rows\":2}\n", &row(last));
    let cases = [
        (good.replace("null,\"state\":1", "null,\"state\":\"x\""), "line 3: tool \"total\": invalid type"),
        (
            with("{\"tool\":\"total\",\"agent\":\"a\",\"state\":1}"),
            "line 4: tool \"total\": it has one row for the whole engine",
        ),
        (
            with("{\"tool\":\"by_agent\",\"agent\":\"a\",\"state\":1}"),
            "line 4: tool \"by_agent\": the row of agent \"a\" is there twice",
        ),
        (good.replace("\"version\":1", "\"version\":2"), "format version 2 is newer than this program"),
        (good.replace("{\"rows\":2}\n", ""), "the file is cut off"),
        (good[..good.rfind("{\"rows\"").unwrap() - 9].to_owned(), "the file is cut off"),
    ];
    for (text, expected) in cases {
        fs::write(&file, &text).unwrap();
        let other = engine(&["by_agent", "total"]);
        count(&other, "by_agent", "b", 5);
        let error = block_on(other.load_state(&file)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{text}");
        assert_eq!(state(&other, "by_agent", "b").as_deref(), Some("5"), "nothing was replaced: {text}");
        assert_eq!(state(&other, "by_agent", "a"), None);
    }
}

#[test]
fn an_update_keeps_the_rows_of_tools_that_the_engine_does_not_have() {
    let (_folder, file) = place();
    let both = engine(&["one", "two"]);
    count(&both, "one", "x", 1);
    count(&both, "two", "x", 2);
    block_on(both.update_state(&file)).unwrap();
    let only_two = engine(&["two"]);
    count(&only_two, "two", "x", 9);
    assert_eq!(block_on(only_two.update_state(&file)).unwrap(), 2);
    let row = |tool: &str, state: &str| (tool.to_owned(), None, state.to_owned());
    assert_eq!(rows(&file), [row("two", "9"), row("one", "1")]);
    assert_eq!(block_on(only_two.save_state(&file)).unwrap(), 1, "a plain save keeps nothing of others");
}

#[test]
fn a_save_that_cannot_be_written_leaves_the_old_file() {
    let (folder, file) = place();
    let engine = engine(&["total"]);
    block_on(engine.save_state(&file)).unwrap();
    let before = fs::read(&file).unwrap();
    count(&engine, "total", "x", 1);
    let nowhere = folder.path().join("none").join("state.json");
    assert!(block_on(engine.save_state(nowhere)).is_err());
    fs::write(&file, "not a state file").unwrap();
    assert!(block_on(engine.update_state(&file)).is_err(), "what it would keep cannot be read");
    assert_eq!(fs::read(&file).unwrap(), b"not a state file");
    fs::write(&file, &before).unwrap();
    assert_eq!(block_on(engine.update_state(&file)).unwrap(), 1);
}

#[test]
fn calls_go_on_while_states_are_saved_and_every_saved_row_was_committed() {
    let (_folder, file) = place();
    let engine = engine(&["by_agent"]);
    let agents: Vec<String> = (0..200).map(|n| format!("agent-{n}")).collect();
    agents.iter().for_each(|agent| count(&engine, "by_agent", agent, 1));
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            for agent in &agents {
                count(&engine, "by_agent", agent, 5);
            }
        });
        while !counting.is_finished() {
            assert_eq!(block_on(engine.save_state(&file)).unwrap(), 200);
            for (_, _, state) in rows(&file) {
                assert!((1..=6).contains(&state.parse::<i64>().unwrap()), "{state}");
            }
        }
    });
    block_on(engine.save_state(&file)).unwrap();
    assert!(rows(&file).iter().all(|(_, _, state)| state == "6"));
}
