//! A stand-in for a tool that is declared but not there.

use std::sync::Arc;

use toolyard_contract::{Failure, Invocation, Output, Tool, ToolFuture, ToolSpec};

/// Answers with the validated arguments of its call. Calls may overlap.
#[derive(Debug)]
pub struct StubTool(ToolSpec);

impl StubTool {
    /// Stands in for the tool that `spec` declares.
    pub fn new(spec: ToolSpec) -> Self {
        Self(spec.parallel_safe(true))
    }
}

impl Tool for StubTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        let output = Output::from_json_text(invocation.arguments);
        let reply = output.map(Into::into).map_err(|error| Failure::bad_arguments(error.to_string()));
        ToolFuture::ready(reply)
    }
}
