//! Runs lists of trivial calls by one of several crates and prints CPU nanoseconds per call, a line for each list.
//!
//!     peers MODE LIST.json…
//!
//! A call in memory (id, name, arguments as text) becomes a text; the modes that end in `-text` begin with the text of
//! the whole list. Starting up is not measured. Every mode has one thread, and the actors send all messages of a list
//! before they await the first answer.

mod kameo_actors;
mod list;
mod ractor_actors;
mod rig_tools;
mod toolyard_engine;
#[path = "../../../trivial/mod.rs"]
mod trivial;

use std::{collections::HashMap, env, hint::black_box, time::Duration};

use actix::{Addr, System};
use list::List;
use rustix::time::{ClockId, clock_gettime};
use trivial::{RawActor, RawCall};

/// Seconds of CPU time: a list is repeated until it took them; what was repeated less often before is the warm-up.
const ENOUGH: f64 = 0.2;

fn main() {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next().expect("a mode");
    let lists: Vec<List> = arguments.map(|path| List::open(&path)).collect();
    match mode.as_str() {
        "toolyard" => System::new().block_on(async {
            let engine = trivial::engine();
            report(&lists, async |list| toolyard_engine::in_task(&engine, list.calls()).await).await;
        }),
        "toolyard-message" => System::new().block_on(async {
            let engine = trivial::engine();
            report(&lists, async |list| toolyard_engine::by_message(&engine, list.calls()).await).await;
        }),
        "toolyard-text" => System::new().block_on(async {
            let engine = trivial::engine();
            report(&lists, async |list| toolyard_engine::from_text(&engine, list.text()).await).await;
        }),
        "actix" => System::new().block_on(async {
            let actors = trivial::raw_actors();
            report(&lists, async |list| actix_send(&actors, list.calls()).await).await;
        }),
        "actix-text" => System::new().block_on(async {
            let actors = trivial::raw_actors();
            report(&lists, async |list| actix_send(&actors, list::read(list.text())).await).await;
        }),
        "ractor" => tokio_alone(async {
            let actors = ractor_actors::start().await;
            report(&lists, async |list| ractor_actors::run(&actors, list.calls()).await).await;
        }),
        "kameo" => tokio_alone(async {
            let actors = kameo_actors::start();
            report(&lists, async |list| kameo_actors::run(&actors, list.calls()).await).await;
        }),
        "rig" => tokio_alone(async {
            let tools = rig_tools::tools();
            report(&lists, async |list| rig_tools::run(&tools, list.calls()).await).await;
        }),
        _ => panic!("no mode {mode}"),
    }
}

/// Without what actix adds to a runtime.
fn tokio_alone(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work);
}

async fn actix_send(actors: &HashMap<String, Addr<RawActor>>, calls: Vec<RawCall>) -> Vec<String> {
    trivial::raw_actix(actors, calls).await.into_iter().map(|(_, text)| text).collect()
}

/// Checks the answers to each list, then measures.
async fn report(lists: &[List], run: impl AsyncFn(&List) -> Vec<String>) {
    for list in lists {
        let calls = list.calls();
        let expected: Vec<String> = calls.iter().map(|(_, _, arguments)| trivial::add(arguments)).collect();
        assert_eq!(run(list).await, expected);
        let mut repeats = 1;
        let took = loop {
            let before = cpu_seconds();
            for _ in 0..repeats {
                black_box(run(black_box(list)).await);
            }
            let took = cpu_seconds() - before;
            if took >= ENOUGH {
                break took;
            }
            repeats *= 2;
        };
        let calls = u32::try_from(calls.len()).expect("a short list");
        println!("{:.1}", took * 1e9 / f64::from(repeats) / f64::from(calls));
    }
}

/// The CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let time: Duration = clock_gettime(ClockId::ProcessCPUTime).try_into().expect("a time");
    time.as_secs_f64()
}
