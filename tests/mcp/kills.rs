//! Thousands of calls by the program to servers on the official SDKs, one of which is killed every two seconds.

use std::{
    collections::HashMap,
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::{oneshot, watch},
    time::{MissedTickBehavior, interval, sleep},
};
use toolyard::Outcome;

use super::{
    book::{Book, Chance, Filed, Use},
    eventually, is_alive,
    listening::{Listening, SDK_SERVER, free_port},
    restarts::TYPESCRIPT,
    within,
};
use crate::{
    processes::{assert_gone, mark, marked, signal},
    venv,
};

const SEED: u64 = 0x7001_4a2d;

/// How many calls are made where nothing is said. `TOOLYARD_TEST_KILLS=20000 tests/run.sh kills` is the long form.
const CALLS: usize = 1_200;

/// How many more are made at most while servers come back.
const MORE: usize = 20_000;

/// How many calls a server has at once, and how long each pauses afterwards: 125 calls a second to all of them.
const LANES: usize = 3;
const PAUSE: Duration = Duration::from_millis(120);

/// How often a server is killed.
const EVERY: Duration = Duration::from_secs(2);

/// How long one that listens stays away at most, in milliseconds.
const AWAY: usize = 1_000;

/// What descriptors and threads may differ by between two moments of rest: connections that are kept for later use, and
/// threads that have nothing to do.
const SLACK: usize = 12;

/// The servers, by name, SDK and transport; pipes where none is said.
const SERVERS: [(&str, &str, Option<&str>); 5] = [
    ("python", "mcp1", None),
    ("typescript", "typescript", None),
    ("http", "mcp1", Some("streamable-http")),
    ("sse", "mcp2", Some("sse")),
    ("fast", "fastmcp", Some("streamable-http")),
];

/// A server that is killed now and then.
struct Peer {
    name: &'static str,
    sdk: &'static str,
    transport: Option<&'static str>,
    port: u16,
    mark: String,
    notes: PathBuf,
    listening: tokio::sync::Mutex<Option<Listening>>,
    /// How often it has been killed.
    kills: AtomicUsize,
    /// After how many kills it is there, and after how many it has answered.
    there: AtomicUsize,
    steady: AtomicUsize,
    slips: AtomicUsize,
}

impl Peer {
    fn new(at: usize, mark: &str, notes: &Path) -> Arc<Self> {
        let (name, sdk, transport) = SERVERS[at];
        Arc::new(Self {
            name,
            sdk,
            transport,
            port: free_port(),
            mark: format!("{mark}-{name}"),
            notes: notes.to_owned(),
            listening: tokio::sync::Mutex::default(),
            kills: AtomicUsize::new(0),
            there: AtomicUsize::new(0),
            steady: AtomicUsize::new(usize::MAX),
            slips: AtomicUsize::new(0),
        })
    }

    fn config(&self) -> Value {
        let env = json!({"NOTES": self.notes, "MARK": self.mark});
        let url = |path: &str| format!("http://127.0.0.1:{}/{path}", self.port);
        match self.transport {
            None if self.sdk == "typescript" => {
                json!({"command": "node", "args": [TYPESCRIPT, venv::npm_modules("mcp")], "env": env})
            }
            None => json!({"command": venv::python(self.sdk), "args": [SDK_SERVER], "env": env}),
            Some("sse") => json!({"type": "sse", "url": url("sse")}),
            Some(_) => json!({"type": "http", "url": url("mcp")}),
        }
    }

