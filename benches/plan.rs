//! Planning alone, beside a plain pass over the same decisions.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toolyard::{DecisionContext, ParallelDecision, contract::plan};

fn decisions(count: usize) -> impl Iterator<Item = (usize, ParallelDecision)> {
    (0..count).map(|i| (i, ParallelDecision::by_default(i % 5 != 0, &DecisionContext::default())))
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    for count in [10, 1_000, 100_000] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::new("plain pass", count), &count, |b, count| {
            b.iter(|| black_box(decisions(*count).collect::<Vec<_>>()));
        });
        group.bench_with_input(BenchmarkId::new("plan", count), &count, |b, count| {
            b.iter(|| black_box(plan(decisions(*count))));
        });
    }
}

criterion_group!(benches, plans);
criterion_main!(benches);
