//! Calls to an MCP server through the engine, beside bare `rmcp` over the same kind of streams.
//!
//! `count WHAT CALLS LISTS` runs one thing so many times instead, for `benches/instructions.sh`; `sessions WHAT NUMBER`
//! keeps so many connections open and prints the memory that one takes.

mod echo;

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput};
use echo::{bare, config, engine, through_engine, through_rmcp};
use tokio::runtime::{Builder, Runtime};
use toolyard::Engine;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    match words[..] {
        ["count", what, calls, lists] => runtime().block_on(count(what, number(calls), number(lists))),
        ["sessions", what, sessions] => runtime().block_on(keep(what, number(sessions))),
        _ => {
            let mut criterion = Criterion::default().configure_from_args();
            calls(&mut criterion);
            criterion.final_summary();
        }
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn calls(c: &mut Criterion) {
    let runtime = runtime();
    let (bare, engine) = runtime.block_on(async { (bare().await, engine().await) });
    let mut group = c.benchmark_group("mcp");
    for in_flight in [1, 100, 1_000] {
        group.throughput(Throughput::Elements(in_flight as u64));
        group.sample_size(30);
        group.bench_function(BenchmarkId::new("bare rmcp", in_flight), |b| {
            b.iter(|| runtime.block_on(through_rmcp(&bare, black_box(in_flight))));
        });
        group.bench_function(BenchmarkId::new("engine", in_flight), |b| {
            b.iter(|| runtime.block_on(through_engine(&engine, black_box(in_flight))));
        });
    }
    group.finish();
}

async fn count(what: &str, calls: usize, lists: usize) {
    if what == "rmcp" {
        let bare = bare().await;
        for _ in 0..lists {
            assert_eq!(through_rmcp(&bare, calls).await, calls);
        }
    } else {
        let engine = engine().await;
        for _ in 0..lists {
            assert_eq!(through_engine(&engine, calls).await, calls);
        }
        engine.shutdown(Duration::ZERO).await;
    }
}

async fn keep(what: &str, sessions: usize) {
    // The first takes what all of them share.
    let warm = (bare().await, engine().await);
    let before = resident_bytes();
    let mut kept = Vec::new();
    let many = Engine::builder().build().expect("an engine");
    for session in 0..sessions {
        if what == "rmcp" {
            let bare = bare().await;
            assert_eq!(through_rmcp(&bare, 1).await, 1);
            kept.push(bare);
        } else {
            many.mcp().add(format!("s{session}"), config()).await.expect("a usable name");
        }
    }
    many.mcp().settled(Duration::from_mins(5), || false).await;
    let tools = many.specs().len();
    println!("{what}: {} bytes a session, {tools} tools", (resident_bytes() - before) / sessions);
    drop((warm, kept));
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}
