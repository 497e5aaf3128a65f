//! What a server may say and ask over a link.
#![expect(deprecated, reason = "servers up to 2025-11-25 ask so")]

use std::sync::Arc;

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ErrorCode, ListRootsResult, LoggingMessageNotificationParam,
        ProgressNotificationParam, ResourceUpdatedNotificationParam, ServerNotification,
    },
    service::{NotificationContext, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    sync::{Notify, Semaphore},
    time::timeout,
};

use super::{
    asking::{Asking, Question},
    desk::Desk,
    notice::McpNoticeKind,
    progress::ProgressBook,
    traffic::{Traffic, WENT_AWAY, size},
};

/// How many requests of one connection the host's model gets at the same time; the others wait.
const MOST_SAMPLING: usize = 16;

/// How large a line of a server's log may be, in bytes of JSON: a thousand of them are kept for each listener.
const LARGEST_LOG: usize = 64 * 1024;

/// Called when a server says that its tools have changed.
pub(super) type OnToolsChanged = Arc<dyn Fn() + Send + Sync>;

/// Our side of a link.
#[derive(Clone)]
pub(super) struct LinkHandler {
    pub(super) progress: Arc<ProgressBook>,
    pub(super) asking: Arc<Asking>,
    pub(super) desk: Arc<Desk>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) on_tools_changed: OnToolsChanged,
    /// The server has begun a new session, which knows nothing of what was said in the one before.
    pub(super) is_new: Arc<Notify>,
    /// Who may ask the host's model.
    sampling: Arc<Semaphore>,
}

impl LinkHandler {
    pub(super) fn new(desk: Arc<Desk>, on_tools_changed: OnToolsChanged) -> Self {
        Self {
            progress: Arc::default(),
            asking: Arc::default(),
            desk,
            traffic: Arc::default(),
            on_tools_changed,
            is_new: Arc::default(),
            sampling: Arc::new(Semaphore::new(MOST_SAMPLING)),
        }
    }

    /// Takes note of what came by a subscription, which does not come by the methods below.
    pub(super) fn take_note(&self, notification: ServerNotification) {
        match notification {
            ServerNotification::ToolListChangedNotification(_) => self.tools_changed(),
            ServerNotification::PromptListChangedNotification(_) => {
                self.desk.notice(McpNoticeKind::PromptsChanged);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.desk.notice(McpNoticeKind::ResourcesChanged);
            }
            ServerNotification::ResourceUpdatedNotification(updated) => self.resource_updated(updated.params),
            _ => {}
        }
    }

    /// The server may have been started anew, with other tools.
    pub(super) fn renewed(&self) {
        self.is_new.notify_one();
        self.tools_changed();
    }

    fn tools_changed(&self) {
        (self.on_tools_changed)();
        self.desk.notice(McpNoticeKind::ToolsChanged);
    }

    fn resource_updated(&self, updated: ResourceUpdatedNotificationParam) {
        self.desk.notice(McpNoticeKind::ResourceUpdated { uri: updated.uri });
    }
}

impl ClientHandler for LinkHandler {
    fn get_info(&self) -> ClientConfig {
        self.desk.client()
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let sampling = async {
            let _turn = self.sampling.acquire().await;
            self.desk.sample(converted(&params).map_err(|error| error.message.to_string())?).await
        };
        let sampled = tokio::select! {
            sampled = sampling => sampled,
            () = context.ct.cancelled() => Err("it was cancelled".to_owned()),
            () = self.traffic.ended() => Err(WENT_AWAY.to_owned()),
        };
        // The protocol's own code for "the user said no".
        let refusal = if self.desk.samples() { ErrorCode(-1) } else { ErrorCode::METHOD_NOT_FOUND };
        converted(&sampled.map_err(|reason| ErrorData::new(refusal, reason, None))?)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        converted(&self.desk.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (question, answer) = Question::new(params);
        self.asking.ask(&context.id, question);
        let answered = tokio::select! {
            answered = timeout(self.desk.patience(), answer) => answered.ok().and_then(Result::ok),
            () = context.ct.cancelled() => None,
            () = self.traffic.ended() => None,
        };
        Ok(answered.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_progress(&self, notice: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.notice(notice);
    }

    async fn on_logging_message(
        &self,
        line: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Ok(level) = converted(&line.level) else { return };
        let bytes = size(&line.data);
        let data = if bytes > LARGEST_LOG {
            format!("[a line of {bytes} bytes, which is not kept]").into()
        } else {
            line.data
        };
        self.desk.notice(McpNoticeKind::Log { level, logger: line.logger, data });
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.resource_updated(updated);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.desk.notice(McpNoticeKind::ResourcesChanged);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.desk.notice(McpNoticeKind::PromptsChanged);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed();
    }
}

/// Between the protocol's types and those of the host, by what is written on the wire.
fn converted<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ErrorData> {
    let value = serde_json::to_value(value).and_then(serde_json::from_value);
    value.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
