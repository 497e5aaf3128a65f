//! A server's tool as a tool of the engine.

use std::sync::Arc;

use rmcp::model::ClientRequest;
use serde_json::Value;
use toolyard_contract::{
    Failure, Invocation, PermissionCheck, PermissionContext, Tool, ToolFuture, ToolReturn, ToolSpec,
};

use super::{
    answer::{tool_return, unwrapped_schema},
    config::McpLink,
    exact,
    link::RequestError,
    session::Session,
};

/// A tool that a server runs.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// Its name at the server.
    name: String,
    session: Arc<Session>,
}

impl McpTool {
    pub(super) fn new(public_name: String, tool: &rmcp::model::Tool, session: Arc<Session>) -> Self {
        let schema = Value::Object((*tool.input_schema).clone());
        let mut spec = ToolSpec::new(public_name).input_schema(schema).permission_action("mcp.call");
        let title = || tool.title.as_ref().map(ToString::to_string);
        spec.description = tool.description.as_ref().map(ToString::to_string).or_else(title);
        spec.output_schema =
            tool.output_schema.as_ref().map(|schema| unwrapped_schema(Value::Object((**schema).clone())));
        spec.timeout = session.config.timeout;
        if let Some(hints) = tool.annotations.as_ref().filter(|_| session.config.trust_hints) {
            let read_only = hints.read_only_hint == Some(true);
            spec.parallel_safe = read_only;
            spec.idempotent = read_only || hints.idempotent_hint == Some(true);
        }
        Self { spec, name: tool.name.to_string(), session }
    }

    pub(super) fn server(&self) -> &str {
        &self.session.name
    }

    /// Tells whether `other` would do the same as this one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session) && self.name == other.name && self.spec == other.spec
    }

    async fn run(&self, invocation: Invocation) -> ToolReturn {
        let public_name = &self.spec.name;
        // A transport of the protocol's library also sends some of them as headers.
        let mirrored = matches!(self.session.config.link, McpLink::Http { .. });
        let call = exact::call(self.name.clone(), invocation.arguments, mirrored)
            .map_err(|error| Failure::bad_arguments(format!("tool {public_name:?}: {error}")))?;
        let link = self.session.lease_for(invocation.context.agent()).await.map_err(|reason| {
            Failure::not_started(format!("tool {public_name:?}: its server is not connected: {reason}"))
        })?;
        let request = ClientRequest::CallToolRequest(call);
        let answer = link.request(request, Some(invocation.context)).await;
        if let Err(RequestError::NotSent(reason)) = &answer {
            link.report_broken(reason);
        }
        tool_return(public_name, answer)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn permission_check(&self, _: &str, _: &PermissionContext<'_>) -> Option<PermissionCheck> {
        let resource = format!("{}/{}", self.session.name, self.name);
        Some(PermissionCheck { action: "mcp.call".to_owned(), resource })
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        Box::pin(async move { self.run(invocation).await })
    }
}
