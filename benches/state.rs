//! Calls on state: one row, and random ones of many, beside a plain map and a raw actix actor that
//! owns a map. Snapshot and load of 10,000 rows.

use std::{collections::HashMap, hint::black_box, sync::Arc};

use actix::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toolyard::{
    Arguments, Attached, Engine, ExecuteCalls, ExecuteOptions, Invocation, StateScope, StateWork, Stateful,
    StatefulTool, ToolCall, ToolSpec,
};

struct Counter(ToolSpec);

impl StatefulTool for Counter {
    type State = u64;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn scope(&self) -> StateScope {
        StateScope::Agent
    }

    fn initial(&self, _: Option<&str>) -> u64 {
        0
    }

    fn work(self: Arc<Self>, _: Invocation, count: u64) -> StateWork<u64> {
        StateWork::Done(Ok(serde_json::json!(count + 1).into()), count + 1)
    }
}

/// An actor that owns a map: what a host would write by hand.
#[derive(Default)]
struct MapActor(HashMap<String, u64>);

impl Actor for MapActor {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "String")]
struct Count(String);

impl Handler<Count> for MapActor {
    type Result = String;

    fn handle(&mut self, Count(agent): Count, _: &mut Self::Context) -> String {
        let count = self.0.entry(agent).or_default();
        *count += 1;
        count.to_string()
    }
}

fn engine() -> Attached {
    let counter = Counter(ToolSpec::new("count").parallel_safe(true).checks_arguments(true));
    Engine::builder().tool(Stateful::new(counter)).attach().expect("an engine")
}

async fn count(engine: &Attached, agent: usize) {
    let calls = vec![ToolCall::new("count", Arguments::empty())];
    let message = ExecuteCalls::new(calls, ExecuteOptions::new().agent(format!("agent-{agent}")));
    let report = engine.supervisor(None).send(message).await.expect("a supervisor").expect("a report");
    assert!(report.all_ok());
}

/// The next of a fixed sequence of numbers that jump about.
fn jump(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).expect("31 bits") % below
}

fn calls(c: &mut Criterion) {
    let system = System::new();
    let mut group = c.benchmark_group("call on a random row");
    group.throughput(Throughput::Elements(1));
    for rows in [1_000, 100_000] {
        let (engine, actor) = system.block_on(async { (engine(), MapActor::default().start()) });
        let mut map = HashMap::new();
        system.block_on(async {
            for row in 0..rows {
                map.insert(format!("agent-{row}"), 0_u64);
                actor.send(Count(format!("agent-{row}"))).await.expect("the actor lives");
                count(&engine, row).await;
            }
        });
        let mut random = 1;
        group.bench_function(BenchmarkId::new("plain map", rows), |b| {
            b.iter(|| {
                let row = map.get_mut(&format!("agent-{}", jump(&mut random, rows))).expect("a row");
                *row += 1;
                black_box(row.to_string())
            });
        });
        group.bench_function(BenchmarkId::new("raw actix send", rows), |b| {
            b.iter(|| system.block_on(actor.send(Count(format!("agent-{}", jump(&mut random, rows))))));
        });
        group.bench_function(BenchmarkId::new("engine, list of 1", rows), |b| {
            b.iter(|| system.block_on(count(&engine, jump(&mut random, rows))));
        });
    }
}

fn files(c: &mut Criterion) {
    const ROWS: usize = 10_000;
    let system = System::new();
    let engine = system.block_on(async {
        let engine = engine();
        for row in 0..ROWS {
            count(&engine, row).await;
        }
        engine
    });
    let plain: Vec<(String, u64)> = (0..ROWS).map(|row| (format!("agent-{row}"), 1)).collect();
    let mut group = c.benchmark_group("10,000 rows to text and back");
    group.sample_size(20);
    group.bench_function("plain serde_json", |b| {
        b.iter(|| {
            let text = serde_json::to_string(&plain).expect("text");
            black_box(serde_json::from_str::<Vec<(String, u64)>>(&text).expect("rows"))
        });
    });
    group.bench_function("engine", |b| {
        b.iter(|| {
            system.block_on(async {
                let text =
                    serde_json::to_string(&engine.yard().snapshot(None).await.expect("rows")).expect("text");
                engine.yard().load(serde_json::from_str(&text).expect("rows")).await.expect("loaded")
            })
        });
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("states");
    // Synced to disk, which is most of it; `benches/peers/evofabric_states.py` is the same elsewhere.
    group.bench_function("engine, by a file", |b| {
        b.iter(|| {
            system.block_on(async {
                assert_eq!(engine.save_state(&path).await.expect("saved"), ROWS as u64);
                engine.load_state(&path).await.expect("loaded").rows
            })
        });
    });
}

criterion_group!(benches, calls, files);
criterion_main!(benches);