    /// Starts it, where the engine does not do so.
    async fn start(&self) {
        if let Some(transport) = self.transport {
            let env = [("NOTES", &*self.notes)];
            let listening = Listening::start_with(self.sdk, self.port, transport, &env).await;
            *self.listening.lock().await = Some(listening);
        }
        self.there.store(self.kills.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Its processes, without those that keep them.
    fn processes(&self) -> Vec<u32> {
        let is_server = |line: &str| !line.contains("--toolyard-keep-child");
        marked(&self.mark).into_iter().filter(|(_, line)| is_server(line)).map(|(pid, _)| pid).collect()
    }

    /// Tells whether it has answered since it was killed last.
    fn is_steady(&self) -> bool {
        self.steady.load(Ordering::SeqCst) == self.kills.load(Ordering::SeqCst)
    }

    /// Kills it and starts it again; that it is killed has been counted.
    async fn kill(&self, name: &str, away: Duration) {
        if self.transport.is_some() {
            let listening = self.listening.lock().await.take().expect("a server that listens");
            if name == "TERM" {
                listening.terminate().await;
            } else {
                drop(listening);
            }
            sleep(away).await;
        } else {
            for pid in self.processes() {
                signal(name, pid);
                eventually("it has ended", || !is_alive(&pid.to_string())).await;
            }
        }
        self.start().await;
    }
}

/// The program that makes the calls.
struct Program {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>,
}

impl Program {
    fn start(folder: &Path, peers: &[Arc<Peer>], mark: &str) -> Self {
        let servers =
            peers.iter().map(|peer| (peer.name.to_owned(), peer.config())).collect::<serde_json::Map<_, _>>();
        let file = folder.join("servers.json");
        fs::write(&file, json!({"mcpServers": servers}).to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.args(["call", "--jsonl", "--unordered", "--mcp-config"]).arg(file).env("MARK", mark);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("errors")).unwrap())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let waiting = Arc::<Mutex<HashMap<String, oneshot::Sender<Value>>>>::default();
        let answered = waiting.clone();
        thread::spawn(move || {
            let answers = serde_json::Deserializer::from_reader(output).into_iter::<Value>();
            for answer in answers.map_while(Result::ok) {
                let waiting = answered.lock().remove(answer["id"].as_str().unwrap());
                let _ = waiting.expect("an answer to a list that was sent").send(answer);
            }
        });
        Self { child, input: Mutex::new(input), waiting }
    }

    /// Makes a call, and gives its result.
    async fn call(&self, number: usize, server: &str) -> Value {
        let (send, answer) = oneshot::channel();
        self.waiting.lock().insert(number.to_string(), send);
        let call = json!({"name": format!("{server}_slow"), "arguments": {"text": number.to_string()}});
        let list = json!({"id": number.to_string(), "calls": [call]});
        writeln!(self.input.lock().as_mut().unwrap(), "{list}").unwrap();
        within("a call is answered", answer).await.expect("the program runs")["results"][0].take()
    }

    /// What it and the keepers of its child processes use.
    fn used(&self) -> Use {
        let program = self.child.id().to_string();
        let exe = fs::read_link(format!("/proc/{program}/exe")).unwrap();
        let of_program = |pid: &String| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent =
                stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)).map(str::to_owned);
            *pid == program
                || parent.as_ref() == Some(&program)
                    && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|its| its == exe)
        };
        let pids =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        pids.filter(of_program).map(|pid| Use::of(&pid)).fold(Use::default(), |sum, one| Use {
            memory: sum.memory + one.memory,
            descriptors: sum.descriptors + one.descriptors,
            threads: sum.threads + one.threads,
        })
    }

    /// Ends it, as one whose input ends.
    fn end(mut self) {
        drop(self.input.lock().take());
        // One that some calls of were not `ok` says so.
        assert_eq!(self.child.wait().unwrap().code(), Some(1));
    }
}

/// Makes calls to one server until nobody tells it to rest any more, and none while it is told to.
async fn call(program: Arc<Program>, peer: Arc<Peer>, book: Arc<Book>, mut resting: watch::Receiver<bool>) {
    let mut paced = interval(PAUSE);
    loop {
        paced.tick().await;
        if resting.wait_for(|resting| !resting).await.is_err() {
            return;
        }
        let number = book.begin().expect("room in the book");
        let (kills, there) = (peer.kills.load(Ordering::SeqCst), peer.there.load(Ordering::SeqCst));
        let was_steady = peer.is_steady();
        let result = program.call(number, peer.name).await;
        let outcome: Outcome = serde_json::from_value(result["outcome"].clone()).unwrap();
        let filed = book.file(number, outcome, result["output"].as_str());
        if filed == Filed::Ok && there == kills {
            peer.steady.store(kills, Ordering::SeqCst);
        }
        if was_steady && filed != Filed::Ok && peer.kills.load(Ordering::SeqCst) == kills {
            peer.slips.fetch_add(1, Ordering::SeqCst);
            eprintln!("{} was not touched: {result}", peer.name);
        }
    }
}

