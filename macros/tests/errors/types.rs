use std::rc::Rc;

use toolyard_contract::tool;

struct Opaque;

#[tool]
fn unreadable_argument(_opaque: Opaque) {}

#[tool]
fn unwritable_answer(_n: i64) -> Opaque {
    Opaque
}

#[tool]
async fn error_without_text() -> Result<String, Opaque> {
    Err(Opaque)
}

#[tool(state = Opaque)]
fn unkeepable_state(_state: &mut Opaque) {}

#[tool]
async fn not_send(n: i64) -> i64 {
    let shared = Rc::new(n);
    std::future::ready(()).await;
    *shared
}

fn main() {}
