//! Hearing of changes: of lists, and of resources that somebody subscribed to.
#![expect(deprecated, reason = "servers up to 2025-11-25 are subscribed to so")]

use std::{collections::BTreeSet, time::Duration};

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, ProtocolVersion, ServerCapabilities, SetLevelRequest, SetLevelRequestParams,
        SubscribeRequest, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequest,
        UnsubscribeRequestParams,
    },
    service::Peer,
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    config::LinkMode,
    handler::LinkHandler,
    pending::judge,
    pool::McpPool,
    requests::{ask, no_answer},
    status::McpError,
};

/// The resources that somebody wants to hear of.
pub(super) type Wanted = watch::Sender<BTreeSet<String>>;

impl McpPool {
    /// Asks a server to say when the resource at `uri` changes; [`notices`](Self::notices) tell of it. Holds over
    /// new connections until [`unsubscribe_resource`](Self::unsubscribe_resource).
    ///
    /// # Errors
    /// When there is no such server, it has no connection that stays, it offers no subscriptions, cannot be reached
    /// or refuses.
    pub async fn subscribe_resource(&self, server: &str, uri: &str) -> Result<(), McpError> {
        let session = self.one(server)?;
        if session.config.mode == LinkMode::PerCall {
            return Err(no_answer(&session, "it has no connection that stays, over which it could tell"));
        }
        let link = session.connect().await;
        let link = link.map_err(|reason| McpError::NotConnected { server: server.to_owned(), reason })?;
        let offers = link.offers().resources.as_ref().and_then(|resources| resources.subscribe);
        if offers != Some(true) {
            return Err(no_answer(&session, "it offers no subscriptions"));
        }
        if !is_modern(&link.version) {
            let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
            ask(&session, ClientRequest::SubscribeRequest(request)).await?;
        }
        session.wanted.send_modify(|wanted| {
            wanted.insert(uri.to_owned());
        });
        Ok(())
    }

    /// Ends what [`subscribe_resource`](Self::subscribe_resource) began.
    ///
    /// # Errors
    /// When there is no such server, it cannot be reached or refuses; the subscription has ended all the same.
    pub async fn unsubscribe_resource(&self, server: &str, uri: &str) -> Result<(), McpError> {
        let session = self.one(server)?;
        let mut was_wanted = false;
        session.wanted.send_modify(|wanted| was_wanted = wanted.remove(uri));
        let speaks_legacy = session.open_link().is_some_and(|link| !is_modern(&link.version));
        if was_wanted && speaks_legacy {
            let request = UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
            ask(&session, ClientRequest::UnsubscribeRequest(request)).await?;
        }
        Ok(())
    }
}

pub(super) fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V_2026_07_28.as_str()
}

/// Keeps the subscriptions of one link for as long as it lives.
pub(super) async fn keep_subscribed(
    peer: Peer<RoleClient>,
    version: String,
    offers: ServerCapabilities,
    handler: LinkHandler,
    mut wanted: watch::Receiver<BTreeSet<String>>,
    close: CancellationToken,
) {
    let keeping = async {
        if is_modern(&version) {
            listen(&peer, &offers, &handler, &mut wanted).await;
            return;
        }
        loop {
            if let Some(level) = handler.desk.log_level().filter(|_| offers.logging.is_some()) {
                let request = SetLevelRequest::new(SetLevelRequestParams::new(level));
                if let Err(error) = peer.send_request(ClientRequest::SetLevelRequest(request)).await {
                    let (server, error) = (&*handler.desk.server, judge(error, false));
                    tracing::warn!(server, %error, "a server does not take the level of its log");
                }
            }
            // Later ones are sent as they come.
            let uris = wanted.borrow().clone();
            for uri in uris {
                let request = SubscribeRequest::new(SubscribeRequestParams::new(uri.clone()));
                if let Err(error) = peer.send_request(ClientRequest::SubscribeRequest(request)).await {
                    let (server, error) = (&*handler.desk.server, judge(error, false));
                    tracing::warn!(server, uri, %error, "a resource could not be subscribed to again");
                }
            }
            handler.is_new.notified().await;
        }
    };
    tokio::select! {
        () = keeping => {}
        () = close.cancelled() => {}
    }
}

/// Listens where the protocol asks a client to say what it wants to hear of.
async fn listen(
    peer: &Peer<RoleClient>,
    offers: &ServerCapabilities,
    handler: &LinkHandler,
    wanted: &mut watch::Receiver<BTreeSet<String>>,
) {
    let longest = Duration::from_secs(30);
    let mut pause = Duration::from_secs(1);
    let mut has_heard = false;
    while !peer.is_transport_closed() {
        let uris = wanted.borrow_and_update().iter().cloned().collect();
        let Some(filter) = filter(offers, uris) else {
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        };
        if let Ok(mut changes) = peer.listen(filter).await {
            if std::mem::replace(&mut has_heard, true) {
                // What the server would have said meanwhile is not known; it may have been started anew.
                (handler.on_tools_changed)();
            }
            loop {
                tokio::select! {
                    change = changes.next() => match change {
                        Ok(Some(change)) => {
                            pause = Duration::from_secs(1);
                            handler.take_note(change);
                        }
                        _ => break,
                    },
                    changed = wanted.changed() => {
                        let _ = changes.cancel().await;
                        match changed {
                            Ok(()) => break,
                            Err(_) => return,
                        }
                    }
                }
            }
            if wanted.has_changed().unwrap_or(true) {
                continue;
            }
        }
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(longest);
    }
}

/// What to listen for; `None` when there is nothing.
fn filter(offers: &ServerCapabilities, uris: Vec<String>) -> Option<SubscriptionFilter> {
    let mut filter = SubscriptionFilter::builder();
    let tools = offers.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true);
    let prompts = offers.prompts.as_ref().and_then(|prompts| prompts.list_changed) == Some(true);
    let resources = offers.resources.as_ref().and_then(|resources| resources.list_changed) == Some(true);
    if tools {
        filter = filter.tools_list_changed();
    }
    if prompts {
        filter = filter.prompts_list_changed();
    }
    if resources {
        filter = filter.resources_list_changed();
    }
    let none = !(tools || prompts || resources) && uris.is_empty();
    if !uris.is_empty() {
        filter = filter.resource_subscriptions(uris);
    }
    (!none).then(|| filter.build())
}
