//! What a call of a Python function costs beside a bare round trip over a pipe: the same frames to a Python process
//! that sends each back unread. Both run on one thread of ours and in one process of Python's.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    runtime::{Builder, Runtime},
};
use toolyard::{Engine, ExecuteOptions, PythonFile, ToolCall};

/// Calls in one list, one after another.
const CALLS: u64 = 100;

const TOOLS: &str = "
def add(a: float, b: float):
    return a + b

async def add_async(a: float, b: float):
    return a + b

def add_beside(a: float, b: float):
    return a + b

add_beside.parallel_safe = True
";

/// Sends frames back; reads and writes as a worker does.
const ECHO: &str = "
import os
reader = open(0, 'rb', buffering=1 << 16)
while True:
    head = reader.read(4)
    if len(head) < 4:
        break
    os.write(1, head + reader.read(int.from_bytes(head, 'big')))
";

struct Pipe {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", ECHO])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python3");
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _child: child, input, output: BufReader::new(output) }
    }

    async fn round_trip(&mut self, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap();
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend_from_slice(body);
        self.input.write_all(&frame).await.unwrap();
        let length = self.output.read_u32().await.unwrap();
        let mut answer = vec![0; length as usize];
        self.output.read_exact(&mut answer).await.unwrap();
        answer
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn python(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("python");
    group.throughput(Throughput::Elements(CALLS));

    let here = runtime();
    let mut pipe = here.block_on(async { Pipe::start() });
    let body = br#"{"op":"call","id":1,"tool":"add","args":{"a":1.5,"b":2},"state":null}"#;
    group.bench_function("bare pipe", |bencher| {
        bencher.iter(|| {
            here.block_on(async {
                for _ in 0..CALLS {
                    black_box(pipe.round_trip(body).await);
                }
            });
        });
    });

    let folder = tempfile::tempdir().unwrap();
    let only_sync = TOOLS.split("\nasync").next().unwrap();
    for (file, source) in [("plain.py", only_sync), ("mixed.py", TOOLS)] {
        std::fs::write(folder.path().join(file), source).unwrap();
    }
    for (label, file, tool) in [
        ("sync", "plain.py", "add"),
        ("sync in a mixed file", "mixed.py", "add"),
        ("async", "mixed.py", "add_async"),
        ("parallel-safe", "mixed.py", "add_beside"),
    ] {
        let file = PythonFile::new(folder.path().join(file));
        let engine = Engine::builder().python_file(file).build().unwrap();
        assert_eq!(engine.python_report().problems, Vec::<String>::new());
        let call = ToolCall::new(tool, json!({"a": 1.5, "b": 2}).into());
        group.bench_function(label, |bencher| {
            bencher.iter(|| {
                let calls = vec![call.clone(); usize::try_from(CALLS).unwrap()];
                let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
                assert!(report.all_ok());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, python);
criterion_main!(benches);
