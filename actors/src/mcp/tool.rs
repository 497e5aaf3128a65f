//! A server's tool as a tool of the engine.

use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::model::{CallToolRequest, ClientRequest, ServerResult};
use serde_json::Value;
use toolyard_contract::{
    CallContext, Failure, Invocation, PermissionCheck, PermissionContext, Tool, ToolFuture, ToolReturn,
    ToolSpec,
};

use super::{
    answer::{tool_return, unwrapped_schema},
    config::McpLink,
    exact,
    held::Held,
    pending::{Pending, Step},
    question::Asked,
    request_error::RequestError,
    rounds::{GoingOn, Round, Rounds, gone},
    schemas,
    session::{Lease, Session},
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
        let (input, output) = schemas::of(tool);
        let mut spec = ToolSpec::new(public_name)
            .input_schema(input)
            .permission_action("mcp.call")
            .name_is_exposed(true);
        let title = || tool.title.as_ref().map(ToString::to_string);
        spec.description = tool.description.as_ref().map(ToString::to_string).or_else(title);
        spec.output_schema = output.as_ref().map(unwrapped_schema);
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

    fn request(&self, arguments: &str) -> Result<CallToolRequest, Failure> {
        // A transport of the protocol's library also sends some of them as headers.
        let mirrored = matches!(self.session.config.link, McpLink::Http { .. });
        exact::call(self.name.clone(), arguments.to_owned(), mirrored)
            .map_err(|error| Failure::bad_arguments(format!("tool {:?}: {error}", self.spec.name)))
    }

    async fn run(&self, Invocation { arguments, mut context }: Invocation) -> ToolReturn {
        let mut request = self.request(&arguments)?;
        let mut answered = None;
        if let Some(going_on) = GoingOn::of(&context, &self.session.name, &arguments)? {
            match going_on.asked.held.as_ref().map(|key| self.session.held.take(key)) {
                Some(Some(held)) => {
                    let (link, call) = going_on.answer(held, context.clone());
                    return self.follow(link, call, None, arguments, context).await;
                }
                Some(None) if self.spec.idempotent || self.session.config.repeat_asked => {
                    answered = Some(going_on);
                }
                Some(None) => return Err(gone(&self.spec.name)),
                None => going_on.fill_in(&mut request.params),
            }
        }
        let host = context.host().clone();
        let leasing = self.session.lease_for(host.agent());
        let link = context.before_work(leasing).await.map_err(|reason| {
            let name = &self.spec.name;
            Failure::not_started(format!("tool {name:?}: its server is not connected: {reason}"))
        })?;
        match self.send(&link, request, &context).await {
            Ok(call) => self.follow(link, call, answered, arguments, context).await,
            Err(error) => tool_return(&self.spec.name, Err(error)),
        }
    }

    async fn send(
        &self,
        link: &Lease,
        request: CallToolRequest,
        context: &CallContext,
    ) -> Result<Pending, RequestError> {
        link.settle_questions(self.session.config.connect_timeout).await;
        let sent = link.send(ClientRequest::CallToolRequest(request)).await;
        if let Err(RequestError::NotSent(reason)) = &sent {
            link.report_broken(reason);
        }
        let mut call = sent?;
        call.tell(context.clone());
        Ok(call)
    }

    /// Follows a call to its answer, or to a question that only people can answer.
    async fn follow(
        &self,
        link: Lease,
        mut call: Pending,
        mut answered: Option<GoingOn>,
        arguments: String,
        context: CallContext,
    ) -> ToolReturn {
        let mut rounds = Rounds::default();
        loop {
            match call.step().await {
                Step::Asks(question) => {
                    let params = question.params();
                    if let Some(result) = answered.take().and_then(|known| known.result_for(&params)) {
                        question.answer(result);
                        call.goes_on();
                        continue;
                    }
                    let held = Held { question, call, link };
                    let Some(key) = self.session.held.put(held, self.session.desk.patience()) else {
                        let name = &self.spec.name;
                        return Err(Failure::failed(format!(
                            "tool {name:?}: too many calls of its server wait for answers"
                        )));
                    };
                    return Err(Asked::held(key, params).needs_input(&self.session.name, arguments));
                }
                Step::Answer(Ok(ServerResult::InputRequiredResult(wish))) => {
                    let mut request = self.request(&arguments)?;
                    match rounds.next(wish, &self.session.desk).await {
                        Ok(Round::Ask(asked)) => {
                            return Err(asked.needs_input(&self.session.name, arguments));
                        }
                        Ok(Round::Retry(wish)) => wish.fill_in(&mut request.params),
                        Err(reason) => {
                            return Err(Failure::failed(format!("tool {:?}: {reason}", self.spec.name)));
                        }
                    }
                    match self.send(&link, request, &context).await {
                        Ok(next) => call = next,
                        Err(error) => return tool_return(&self.spec.name, Err(error)),
                    }
                }
                Step::Answer(answer) => {
                    match &answer {
                        Ok(_) => link.note_answer(),
                        Err(RequestError::NotSent(reason)) => link.report_broken(reason),
                        Err(RequestError::Lost(_)) => self.session.report_lost(),
                        Err(_) => {}
                    }
                    return tool_return(&self.spec.name, answer);
                }
            }
        }
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

    fn call_off(&self, kept: &Value) {
        if let Some(key) = kept["held"].as_str() {
            // Dropping it tells the server.
            drop(self.session.held.take(key));
        }
    }

    fn forget(&self, agent: &str) -> BoxFuture<'static, ()> {
        let sessions = self.session.callers.take_of(agent);
        Box::pin(async move {
            for session in sessions {
                session.close(true).await;
            }
        })
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move { self.run(invocation).await })
    }
}
