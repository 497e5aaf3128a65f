//! A million agents, each with a state of its own: as rows of an engine, or as bare actix actors.
//!
//! Arguments: `engine` or `actix`; agents (default 1,000,000); calls to random ones (default 10,000,000). Sets the agents
//! up, calls them, saves all states, loads them somewhere else, and compares each with what it must be. Prints what
//! each step took of the processor and of memory. One run for one kind, because memory is counted from the outside.

use std::{collections::HashMap, fs, hint::black_box, sync::Arc};

use actix::prelude::*;
use serde::{Deserialize, Serialize};
use toolyard::{
    Arguments, Attached, Engine, ExecuteOptions, Invocation, StateScope, StateWork, Stateful, StatefulTool,
    ToolCall, ToolSpec,
};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let what = arguments.next().unwrap_or_else(|| "engine".into());
    let mut number = |or: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (agents, calls) = (number(1_000_000), number(10_000_000));
    let mut expected = vec![1_u32; agents as usize];
    let chosen = random(agents, calls);
    chosen.clone().for_each(|agent| expected[agent as usize] += 1);
    let steps = Steps::new(agents);
    System::new().block_on(async {
        match what.as_str() {
            "actix" => with_actix(agents, chosen, &expected, steps).await,
            _ => with_engine(agents, chosen, &expected, steps).await,
        }
    });
}

/// The same agents in each run, jumping about.
fn random(agents: u32, calls: u32) -> impl Iterator<Item = u32> + Clone {
    let mut state = 1_u64;
    (0..calls).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 32) % u64::from(agents)).unwrap_or(0)
    })
}

fn id(agent: u32) -> String {
    format!("agent-{agent}")
}

/// What an agent remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Memory {
    calls: u32,
}

struct Remember(ToolSpec);

impl StatefulTool for Remember {
    type State = Memory;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn scope(&self) -> StateScope {
        StateScope::Agent
    }

    fn initial(&self, _: Option<&str>) -> Memory {
        Memory::default()
    }

    fn work(self: Arc<Self>, _: Invocation, mut memory: Memory) -> StateWork<Memory> {
        memory.calls += 1;
        StateWork::Done(Ok("".into()), memory)
    }
}

fn engine() -> Attached {
    let spec = ToolSpec::new("remember").parallel_safe(true).checks_arguments(true);
    Engine::builder().tool(Stateful::new(Remember(spec))).attach().expect("an engine")
}

async fn call(engine: &Attached, agent: u32) {
    let calls = vec![ToolCall::new("remember", Arguments::empty())];
    let report = engine.execute(calls, ExecuteOptions::new().agent(id(agent))).await;
    assert!(report.is_ok_and(|report| report.all_ok()));
}

async fn with_engine(agents: u32, chosen: impl Iterator<Item = u32>, expected: &[u32], mut steps: Steps) {
    let first = engine();
    call(&first, 0).await; // what is made once is not an agent's
    steps.begin();
    for agent in 1..agents {
        call(&first, agent).await;
    }
    steps.done("set up", u64::from(agents));
    let mut calls = 0;
    for agent in chosen {
        call(&first, agent).await;
        calls += 1;
    }
    steps.done("call random ones", calls);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("states");
    assert_eq!(first.save_state(&file).await.expect("saved"), u64::from(agents));
    steps.done("save", u64::from(agents));
    first.stop(std::time::Duration::ZERO).await;
    drop(first);
    let second = engine();
    assert_eq!(second.load_state(&file).await.expect("loaded").rows, u64::from(agents));
    steps.done("load", u64::from(agents));
    let mut right = 0;
    for rows in second.yard().snapshot(None).await.expect("rows") {
        for row in rows.rows {
            let agent = row.agent.as_deref().and_then(|agent| agent.strip_prefix("agent-"));
            let agent: usize = agent.and_then(|agent| agent.parse().ok()).expect("a number");
            let memory: Memory = serde_json::from_str(row.state.get()).expect("a state");
            assert_eq!(memory.calls, expected[agent], "agent {agent}");
            right += 1;
        }
    }
    assert_eq!(right, agents);
    println!("{right} states are right");
}

/// An agent as a bare actor.
struct Agent(Memory);

impl Actor for Agent {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Call;

impl Handler<Call> for Agent {
    type Result = ();

    fn handle(&mut self, Call: Call, _: &mut Self::Context) {
        self.0.calls += 1;
    }
}

#[derive(Message)]
#[rtype(result = "Memory")]
struct Look;

impl Handler<Look> for Agent {
    type Result = MessageResult<Look>;

    fn handle(&mut self, Look: Look, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.0)
    }
}

async fn with_actix(agents: u32, chosen: impl Iterator<Item = u32>, expected: &[u32], mut steps: Steps) {
    let start = |memory| Agent(memory).start();
    steps.begin();
    let mut first = HashMap::new();
    for agent in 0..agents {
        let actor = start(Memory::default());
        actor.send(Call).await.expect("an actor that lives");
        first.insert(id(agent), actor);
    }
    steps.done("set up", u64::from(agents));
    let mut calls = 0;
    for agent in chosen {
        first[&id(agent)].send(Call).await.expect("an actor that lives");
        calls += 1;
    }
    steps.done("call random ones", calls);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("states");
    let mut states = Vec::new();
    for (agent, actor) in &first {
        states.push((agent.clone(), actor.send(Look).await.expect("an actor that lives")));
    }
    fs::write(&file, serde_json::to_vec(&states).expect("text")).expect("written");
    steps.done("save", u64::from(agents));
    drop((first, states));
    tokio::task::yield_now().await;
    let states: Vec<(String, Memory)> =
        serde_json::from_slice(&fs::read(&file).expect("read")).expect("states");
    let second: HashMap<String, Addr<Agent>> =
        states.into_iter().map(|(agent, memory)| (agent, start(memory))).collect();
    steps.done("load", u64::from(agents));
    for (agent, &expected) in expected.iter().enumerate() {
        let actor = &second[&id(u32::try_from(agent).unwrap_or(0))];
        assert_eq!(black_box(actor.send(Look).await.expect("an actor that lives")).calls, expected);
    }
    println!("{} states are right", second.len());
}

/// What each step takes.
struct Steps {
    agents: u32,
    cpu_ms: u64,
    memory: u64,
}

impl Steps {
    fn new(agents: u32) -> Self {
        Self { agents, cpu_ms: 0, memory: 0 }
    }

    fn begin(&mut self) {
        (self.cpu_ms, self.memory) = (cpu_ms(), status("VmRSS:"));
    }

    #[allow(clippy::cast_precision_loss)]
    fn done(&mut self, step: &str, times: u64) {
        let (cpu, memory) = (cpu_ms() - self.cpu_ms, status("VmRSS:"));
        let more = (memory as f64 - self.memory as f64) / f64::from(self.agents);
        let each = cpu as f64 * 1e6 / times as f64;
        let peak = status("VmHWM:") >> 20;
        println!(
            "{step:<18} {cpu:>8} ms of cpu {each:>8.0} ns each {more:>8.0} bytes more for each agent, peak {peak} MB"
        );
        self.begin();
    }
}

/// A line of `/proc/self/status`, in bytes.
fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number")
        * 1024
}

/// Processor time of this process, of users and system, from `/proc/self/stat` (in hundredths of a second).
fn cpu_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().expect("a name");
    after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("a number") * 10)
        .sum()
}
