use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use toolyard_contract::{Access, Failure, Invocation, Tool, ToolFuture, ToolSpec};

use super::evaluate;

/// The tool `calculator`: [`evaluate`]s the expression in `input`.
///
/// A call takes a few milliseconds at most, so it needs no thread of its own.
#[derive(Debug)]
pub struct CalculatorTool {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input: String,
}

impl CalculatorTool {
    /// Makes the tool.
    pub fn new() -> Self {
        let spec = ToolSpec::new("calculator")
            .description(
                "Evaluates an arithmetic expression with Python's results: + - * / // % **, parentheses and \
                 decimals. No letters and no exponents: write 1e5 as 10**5.",
            )
            .input_schema(json!({
                "type": "object",
                "properties": {"input": {"type": "string", "description": "The expression, such as `2 * (3 + 4)`."}},
                "required": ["input"],
                "additionalProperties": false,
            }))
            .output_schema(json!({"type": "string"}))
            .plain_text_input("input")
            .parallel_safe(true)
            .idempotent(true);
        Self { spec }
    }
}

impl Default for CalculatorTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for CalculatorTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _: &str) -> Access {
        Access::nothing()
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        let arguments: Result<Arguments, _> = serde_json::from_str(&invocation.arguments);
        ToolFuture::ready(match arguments.map(|arguments| evaluate(&arguments.input)) {
            Ok(Ok(text)) => Ok(text.into()),
            Ok(Err(error)) => Err(Failure::failed(error.to_string())),
            Err(error) => Err(Failure::bad_arguments(error.to_string())),
        })
    }
}