/// Waits until all servers have answered since they were killed last, and all calls have ended.
async fn rest(peers: &[Arc<Peer>], program: &Program, pause: &watch::Sender<bool>) -> Use {
    eventually("all servers answer", || peers.iter().all(|peer| peer.is_steady())).await;
    pause.send_replace(true);
    eventually("all calls have ended", || program.waiting.lock().is_empty()).await;
    for peer in peers {
        let processes = peer.processes();
        assert!(processes.len() <= 1, "of {}: {processes:?}", peer.name);
    }
    let used = program.used();
    pause.send_replace(false);
    used
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes half a minute; tests/run.sh runs it by its name"]
async fn every_outcome_is_true_and_nothing_grows_while_servers_are_killed() {
    let calls = env::var("TOOLYARD_TEST_KILLS").map_or(CALLS, |calls| calls.parse().unwrap());
    let (folder, mark) = (tempfile::tempdir().unwrap(), mark());
    let notes = folder.path().join("notes");
    let peers: Vec<_> = (0..SERVERS.len()).map(|at| Peer::new(at, &mark, &notes)).collect();
    for peer in &peers {
        peer.start().await;
    }
    let program = Arc::new(Program::start(folder.path(), &peers, &mark));
    let (began, book) = (Instant::now(), Arc::new(Book::new(calls + MORE)));
    let (pause, resting) = watch::channel(false);
    let mut lanes = Vec::new();
    for peer in peers.iter().flat_map(|peer| std::iter::repeat_n(peer, LANES)) {
        lanes.push(tokio::spawn(call(program.clone(), peer.clone(), book.clone(), resting.clone())));
    }

    let (mut chance, mut ticks, mut uses) = (Chance(SEED), interval(EVERY), Vec::new());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut starting = Vec::new();
    let was_killed = |peer: &Arc<Peer>| peer.kills.load(Ordering::SeqCst) > 0;
    while book.calls() < calls || !peers.iter().all(was_killed) {
        ticks.tick().await;
        // After a fifth what is kept for later use is there; then in the middle.
        if book.calls() * 5 >= calls * (1 + 2 * uses.len()) {
            uses.push((began.elapsed().as_secs(), rest(&peers, &program, &pause).await));
        }
        // The one that has been killed least often.
        let steady = peers.iter().filter(|peer| peer.is_steady());
        let next = steady.min_by_key(|peer| (peer.kills.load(Ordering::SeqCst), chance.below(100)));
        if let Some(peer) = next.cloned() {
            peer.kills.fetch_add(1, Ordering::SeqCst);
            let name = if chance.below(4) == 0 { "TERM" } else { "KILL" };
            let away = Duration::from_millis(u64::try_from(chance.below(AWAY)).unwrap());
            starting.push(tokio::spawn(async move { peer.kill(name, away).await }));
        }
    }
    for started in starting {
        within("all servers are back", started).await.unwrap();
    }
    uses.push((began.elapsed().as_secs(), rest(&peers, &program, &pause).await));
    // So they stay at rest.
    pause.send_replace(true);
    drop(pause);
    for lane in lanes {
        within("all calls end", lane).await.unwrap();
    }
    let kills: Vec<_> = peers.iter().map(|peer| (peer.name, peer.kills.load(Ordering::SeqCst))).collect();
    println!("{} calls: {:?}; killed: {kills:?}; {uses:?}", book.calls(), book.counts());
    assert!(book.counts().values().all(|count| *count > 0), "everything has happened");
    let slips: usize = peers.iter().map(|peer| peer.slips.load(Ordering::SeqCst)).sum();
    assert_eq!(slips, 0, "servers that nobody touched have answered all calls");
    book.assert_truthful(&notes);
    let (warm, last) = (uses[0].1, uses.last().unwrap().1);
    assert!(last.memory <= warm.memory + warm.memory / 10, "memory has grown: {uses:?}");
    assert!(last.descriptors <= warm.descriptors + SLACK, "descriptors have grown: {uses:?}");
    assert!(last.threads <= warm.threads + SLACK, "threads have grown: {uses:?}");
    Arc::into_inner(program).expect("all calls have ended").end();
    drop(peers);
    assert_gone(&mark);
}
