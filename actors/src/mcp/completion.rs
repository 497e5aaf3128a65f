//! Completion of what people type: arguments of prompts, and of the URIs of templates.

use std::collections::BTreeMap;

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext, Reference,
    ServerResult,
};
use serde_json::Value;

use super::{
    pool::McpPool,
    requests::{ask, no_answer, written},
    status::McpError,
};

/// Whose argument is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpReference {
    /// The prompt with this name.
    Prompt(String),
    /// The resource template with this URI.
    Template(String),
}

impl McpPool {
    /// Asks a server how an `argument` may go on that begins with `value`; `known` are the arguments that are
    /// complete. The answer is as the protocol writes it.
    ///
    /// # Errors
    /// As [`read_resource`](Self::read_resource).
    pub async fn complete(
        &self,
        server: &str,
        of: McpReference,
        argument: &str,
        value: &str,
        known: BTreeMap<String, String>,
    ) -> Result<Value, McpError> {
        let of = match of {
            McpReference::Prompt(name) => Reference::for_prompt(name),
            McpReference::Template(uri) => Reference::for_resource(uri),
        };
        let mut params = CompleteRequestParams::new(of, ArgumentInfo::new(argument, value));
        if !known.is_empty() {
            params = params.with_context(CompletionContext::with_arguments(known.into_iter().collect()));
        }
        let session = self.one(server)?;
        match ask(&session, ClientRequest::CompleteRequest(CompleteRequest::new(params))).await? {
            ServerResult::CompleteResult(result) => Ok(written(&result)),
            _ => Err(no_answer(&session, "its answer is no completion")),
        }
    }
}
