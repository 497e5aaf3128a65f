//! The engine inside a bigger actix system: its actors live beside the host's, events reach an actor
//! of the host, and when the engine is stopped the host goes on.

use std::time::Duration;

use actix::prelude::*;
use serde_json::json;
use toolyard::{EngineEvent, EventKind, ExecuteCalls, ExecuteOptions, Output, Stop, ToolCall, tool};

/// Says hello.
#[tool(blocking = false)]
fn greet(name: &str) -> String {
    format!("hello {name}")
}

/// An actor of the host: it counts what the engine finishes.
#[derive(Default)]
struct Ledger {
    finished: usize,
}

impl Actor for Ledger {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024); // events beyond are lost, and counted
    }
}

impl Handler<EngineEvent> for Ledger {
    type Result = ();

    fn handle(&mut self, event: EngineEvent, _: &mut Self::Context) {
        self.finished += usize::from(matches!(event.kind, EventKind::Finished { .. }));
    }
}

#[derive(Message)]
#[rtype(usize)]
struct HowMany;

impl Handler<HowMany> for Ledger {
    type Result = usize;

    fn handle(&mut self, _: HowMany, _: &mut Self::Context) -> usize {
        self.finished
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ledger = Ledger::default().start();
    let engine = toolyard::Engine::builder().tool(greet::tool()).attach()?;
    engine.subscribe_actor(ledger.clone().recipient());

    let supervisor = engine.supervisor(None).clone();
    let calls = ["ada", "bob"].map(|name| ToolCall::new("greet", json!({"name": name}).into()));
    let report = supervisor.send(ExecuteCalls::new(calls.into(), ExecuteOptions::new())).await??;
    for result in &report.results {
        println!("{}", result.output.as_ref().map_or("", Output::to_text));
    }

    supervisor.send(Stop { patience: Duration::from_secs(1) }).await?;
    let refused = supervisor.send(ExecuteCalls::new(Vec::new(), ExecuteOptions::new())).await?;
    println!("after the stop: {}", refused.err().map_or_else(String::new, |error| error.to_string()));
    println!("the host goes on and has counted {} calls", ledger.send(HowMany).await?);
    Ok(())
}
