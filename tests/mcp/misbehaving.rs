//! Servers that do what no server should, over every way: each call ends truthfully and soon, and nobody else is harmed.

mod table;

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall,
    mcp::{Backoff, McpServerConfig, stand_ins},
};

use self::table::{Row, Way, rows};
use super::{engine_with, server};
use crate::processes::{assert_gone, mark};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/misbehaving.py");

/// The test below that is run in a process of its own.
const CHILD: &str = "mcp::misbehaving::cells";

/// How long a call may take at all; far more than any cell needs that is not about silence.
const TIMEOUT: Duration = Duration::from_mins(1);
const SOON: Duration = Duration::from_secs(30);

/// The largest message that the servers may send, in bytes.
const LARGEST: usize = 5 * 1024 * 1024;

/// How much memory a process may take beside what it takes with good servers: four times the largest message, and
/// six over event streams of streamable HTTP, which a library takes apart that keeps copies of its own.
fn most_kb(way: Way) -> u64 {
    let times = if way == Way::Stream { 6 } else { 4 };
    times * LARGEST as u64 / 1024
}

/// How many servers misbehave at the same time.
const AT_ONCE: usize = 8;

/// The behaviours that are about memory: each is looked at alone, over each way.
const HEAVY: [&str; 7] =
    ["many_blocks", "too_large", "endless_line", "endless_start", "pings", "samples", "large_list"];

/// What one cell of the table came to.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    behaviour: String,
    way: String,
    outcome: String,
    said: String,
    soon: bool,
    /// A good server in the same engine answered meanwhile.
    sibling: bool,
}

/// What is left of an engine that has ended, and how much memory its process had at most, in KB.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    files: usize,
    threads: usize,
    peak: u64,
}

