//! Saving, loading and looking at states while calls change them: always as of one moment.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, StatefulFunction, ToolRows, ToolSpec, persist::read_rows};

use super::tools::call;

const TOOLS: [&str; 3] = ["x", "y", "z"];
/// Enough that saving takes long against a call.
const AGENTS: u64 = 1_500;
const ROWS: u64 = AGENTS * TOOLS.len() as u64;

/// An engine on four arbiters whose tools note a number for each agent.
fn engine() -> Engine {
    let tools = TOOLS.map(|name| {
        let note = |noted: &mut u64, given: BTreeMap<String, u64>| *noted = given["n"];
        StatefulFunction::with_schema(ToolSpec::new(name), |_| 0_u64, note).per_agent().quick()
    });
    Engine::builder().tools(tools).arbiters(4).build().unwrap()
}

/// The row that a number of the chain goes to: from tool to tool and from agent to agent.
fn place(n: u64) -> (&'static str, String) {
    let row = n % ROWS;
    (TOOLS[(row % 3) as usize], format!("agent-{}", row / 3))
}

/// Notes one number, and returns when that is committed.
fn note(engine: &Engine, n: u64) {
    let (tool, agent) = place(n);
    let options = ExecuteOptions::new().agent(agent);
    assert!(engine.execute_blocking(vec![call(tool, json!({"n": n}))], options).unwrap().all_ok());
}

/// Each number was noted after the one before it was. So where one is, all before it must have been.
fn assert_has_no_gap(rows: &BTreeMap<(String, String), u64>) -> u64 {
    let last = *rows.values().max().unwrap();
    for n in last - (ROWS - 1)..=last {
        let (tool, agent) = place(n);
        let noted = rows[&(tool.to_owned(), agent.clone())];
        assert_eq!(noted, n, "{last} was saved, but not what was noted before it for {agent} of {tool}");
    }
    last
}

fn of_file(file: &Path) -> BTreeMap<(String, String), u64> {
    let rows = read_rows(file).unwrap().map(Result::unwrap);
    rows.map(|row| ((row.tool, row.agent.unwrap().to_string()), row.state.get().parse().unwrap())).collect()
}

fn of_snapshot(tools: &[ToolRows]) -> BTreeMap<(String, String), u64> {
    let rows = tools.iter().flat_map(|tool| tool.rows.iter().map(|row| (tool.tool.clone(), row)));
    rows.map(|(tool, row)| {
        ((tool, row.agent.as_ref().unwrap().to_string()), row.state.get().parse().unwrap())
    })
    .collect()
}

#[test]
fn what_is_saved_or_shown_has_no_commit_without_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let (engine, stop) = (engine(), AtomicBool::new(false));
    (0..ROWS).for_each(|n| note(&engine, n));
    std::thread::scope(|scope| {
        let chain = scope.spawn(|| {
            let mut n = ROWS;
            while !stop.load(Ordering::Relaxed) {
                note(&engine, n);
                n += 1;
            }
            n - 1
        });
        let mut seen = 0;
        for _ in 0..15 {
            assert_eq!(block_on(engine.save_state(&file)).unwrap(), ROWS);
            let saved = assert_has_no_gap(&of_file(&file));
            let shown = assert_has_no_gap(&of_snapshot(&block_on(engine.snapshot(None)).unwrap()));
            assert!(seen <= saved && saved <= shown);
            seen = shown;
        }
        stop.store(true, Ordering::Relaxed);
        let last = chain.join().unwrap();
        assert!(seen > ROWS && last >= seen, "the chain went on meanwhile: {seen}, {last}");
        let rows = of_snapshot(&block_on(engine.snapshot(None)).unwrap());
        assert_eq!(assert_has_no_gap(&rows), last);
    });
}

#[test]
fn a_load_replaces_all_rows_of_all_tools_at_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let files = [1, 2].map(|number: u64| {
        let rows = TOOLS.iter().flat_map(|tool| (0..AGENTS).map(move |agent| (tool, agent)));
        let lines: Vec<String> = rows
            .map(|(tool, agent)| {
                json!({"tool": tool, "agent": format!("agent-{agent}"), "state": number}).to_string()
            })
            .collect();
        let head = json!({"format": "toolyard-state", "version": 1, "tools": TOOLS});
        let file = folder.path().join(format!("{number}.json"));
        fs::write(&file, format!("{head}\n{}\n{}\n", lines.join("\n"), json!({"rows": ROWS}))).unwrap();
        file
    });
    let (engine, stop) = (engine(), AtomicBool::new(false));
    block_on(engine.load_state(&files[0])).unwrap();
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            for file in files.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                assert_eq!(block_on(engine.load_state(file)).unwrap().rows, ROWS);
            }
        });
        for _ in 0..60 {
            let rows = of_snapshot(&block_on(engine.snapshot(None)).unwrap());
            let first = rows.values().next().unwrap();
            assert!(rows.len() as u64 == ROWS && rows.values().all(|number| number == first));
        }
        stop.store(true, Ordering::Relaxed);
        loading.join().unwrap();
    });
}

#[test]
fn a_save_after_the_end_leaves_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let engine = engine();
    note(&engine, 1);
    block_on(engine.save_state(&file)).unwrap();
    block_on(engine.shutdown(std::time::Duration::ZERO));
    let error = block_on(engine.save_state(&file)).unwrap_err().to_string();
    assert_eq!(error, "the engine has stopped: its states are gone");
    assert_eq!(of_file(&file).len(), 1);
}
