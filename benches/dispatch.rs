//! Lists of 1 to 100,000 trivial calls from their text to their results, and of slow calls, beside a plain loop, bare tokio channels and raw actix.

mod trivial;

use std::{hint::black_box, time::Duration};

use actix::System;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tokio::sync::{mpsc, oneshot};
use trivial::{
    RawCall, add, by_message, document, engine, in_task, napping, naps, plain_loop, plain_tools, raw_actix,
    raw_actors, read, read_raw,
};

/// A task with a channel, one message and one reply for each call.
async fn bare_tokio(
    tool: &mpsc::UnboundedSender<(String, oneshot::Sender<String>)>,
    calls: Vec<RawCall>,
) -> usize {
    let send = |(_, _, arguments): RawCall| {
        let (reply, answer) = oneshot::channel();
        tool.send((arguments, reply)).expect("the task lives");
        answer
    };
    let answers: Vec<_> = calls.into_iter().map(send).collect();
    let mut done = 0;
    for answer in answers {
        done += usize::from(!answer.await.expect("an answer").is_empty());
    }
    done
}

fn lists(c: &mut Criterion) {
    let system = System::new();
    let (plain, (actors, engine)) = (plain_tools(), system.block_on(async { (raw_actors(), engine()) }));
    let (tool, mut messages) = mpsc::unbounded_channel::<(String, oneshot::Sender<String>)>();
    system.block_on(async {
        actix::spawn(async move {
            while let Some((arguments, reply)) = messages.recv().await {
                let _ = reply.send(add(&arguments));
            }
        });
    });
    let mut group = c.benchmark_group("list");
    for count in [1, 10, 100, 1_000, 10_000, 100_000] {
        let text = document(count);
        group.throughput(Throughput::Elements(count as u64));
        group.sample_size(if count > 1_000 { 10 } else { 50 });
        group.bench_with_input(BenchmarkId::new("plain loop", count), &text, |b, text| {
            b.iter(|| plain_loop(&plain, read_raw(black_box(text))));
        });
        group.bench_with_input(BenchmarkId::new("bare tokio mpsc", count), &text, |b, text| {
            b.iter(|| system.block_on(bare_tokio(&tool, read_raw(black_box(text)))));
        });
        group.bench_with_input(BenchmarkId::new("raw actix send", count), &text, |b, text| {
            b.iter(|| system.block_on(raw_actix(&actors, read_raw(black_box(text)))));
        });
        group.bench_with_input(BenchmarkId::new("engine in the task", count), &text, |b, text| {
            b.iter(|| system.block_on(in_task(&engine, read(black_box(text)))));
        });
        group.bench_with_input(BenchmarkId::new("engine by message", count), &text, |b, text| {
            b.iter(|| system.block_on(by_message(&engine, read(black_box(text)))));
        });
    }
}

/// Calls that wait for a timer: 1, 100, 10,000 in flight at once.
fn in_flight(c: &mut Criterion) {
    let system = System::new();
    let engine = system.block_on(async { napping() });
    let mut group = c.benchmark_group("in flight");
    group.sample_size(10);
    for count in [1_usize, 100, 10_000] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("tokio tasks", count), |b| {
            b.iter(|| {
                system.block_on(async {
                    let mut tasks = tokio::task::JoinSet::new();
                    for _ in 0..count {
                        tasks.spawn(tokio::time::sleep(Duration::from_millis(5)));
                    }
                    while tasks.join_next().await.is_some() {}
                });
            });
        });
        group.bench_function(BenchmarkId::new("engine", count), |b| {
            b.iter(|| system.block_on(in_task(&engine, naps(count))));
        });
    }
}

criterion_group!(benches, lists, in_flight);
criterion_main!(benches);
