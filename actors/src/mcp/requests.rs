//! Prompts, resources and templates of the pool's servers.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, Prompt, ReadResourceRequest,
    ReadResourceRequestParams, Resource, ResourceTemplate, ServerResult,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    listing::{List, Listed, list},
    pool::{ASKED_AT_ONCE, McpPool},
    request_error::RequestError,
    session::Session,
    status::McpError,
};

/// Only a call can wait for people.
const ASKS: &str = "it asks for input, which can only be given to its tools";

/// A prompt that is wanted of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    /// The server.
    pub server: String,
    /// The prompt's name.
    pub prompt: String,
    /// What it is filled in with. Default: nothing.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// A resource that is wanted of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceRequest {
    /// The server.
    pub server: String,
    /// The resource's address.
    #[serde(alias = "url")]
    pub uri: String,
}

/// What one server answered; one that fails hides no other's answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerAnswer {
    /// The server.
    pub server: String,
    /// Its items as the protocol writes them.
    pub items: Result<Vec<Value>, McpError>,
    /// Entries of its list that cannot be read, and a list that ends early, in words for people.
    pub problems: Vec<String>,
}

impl McpPool {
    /// Lists the prompts of one server, or of all, at the same time.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn prompts(&self, server: Option<&str>) -> Result<Vec<ServerAnswer>, McpError> {
        self.listed::<Prompt>(server).await
    }

    /// Lists the resources of one server, or of all, at the same time.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn resources(&self, server: Option<&str>) -> Result<Vec<ServerAnswer>, McpError> {
        self.listed::<Resource>(server).await
    }

    /// Lists the resource templates of one server, or of all, at the same time.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn resource_templates(&self, server: Option<&str>) -> Result<Vec<ServerAnswer>, McpError> {
        self.listed::<ResourceTemplate>(server).await
    }

    /// Reads the resource at `uri`; the answer is as the protocol writes it.
    ///
    /// # Errors
    /// When there is no such server or it cannot be reached, does not answer in its time or refuses.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Value, McpError> {
        resource(&*self.one(server)?, uri).await
    }

    /// Reads resources, at the same time; one answer for each request, in their order, each with its own error.
    pub async fn read_resources(&self, requests: Vec<ResourceRequest>) -> Vec<Result<Value, McpError>> {
        let reading = stream::iter(requests)
            .map(async |request: ResourceRequest| self.read_resource(&request.server, &request.uri).await);
        reading.buffered(ASKED_AT_ONCE).collect().await
    }

    /// Gets a prompt, filled in with `arguments`; the answer is as the protocol writes it.
    ///
    /// # Errors
    /// As [`read_resource`](Self::read_resource).
    pub async fn prompt(
        &self,
        server: &str,
        prompt: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Value, McpError> {
        filled_in(&*self.one(server)?, prompt, arguments).await
    }

    /// Gets prompts, at the same time; one answer for each request, in their order, each with its own error.
    pub async fn get_prompts(&self, requests: Vec<PromptRequest>) -> Vec<Result<Value, McpError>> {
        let getting = stream::iter(requests).map(async |PromptRequest { server, prompt, arguments }| {
            self.prompt(&server, &prompt, arguments).await
        });
        getting.buffered(ASKED_AT_ONCE).collect().await
    }

    pub(super) fn one(&self, server: &str) -> Result<Arc<Session>, McpError> {
        Ok(self.some(Some(server))?.remove(0))
    }

    async fn listed<T: Listed + Serialize>(
        &self,
        server: Option<&str>,
    ) -> Result<Vec<ServerAnswer>, McpError> {
        let answers = stream::iter(self.some(server)?).map(async |session: Arc<Session>| {
            let server = session.name.clone();
            match list_of::<T>(&session).await {
                Ok(List { items, problems }) => ServerAnswer { server, items: Ok(items), problems },
                Err(error) => ServerAnswer { server, items: Err(error), problems: Vec::new() },
            }
        });
        Ok(answers.buffered(ASKED_AT_ONCE).collect().await)
    }
}

pub(super) async fn resource(session: &Session, uri: &str) -> Result<Value, McpError> {
    let params = ReadResourceRequestParams::new(uri);
    let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
    match ask(session, request).await? {
        ServerResult::ReadResourceResult(result) => Ok(written(&result)),
        ServerResult::InputRequiredResult(_) => Err(no_answer(session, ASKS)),
        _ => Err(no_answer(session, "its answer is no resource")),
    }
}

pub(super) async fn filled_in(
    session: &Session,
    prompt: &str,
    arguments: BTreeMap<String, String>,
) -> Result<Value, McpError> {
    let arguments = arguments.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
    let params = GetPromptRequestParams::new(prompt).with_arguments(arguments);
    let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
    match ask(session, request).await? {
        ServerResult::GetPromptResult(result) => Ok(written(&result)),
        ServerResult::InputRequiredResult(_) => Err(no_answer(session, ASKS)),
        _ => Err(no_answer(session, "its answer is no prompt")),
    }
}

pub(super) async fn list_of<T: Listed + Serialize>(session: &Session) -> Result<List<Value>, McpError> {
    let link = session.lease().await.map_err(|reason| not_connected(session, reason))?;
    let List { items, problems } = in_time(session, list::<T>(&link)).await?;
    Ok(List { items: items.iter().map(written).collect(), problems })
}

pub(super) async fn ask(session: &Session, request: ClientRequest) -> Result<ServerResult, McpError> {
    let link = session.lease().await.map_err(|reason| not_connected(session, reason))?;
    in_time(session, link.request(request)).await
}

/// Waits for an answer of a request that does no work.
pub(super) async fn in_time<T>(
    session: &Session,
    answer: impl Future<Output = Result<T, RequestError>>,
) -> Result<T, McpError> {
    let patience = session.config.patience();
    match timeout(patience, answer).await {
        Ok(answered) => answered.map_err(|error| no_answer(session, error.reason())),
        Err(_) => {
            Err(no_answer(session, &format!("there was no answer within {} s", patience.as_secs_f64())))
        }
    }
}

pub(super) fn written(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

pub(super) fn not_connected(session: &Session, reason: String) -> McpError {
    McpError::NotConnected { server: session.name.clone(), reason }
}

pub(super) fn no_answer(session: &Session, reason: &str) -> McpError {
    McpError::NoAnswer { server: session.name.clone(), reason: reason.to_owned() }
}
