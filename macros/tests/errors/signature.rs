use toolyard_contract::tool;

#[tool]
struct NoFunction;

#[tool]
fn generic<T>(_value: T) {}

#[tool]
fn lifetime<'a>(_text: &'a str) {}

#[tool]
unsafe fn not_safe() {}

#[tool]
extern "C" fn foreign() {}

#[tool]
fn pattern((_a, _b): (i64, i64)) {}

#[tool]
fn two_states(_one: &mut String, _two: &mut String) {}

#[tool]
fn several(_: i64, _text: impl Into<String>) {}

struct Counter;

impl Counter {
    #[tool]
    fn method(&self) {}
}

fn main() {
    several(1, "x");
    Counter.method();
}
