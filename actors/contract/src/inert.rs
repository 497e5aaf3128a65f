//! A tool for tests that does nothing.

use std::sync::Arc;

use crate::{Invocation, SharedTool, Tool, ToolFuture, ToolSpec};

struct Inert(ToolSpec);

impl Tool for Inert {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Ok("".into()))
    }
}

/// Makes a tool of which only the spec matters.
pub(crate) fn tool(spec: ToolSpec) -> SharedTool {
    Arc::new(Inert(spec))
}

/// Makes a tool of which only the name matters.
pub(crate) fn named(name: &str) -> SharedTool {
    tool(ToolSpec::new(name))
}
