//! Tools that come and go all the time while lists run.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::System;
use serde_json::json;
use toolyard::{CatalogChange, Engine, ExecuteCalls, ExecuteOptions, SharedTool, ToolResult, ToolSpec};

use super::tools::{call, tool};

const CHANGES: u64 = 10_000;

/// A tool that answers with its version, after giving way a few times.
fn versioned(name: &str, version: u64) -> SharedTool {
    let body = move |_| async move {
        for _ in 0..version % 3 {
            tokio::task::yield_now().await;
        }
        Ok(json!(version).into())
    };
    Arc::new(tool(ToolSpec::new(name).parallel_safe(version.is_multiple_of(2)), body))
}

/// The version that a result comes from; `None` for an unknown tool.
fn version(result: &ToolResult) -> Option<u64> {
    match result.outcome.as_str() {
        "ok" => result.output.as_ref().unwrap().to_value().as_u64(),
        "unknown_tool" => None,
        other => panic!("{other}: {:?}", result.error),
    }
}

#[test]
fn every_list_sees_one_catalogue_and_nothing_is_left_of_ten_thousand_others() {
    System::new().block_on(async {
        let engine = Engine::builder().tool(versioned("a", 0)).tool(versioned("b", 0)).attach().unwrap();
        let yard = engine.yard().clone();
        let done = Arc::new(AtomicBool::new(false));
        let lists = Arc::new(AtomicUsize::new(0));
        let runners: Vec<_> = (0..4)
            .map(|_| {
                let (yard, done, lists) = (yard.clone(), done.clone(), lists.clone());
                actix::spawn(async move {
                    while !done.load(Ordering::Relaxed) {
                        let calls =
                            ["a", "b", "odd", "a", "b", "odd"].map(|name| call(name, json!({}))).to_vec();
                        let report =
                            yard.execute(ExecuteCalls::new(calls, ExecuteOptions::new())).await.unwrap();
                        let seen: Vec<_> = report.results.iter().map(version).collect();
                        let of_all = seen[0].unwrap();
                        // `odd` is there in every odd version of the catalogue.
                        let odd = (of_all % 2 == 1).then_some(of_all);
                        assert_eq!(seen, [Some(of_all), Some(of_all), odd, Some(of_all), Some(of_all), odd]);
                        lists.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();

        let mut made: Vec<Weak<dyn toolyard::Tool>> = Vec::new();
        for version in 1..=CHANGES {
            let new = |name: &str| versioned(name, version);
            let (a, b, odd) = (new("a"), new("b"), new("odd"));
            made.extend([&a, &b, &odd].map(Arc::downgrade));
            let third =
                if version % 2 == 1 { CatalogChange::Add(odd) } else { CatalogChange::Remove("odd".into()) };
            let changes = vec![CatalogChange::Replace(a), CatalogChange::Put(b), third];
            yard.change_catalog(changes).await.unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for runner in runners {
            runner.await.unwrap();
        }
        assert!(lists.load(Ordering::Relaxed) > 100, "lists ran meanwhile: {lists:?}");
        assert!(yard.catalog().entries().len() == 2);

        // Actors end in their own time, after the last word of what they were.
        while yard.tools_alive() > 2 {
            tokio::task::yield_now().await;
        }
        let alive = made.iter().filter(|tool| tool.strong_count() > 0).count();
        assert_eq!(alive, 2, "of {} tools only the last `a` and `b` are alive", made.len());
        engine.stop(Duration::ZERO).await;
    });
}
