//! One thing, so many times, for counting instructions: `benches/instructions.sh` runs it under callgrind.
//!
//! Arguments: `read`, `loop`, `actix`, `task`, `message` or `naps` (calls that wait for 5 ms); calls in a list; lists.
//! Every list but that of naps begins as text.

mod trivial;

use std::hint::black_box;

use actix::System;
use trivial::{
    by_message, document, engine, in_task, napping, naps, plain_loop, plain_tools, raw_actix, raw_actors,
    read, read_raw,
};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let what = arguments.next().unwrap_or_else(|| "task".into());
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (calls, lists) = (number(1), number(1));
    let text = document(calls);
    System::new().block_on(async {
        match what.as_str() {
            "read" => (0..lists).for_each(|_| drop(black_box(read(&text)))),
            "loop" => {
                let tools = plain_tools();
                (0..lists).for_each(|_| drop(black_box(plain_loop(&tools, read_raw(&text)))));
            }
            "actix" => {
                let actors = raw_actors();
                for _ in 0..lists {
                    black_box(raw_actix(&actors, read_raw(&text)).await);
                }
            }
            "message" => {
                let engine = engine();
                for _ in 0..lists {
                    black_box(by_message(&engine, read(&text)).await);
                }
            }
            "naps" => {
                let engine = napping();
                for _ in 0..lists {
                    black_box(in_task(&engine, naps(calls)).await);
                }
            }
            _ => {
                let engine = engine();
                for _ in 0..lists {
                    black_box(in_task(&engine, read(&text)).await);
                }
            }
        }
    });
}
