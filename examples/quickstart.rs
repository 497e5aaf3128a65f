//! Three calls in one list, on plain tokio: two that may overlap, and one that cannot be run.

use toolyard::{Arguments, Engine, ExecuteOptions, Output, ToolCall, tool};

/// Adds two integers.
#[tool(parallel_safe, blocking = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().tool(add::tool()).build()?;
    let calls = [r#"{"a": 1, "b": 2}"#, r#"{"a": 40, "b": 2}"#, r#"{"a": "many"}"#];
    let calls: Vec<_> =
        calls.into_iter().map(|text| ToolCall::new("add", Arguments::from_text(text.into()))).collect();

    let report = engine.execute(calls, ExecuteOptions::new()).await?;
    for result in &report.results {
        let text = result.output.as_ref().map(Output::to_text).or(result.error.as_deref());
        println!("{}: {} {}", result.index, result.outcome, text.unwrap_or_default());
    }
    Ok(())
}
