//! Calls to servers whose tools are not known, because they cannot be reached.

use std::sync::Arc;

use toolyard_contract::{Failure, Invocation, Tool, ToolFuture, ToolSpec};

use super::{McpPool, McpServerStatus};

/// Makes tools for those of `names` that begin like the tools of a server of `pool` whose tools could not be listed
/// yet. They answer `not_started` with the reason: a model that called such a tool learns more from it than from
/// "no such tool".
pub fn stand_ins<'a>(pool: &McpPool, names: impl IntoIterator<Item = &'a str>) -> Vec<Arc<dyn Tool>> {
    let unlisted: Vec<_> = pool.status().into_iter().filter(|server| server.tools.is_none()).collect();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for name in names {
        if tools.iter().any(|tool| tool.spec().name == name) {
            continue;
        }
        if let Some(server) = unlisted.iter().find(|server| begins_like_a_tool_of(server, name)) {
            tools.push(Arc::new(UnreachableTool::new(name, server)));
        }
    }
    tools
}

fn begins_like_a_tool_of(server: &McpServerStatus, name: &str) -> bool {
    name.strip_prefix(&server.name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('_'))
}

struct UnreachableTool {
    spec: ToolSpec,
    error: String,
}

impl UnreachableTool {
    fn new(name: &str, server: &McpServerStatus) -> Self {
        let reason = server.last_error.as_deref().unwrap_or("it has not answered yet");
        let error = format!("tool {name:?}: the MCP server {:?} is not connected: {reason}", server.name);
        Self { spec: ToolSpec::new(name).permission_action("mcp.call"), error }
    }
}

impl Tool for UnreachableTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Err(Failure::not_started(self.error.clone())))
    }
}
