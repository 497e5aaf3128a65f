use toolyard_contract::tool;

#[tool(parallelsafe)]
fn unknown() {}

#[tool(parallel_safe, parallel_safe = false)]
fn twice() {}

#[tool(name = "  ")]
fn blank_name() {}

#[tool(effects)]
fn without_value() {}

#[tool(timeout = 5)]
fn wrong_type() {}

#[tool(blocking = "yes")]
fn blocking_text() {}

#[tool(blocking)]
async fn blocking_async() {}

#[tool(state = 5)]
fn no_state() {}

#[tool(per_agent)]
fn no_rows() {}

#[tool(state = "five")]
fn wrong_state(_count: &mut u64) {}

#[tool]
fn unknown_on_argument(#[arg(defualt = 1)] _n: i64) {}

#[tool]
fn wrong_default(#[arg(default = true)] _n: i64) {}

fn main() {
    // The functions themselves compile all the same.
    unknown();
    unknown_on_argument(1);
}