#[test]
fn every_cell_of_the_table_ends_truthfully_and_soon_and_harms_nobody() {
    let seen = table(None);
    let mut wrong = Vec::new();
    let mut cells = 0;
    for (behaviour, ways, outcome, says) in rows() {
        for way in *ways {
            cells += 1;
            let name = format!("{way:?}");
            let Some(cell) = seen.iter().find(|cell| cell.behaviour == *behaviour && cell.way == name) else {
                wrong.push(format!("{behaviour} over {name}: not seen"));
                continue;
            };
            let is_right =
                cell.outcome == outcome.as_str() && cell.said.contains(says) && cell.soon && cell.sibling;
            if !is_right {
                wrong.push(format!("{behaviour} over {name}: {outcome:?} ({says:?}) and not {cell:?}"));
            }
        }
    }
    println!("{cells} cells");
    assert!(cells >= 150);
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_server_makes_the_engine_take_many_times_its_largest_message() {
    for (behaviour, ways, ..) in rows().filter(|row| HEAVY.contains(&row.0)) {
        for way in *ways {
            table(Some((behaviour, *way)));
        }
    }
}

/// Runs the cells of one behaviour, or of all, in a process of its own, which must leave nothing.
fn table(alone: Option<(&str, Way)>) -> Vec<Seen> {
    let mark = mark();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--ignored", "--nocapture", "--exact", CHILD]).env("MARK", &mark);
    child.env("ALONE", alone.map_or_else(String::new, |(behaviour, way)| format!("{behaviour} {way:?}")));
    let ran = child.stderr(Stdio::inherit()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert_gone(&mark);
    let lines = || said.lines().filter_map(|line| Some(&line[line.find('{')?..]));
    let left: Vec<Left> = lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [before, after] = left.as_slice() else { panic!("{said}") };
    let nothing_left = after.files <= before.files && after.threads <= before.threads;
    assert!(nothing_left, "{alone:?}: {before:?}, {after:?}:\n{said}");
    if let Some((behaviour, way)) = alone {
        let (more, most) = (after.peak.saturating_sub(before.peak), most_kb(way));
        println!("{behaviour} over {way:?}: {more} KB more");
        assert!(more <= most, "{behaviour} over {way:?}: {more} KB more, at most {most}");
    }
    lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test]
#[ignore = "the tests above run it in a process of its own"]
async fn cells() {
    let wanted = env::var("ALONE").unwrap_or_default();
    let is_wanted = |row: &Row, way: Way| wanted.is_empty() || wanted == format!("{} {way:?}", row.0);
    let listening = Listening::start();
    let fine = ("fine", [Way::Stdio, Way::Json, Way::Stream, Way::Sse].as_slice(), Outcome::Ok, "fine");
    run(&[fine], |_, _| true, &listening).await;
    let before = left();
    println!("\n{}", json!(before));
    run(&rows().copied().collect::<Vec<_>>(), is_wanted, &listening).await;
    // What has ended is cleared away by threads that nobody waits for.
    let cleared = async {
        while left().files > before.files || left().threads > before.threads {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // What is left after that is shown, and is a fault.
    let _ = tokio::time::timeout(Duration::from_secs(10), cleared).await;
    let files: Vec<_> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .collect();
    println!("open files: {files:?}");
    println!("\n{}", json!(left()));
}

/// Runs cells beside a good server, in one engine.
async fn run(rows: &[Row], is_wanted: impl Fn(&Row, Way) -> bool, listening: &Listening) {
    let engine = engine_with([("good", server([]))]).await;
    let cells = rows.iter().flat_map(|row| row.1.iter().map(move |way| (*row, *way)));
    let cells = cells.filter(|(row, way)| is_wanted(row, *way));
    let running = stream::iter(cells).map(|(row, way)| cell(&engine, row, way, listening));
    let mut running = running.buffer_unordered(AT_ONCE);
    while let Some(seen) = running.next().await {
        println!("\n{}", json!(seen));
    }
    drop(running);
    engine.shutdown(Duration::ZERO).await;
}

async fn cell(engine: &Engine, (behaviour, _, expected, _): Row, way: Way, listening: &Listening) -> Seen {
    let name = format!("{behaviour}{way:?}");
    let mut config = match way {
        Way::Stdio => McpServerConfig::stdio("python3", [SERVER, "stdio", behaviour])
            .env("MARK", env::var("MARK").unwrap_or_default()),
        Way::Json => McpServerConfig::http(listening.url("json", behaviour)),
        Way::Stream => McpServerConfig::http(listening.url("stream", behaviour)),
        Way::Sse => McpServerConfig::sse(listening.url("sse", behaviour)),
    };
    config = config.largest_message_bytes(LARGEST).connect_timeout(SOON);
    // For so long a server may say or read nothing.
    if ["silent_start", "stops_reading"].contains(&behaviour) {
        config = config.connect_timeout(Duration::from_secs(4));
    }
    config.backoff = Backoff { tries: 1, ..Backoff::default() };
    engine.mcp().add(&name, config).await.unwrap();
    let is_settled = || {
        let status = engine.mcp().status().into_iter().find(|status| status.name == name).unwrap();
        status.tools.is_some() || status.last_error.is_some()
    };
    while !is_settled() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let tool = format!("{name}_act");
    let mut calls = 1;
    let mut arguments = json!({});
    if behaviour == "stops_reading" {
        // The second finds a server that reads no more, and is more than a pipe holds.
        (calls, arguments) = (3, json!({"text": "x".repeat(1_000_000)}));
    }
    let began = Instant::now();
    let mut seen = None;
    for _ in 0..calls {
        let timeout = if expected == Outcome::TimedOut { Duration::from_secs(2) } else { TIMEOUT };
        let options = ExecuteOptions::new().timeout(timeout);
        let options =
            stand_ins(engine.mcp(), [tool.as_str()]).into_iter().fold(options, ExecuteOptions::guest);
        let list = vec![ToolCall::new(tool.as_str(), arguments.clone().into())];
        let result = engine.execute(list, options).await.unwrap().results.remove(0);
        seen = Some(result);
    }
    let result = seen.unwrap();
    let soon = began.elapsed() < SOON;
    let good = vec![ToolCall::new("good_echo", json!({"text": behaviour}).into())];
    let sibling = engine.execute(good, ExecuteOptions::new().timeout(SOON)).await.unwrap().all_ok();
    engine.mcp().remove(&name).await.unwrap();
    let output = result.output.map(|output| output.to_text().to_owned()).unwrap_or_default();
    let mut said = if result.outcome == Outcome::Ok { output } else { result.error.unwrap_or_default() };
    said = said.chars().take(500).collect();
    let (behaviour, way) = (behaviour.to_owned(), format!("{way:?}"));
    Seen { behaviour, way, outcome: result.outcome.as_str().to_owned(), said, soon, sibling }
}

fn left() -> Left {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let fields: BTreeMap<_, _> = status.lines().filter_map(|line| line.split_once(':')).collect();
    let peak = fields["VmHWM"].trim().trim_end_matches(" kB").parse().unwrap();
    Left { files: count("/proc/self/fd"), threads: count("/proc/self/task"), peak }
}

/// The servers that are reached by HTTP. They end when this is dropped.
struct Listening(Child, String);

impl Listening {
    fn start() -> Self {
        let mut command = Command::new("python3");
        let mut child = command.args([SERVER, "http"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, port.trim().to_owned())
    }

    fn url(&self, way: &str, behaviour: &str) -> String {
        format!("http://127.0.0.1:{}/{way}/{behaviour}", self.1)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
