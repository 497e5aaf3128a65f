use std::{fmt, sync::Arc};

use reqwest::Url;
use toolyard_contract::{
    Access, DecisionContext, Invocation, ParallelCategory, ParallelDecision, PermissionCheck,
    PermissionContext, Tool, ToolFuture, ToolSpec,
};

use super::{
    arguments::{self, HttpCall},
    reply::{self, returned},
};
use crate::builtin::web::{WebClient, WebConfig, shown};

/// The tool `http`: one request to a server.
///
/// GET and HEAD may overlap with other calls; any other method is kept alone. An answer with a status from 400 on is
/// `failed`, with everything that came. A request that could do something twice is sent once, unless it carries an
/// `Idempotency-Key`; [`WebConfig`] sets how others are tried again, and which addresses may be reached.
///
/// A permission policy judges the URL of the call in its one canonical spelling, and that of each redirect before it is
/// followed: one that is denied, or would have to be asked about, ends the call `denied`.
pub struct HttpTool {
    spec: ToolSpec,
    client: Arc<WebClient>,
}

impl HttpTool {
    /// Makes the tool.
    pub fn new(config: WebConfig) -> Self {
        let spec = ToolSpec::new("http")
            .description(
                "Sends an HTTP request and gives status, headers and body. Bodies that are JSON come as values, \
                 others as text; long ones are cut.",
            )
            .input_schema(arguments::schema())
            .output_schema(reply::schema())
            .effects(["network"])
            .permission_action("http.request")
            .plain_text_input("input");
        Self { spec, client: Arc::new(WebClient::new(config)) }
    }
}

impl Default for HttpTool {
    fn default() -> Self {
        Self::new(WebConfig::default())
    }
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parallel_decision(&self, arguments: &str, context: &DecisionContext) -> ParallelDecision {
        if context.injected {
            return ParallelDecision::by_default(false, context);
        }
        match HttpCall::read(arguments) {
            Ok(call) if call.only_reads() => ParallelDecision::allow("GET and HEAD change nothing"),
            Ok(call) => ParallelDecision::refuse(
                ParallelCategory::ArgsSensitive,
                format!("{} may change something", call.request.method),
            ),
            Err(_) => {
                ParallelDecision::refuse(ParallelCategory::ArgsSensitive, "the arguments are no request")
            }
        }
    }

    fn access(&self, arguments: &str) -> Access {
        match HttpCall::read(arguments) {
            Ok(call) if call.only_reads() => Access::read(call.resource()),
            Ok(call) => Access::write(call.resource()),
            Err(_) => Access::nothing(),
        }
    }

    fn permission_check(&self, arguments: &str, _: &PermissionContext<'_>) -> Option<PermissionCheck> {
        Some(check(&shown(&HttpCall::read(arguments).ok()?.request.url)))
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let HttpCall { request, attempts } = HttpCall::read(&invocation.arguments)?;
            let context = invocation.context;
            let may_follow = move |url: &Url| context.permit(check(url));
            returned(self.client.send_asking(request, attempts, &may_follow).await)
        })
    }
}

/// What a policy judges for a request to `url`.
fn check(url: &Url) -> PermissionCheck {
    PermissionCheck { action: "http.request".to_owned(), resource: url.as_str().to_owned() }
}

impl fmt::Debug for HttpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTool").field("client", &self.client).finish_non_exhaustive()
    }
}
