//! An agent as a tool: a call that submits a list of its own and sums up what comes back.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, Failure, Invocation, Output, Tool, ToolCall, ToolFuture, ToolSpec,
    builtin::calculator::CalculatorTool,
};

/// Works out each of its questions by a call of the calculator. A real one would ask a model what to
/// call next, until the model is done.
struct Researcher(ToolSpec);

impl Tool for Researcher {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let arguments: Value = serde_json::from_str(&invocation.arguments)
                .map_err(|error| Failure::bad_arguments(error.to_string()))?;
            let questions = arguments["questions"].as_array().cloned().unwrap_or_default();
            let calls = questions
                .iter()
                .map(|question| ToolCall::new("calculator", json!({"input": question}).into()));
            let results = invocation.context.submit(calls.collect()).await?;
            let answers = questions.iter().zip(&results).map(|(question, result)| {
                let answer = result.output.as_ref().map(Output::to_text).or(result.error.as_deref());
                json!({"question": question, "answer": answer})
            });
            Ok(Value::Array(answers.collect()).into())
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = ToolSpec::new("researcher")
        .description("Answers questions.")
        .parallel_safe(true)
        .input_schema(json!({
            "type": "object",
            "properties": {"questions": {"type": "array", "items": {"type": "string"}}},
            "required": ["questions"],
        }));
    let engine = Engine::builder().tool(CalculatorTool::new()).tool(Researcher(spec)).build()?;
    let calls = vec![
        ToolCall::new("researcher", json!({"questions": ["6*7", "2**64"]}).into()),
        ToolCall::new("researcher", json!({"questions": ["1/0"]}).into()),
    ];
    let report = engine.execute_blocking(calls, ExecuteOptions::new())?;
    for result in &report.results {
        println!("{}: {}", result.outcome, result.output.as_ref().map_or("", Output::to_text));
    }
    Ok(())
}
