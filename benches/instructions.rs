//! One thing, so many times, for counting instructions: `benches/instructions.sh` runs it under callgrind.
//!
//! Arguments: `loop`, `actix` or `engine`; calls in a list; lists.

mod trivial;

use actix::System;
use trivial::{engine, plain_loop, plain_tools, raw_actix, raw_actors, raw_calls, through_engine};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let what = arguments.next().unwrap_or_else(|| "engine".into());
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (calls, lists) = (raw_calls(number(1)), number(1));
    System::new().block_on(async {
        match what.as_str() {
            "loop" => {
                let tools = plain_tools();
                (0..lists).for_each(|_| drop(std::hint::black_box(plain_loop(&tools, &calls))));
            }
            "actix" => {
                let actors = raw_actors();
                for _ in 0..lists {
                    std::hint::black_box(raw_actix(&actors, &calls).await);
                }
            }
            _ => {
                let engine = engine();
                for _ in 0..lists {
                    std::hint::black_box(through_engine(&engine, &calls).await);
                }
            }
        }
    });
}
