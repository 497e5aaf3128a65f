//! Results that are too large for a list.

use std::{fs, path::Path, time::Duration};

use serde_json::json;
use toolyard::{Engine, ExecuteOptions, Failure, FunctionTool, StatefulFunction, ToolResult, ToolSpec};

use super::tools::{blocking, call, tool};

fn full(result: &ToolResult) -> &Path {
    Path::new(result.detail.as_ref().unwrap().full.as_ref().unwrap())
}

fn text(result: &ToolResult) -> &str {
    result.output.as_ref().unwrap().as_text().unwrap()
}

/// An engine with a tool of each kind that answers with 1,000 of one character.
fn engine() -> Engine {
    let spec = |name| ToolSpec::new(name).parallel_safe(true);
    let at_once = tool(spec("at_once"), |_| async { Ok("a".repeat(1_000).into()) });
    let later = tool(spec("later"), |_| async {
        tokio::task::yield_now().await;
        Err(Failure::failed("e".repeat(1_000)).output("b".repeat(1_000)))
    });
    let on_thread = blocking(spec("on_thread"), |_| Ok("c".repeat(1_000).into()));
    let stateful = StatefulFunction::with_schema(
        spec("stateful"),
        |_| 0,
        |count: &mut u32| {
            *count += 1;
            "d".repeat(1_000)
        },
    );
    let small = FunctionTool::with_schema(spec("small"), || "0123456789".repeat(10)).quick();
    let builder =
        Engine::builder().tool(at_once).tool(later).tool(on_thread).tool(stateful.quick()).tool(small);
    builder.max_result_bytes(100).build().unwrap()
}

#[test]
fn every_kind_of_tool_has_its_large_results_cut_and_kept_in_call_order() {
    let engine = engine();
    let names = ["at_once", "small", "later", "on_thread", "small", "stateful", "at_once"];
    let calls = names.iter().map(|name| call(name, json!({}))).collect::<Vec<_>>();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    let letters = ["a", "", "b", "c", "", "d", "a"];
    for (result, letter) in report.results.iter().zip(letters) {
        if letter.is_empty() {
            assert_eq!((text(result), &result.detail), ("0123456789".repeat(10).as_str(), &None));
            continue;
        }
        let half = letter.repeat(50);
        assert_eq!(text(result), format!("{half}\n[… 900 of 1000 bytes are left out …]\n{half}"));
        assert_eq!(fs::read_to_string(full(result)).unwrap(), letter.repeat(1_000));
        assert!(result.detail.as_ref().unwrap().truncated);
    }
    assert!(report.results[2].error.as_ref().unwrap().contains("900 of 1000 bytes"));
    assert_ne!(full(&report.results[0]), full(&report.results[6]));
}

#[test]
fn the_files_of_an_engine_go_with_it() {
    let engine = engine();
    let list = || vec![call("at_once", json!({}))];
    let first = engine.execute_blocking(list(), ExecuteOptions::new()).unwrap();
    let second = engine.execute_blocking(list(), ExecuteOptions::new()).unwrap();
    let (first, second) = (full(&first.results[0]), full(&second.results[0]));
    assert!(first != second && first.exists() && second.exists());
    futures::executor::block_on(engine.shutdown(Duration::ZERO));
    assert!(!first.parent().unwrap().exists());
}
