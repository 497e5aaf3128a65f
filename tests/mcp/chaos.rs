//! Servers that are killed, replaced, removed and cut off at random while calls go to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;
use toolyard::{
    Engine, ExecuteOptions, Output, ToolCall, ToolResult,
    mcp::{Backoff, McpServerConfig, McpState},
};

use super::{
    book::{Book, Chance, Filed, Use},
    engine_with, eventually,
    listening::{Listening, free_port},
    proxy::Proxy,
    server, status, within,
};
use crate::processes::{mark, marked};

const SEED: u64 = 0x7001_4a2d;
const LENGTH: Duration = Duration::from_mins(1);
/// By then everything has happened once, and what is kept for later use is there.
const WARM_UP: Duration = Duration::from_secs(20);
const CALLERS: u64 = 12;
/// More calls than can be made in the time.
const MOST_CALLS: usize = 4_000_000;

/// The servers: some that are let alone, some programs that are not, and two behind ways that are cut.
const CALM: [&str; 2] = ["calm1", "calm2"];
const PROGRAMS: [&str; 6] = ["p1", "p2", "p3", "p4", "p5", "p6"];
const WAYS: [&str; 2] = ["http", "sse"];

struct World {
    engine: Engine,
    configs: BTreeMap<&'static str, McpServerConfig>,
    ways: [Proxy; 2],
    ports: [u16; 2],
    servers: [Option<Listening>; 2],
    done: BTreeMap<&'static str, usize>,
}

impl World {
    async fn new(notes: &Path, mark: &str) -> Self {
        let ports = [free_port(), free_port()];
        let servers = [Self::listening(0, ports[0], notes).await, Self::listening(1, ports[1], notes).await];
        let ways = [Proxy::to(ports[0]).await, Proxy::to(ports[1]).await];
        let program = server([]).env("NOTES", notes.display().to_string()).env("MARK", mark);
        let soon =
            Backoff { first: Duration::from_millis(20), longest: Duration::from_millis(200), tries: 10_000 };
        let patient = |config: McpServerConfig| {
            config
                .backoff(soon.clone())
                .drain(Duration::from_millis(100))
                .connect_timeout(Duration::from_mins(2))
        };
        let programs = CALM.into_iter().chain(PROGRAMS).map(|name| (name, patient(program.clone())));
        let configs: BTreeMap<_, _> = programs
            .chain([
                ("http", patient(McpServerConfig::http(ways[0].url("mcp")))),
                ("sse", patient(McpServerConfig::sse(ways[1].url("sse")))),
            ])
            .collect();
        let engine = engine_with(configs.clone()).await;
        Self { engine, configs, ways, ports, servers: servers.map(Some), done: BTreeMap::new() }
    }

    async fn listening(way: usize, port: u16, notes: &Path) -> Listening {
        let (sdk, transport) = [("mcp2", "streamable-http"), ("mcp1", "sse")][way];
        Listening::start_with(sdk, port, transport, &[("NOTES", notes)]).await
    }

    /// Does one bad thing.
    async fn act(&mut self, chance: &mut Chance, notes: &Path) {
        let name = PROGRAMS[chance.below(PROGRAMS.len())];
        let way = chance.below(WAYS.len());
        let pool = self.engine.mcp();
        let done = match chance.below(20) {
            0..7 => {
                let seen = status(&self.engine);
                let Some(pid) = seen.get(name).and_then(|server| server.pid) else { return };
                // It may have ended by itself.
                let _ = Command::new("kill").args(["-KILL", "--", &format!("-{pid}")]).output();
                "killed"
            }
            7..10 => {
                pool.add(name, self.configs[name].clone()).await.unwrap();
                "replaced"
            }
            10..12 => {
                // One that is not there is none the worse for it.
                let _ = pool.remove(name).await;
                "removed"
            }
            12..14 => {
                let _ = pool.disconnect(Some(name)).await;
                "disconnected"
            }
            14..19 => {
                self.ways[way].cut();
                "cut"
            }
            _ => {
                self.servers[way] = None;
                self.servers[way] = Some(Self::listening(way, self.ports[way], notes).await);
                "restarted"
            }
        };
        *self.done.entry(done).or_default() += 1;
    }

    /// Puts everything back, and waits until all is well.
    async fn settle(&self) {
        for name in PROGRAMS {
            if !self.engine.mcp().servers().iter().any(|there| there == name) {
                self.engine.mcp().add(name, self.configs[name].clone()).await.unwrap();
            }
        }
        // One that was disconnected comes back when it is called; its tools may not be known by then.
        let _ = self.engine.mcp().connect(None).await;
        eventually("all servers are back", || {
            let seen = status(&self.engine);
            seen.len() == self.configs.len()
                && seen.values().all(|server| server.state == McpState::Ready && server.tools.is_some())
        })
        .await;
    }
}

/// What became of the calls to all servers.
struct Seen {
    book: Book,
    calm_failures: AtomicUsize,
    /// The servers that have answered a call.
    answered: Mutex<BTreeSet<String>>,
    over: AtomicBool,
}

impl Seen {
    fn new() -> Self {
        Self {
            book: Book::new(MOST_CALLS),
            calm_failures: AtomicUsize::new(0),
            answered: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    fn file(&self, number: usize, server: &str, result: &ToolResult) {
        let answer = result.output.as_ref().map(Output::to_text);
        let filed = self.book.file(number, result.outcome, answer);
        if filed == Filed::Ok {
            self.answered.lock().insert(server.to_owned());
        } else if CALM.contains(&server) {
            self.calm_failures.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Makes lists of calls to servers at random until it is over.
async fn call(engine: Engine, seen: Arc<Seen>, mut chance: Chance) {
    let names: Vec<_> = CALM.into_iter().chain(PROGRAMS).chain(WAYS).collect();
    while !seen.over.load(Ordering::SeqCst) {
        let numbers: Vec<_> = (0..=chance.below(4)).map_while(|_| seen.book.begin()).collect();
        let servers: Vec<_> = numbers.iter().map(|_| names[chance.below(names.len())]).collect();
        let call = |(number, server): (&usize, &&str)| {
            ToolCall::new(format!("{server}_note"), json!({"text": number.to_string()}).into())
        };
        let calls = numbers.iter().zip(&servers).map(call).collect::<Vec<_>>();
        let report = engine.execute(calls, ExecuteOptions::new()).await.unwrap();
        assert_eq!(report.results.len(), numbers.len());
        for ((number, server), result) in numbers.iter().zip(&servers).zip(&report.results) {
            seen.file(*number, server, result);
        }
    }
}

#[tokio::test]
#[ignore = "takes more than a minute; tests/run.sh runs it by its name"]
async fn every_call_has_one_truthful_outcome_while_servers_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, mark) = (folder.path().join("notes"), mark());
    let mut world = World::new(&notes, &mark).await;
    let processes = marked(&mark).len();
    assert_eq!(processes, CALM.len() + PROGRAMS.len());

    let seen = Arc::new(Seen::new());
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| tokio::spawn(call(world.engine.clone(), seen.clone(), Chance(SEED + 1 + caller))))
        .collect();
    let (began, mut chance, mut warm) = (Instant::now(), Chance(SEED), None);
    while began.elapsed() < LENGTH {
        world.act(&mut chance, &notes).await;
        sleep(Duration::from_millis(30 + u64::try_from(chance.below(100)).unwrap())).await;
        if warm.is_none() && began.elapsed() > WARM_UP {
            warm = Some(Use::of("self").memory);
        }
    }
    seen.over.store(true, Ordering::SeqCst);
    for caller in callers {
        within("the last lists end", caller).await.unwrap();
    }
    world.settle().await;
    let (warm, after) = (warm.unwrap(), Use::of("self").memory);
    eventually("no process is left over", || marked(&mark).len() == processes).await;

    let counts = seen.book.counts();
    println!("{counts:?}; {:?}; {warm} KiB, then {after} KiB", world.done);
    let all = counts[&Filed::Ok] > 1000 && counts.values().all(|count| *count > 0) && world.done.len() == 6;
    assert!(all, "everything has happened");
    assert_eq!(seen.answered.lock().len(), CALM.len() + PROGRAMS.len() + WAYS.len());
    assert_eq!(
        seen.calm_failures.load(Ordering::SeqCst),
        0,
        "servers that nobody touched have answered all calls"
    );
    assert!(after <= warm + warm / 10, "memory has grown from {warm} KiB to {after} KiB");
    seen.book.assert_truthful(&notes);
    world.engine.shutdown(Duration::ZERO).await;
    assert_eq!(marked(&mark), []);
}
