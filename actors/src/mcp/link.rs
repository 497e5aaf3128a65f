//! One open connection to a server: its start, its requests, its end.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, PingRequest, ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerResult,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
        RunningService,
    },
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    config::{McpLink, McpServerConfig, ProtocolEra},
    handler::LinkHandler,
    http::Address,
    login_client::{Entry, MOST_LOGINS},
    noting::Noting,
    pending::{Counted, Pending},
    request_error::RequestError,
    said::said,
    send_error,
    sse::EventLink,
    subscription::{is_modern, keep_subscribed},
    wire::{Pipes, Probed},
};
use crate::child::{ChildCommand, ChildProcess};

/// How long a server may take to take note of a close before its connection is cut.
const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// How long a process that closed its pipes may take to end by itself.
const EXIT_PATIENCE: Duration = Duration::from_millis(500);

/// An open connection. It stays open until [`close`](Self::close), or until the server ends it.
pub(super) struct Link {
    peer: Peer<RoleClient>,
    /// Counts the connections of one session; what is said about an older one is ignored.
    pub(super) generation: u64,
    /// The server's process group.
    pub(super) pid: Option<i32>,
    /// The protocol revision that was agreed on.
    pub(super) version: String,
    /// What the server said that it offers.
    offers: ServerCapabilities,
    handler: LinkHandler,
    /// What goes with every request.
    meta: Option<RequestMetaObject>,
    in_flight: Arc<AtomicUsize>,
    /// A call was answered over it.
    answered: AtomicBool,
    close: CancellationToken,
}

/// A connection that was just opened.
pub(super) struct Opened {
    pub(super) link: Arc<Link>,
    /// Resolves when nothing of it is left.
    pub(super) ended: oneshot::Receiver<LinkEnd>,
}

/// Why a connection ended or was not had.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkEnd {
    /// In words, fit for a model.
    pub(super) reason: String,
    /// The last line that the server wrote to standard error, for the operator.
    pub(super) last_words: Option<String>,
}

impl LinkEnd {
    fn plain(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), last_words: None }
    }

    fn of_child(reason: String, child: &ChildProcess) -> Self {
        let stderr = child.stderr_text();
        let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
        Self { reason, last_words: last.map(str::to_owned) }
    }

    /// All that is known, for the operator.
    pub(super) fn in_full(&self) -> String {
        match &self.last_words {
            Some(words) => format!("{}: {words}", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// Opens a connection.
///
/// # Cancellation
/// Dropping the future kills the server's process.
pub(super) async fn open(
    config: &McpServerConfig,
    generation: u64,
    handler: LinkHandler,
    wanted: watch::Receiver<BTreeSet<String>>,
) -> Result<Opened, LinkEnd> {
    let Some(identity) = handler.desk.identity.clone() else {
        return open_as(None, config, generation, handler, wanted).await;
    };
    let mut logins = 0;
    loop {
        let entry = Entry::new(identity.clone());
        let opening = open_as(Some(entry.clone()), config, generation, handler.clone(), wanted.clone());
        match opening.await {
            Ok(opened) => {
                entry.wait_from_now_on();
                return Ok(opened);
            }
            Err(end) => {
                logins += 1;
                if logins > MOST_LOGINS || !entry.log_in().await.map_err(LinkEnd::plain)? {
                    return Err(end);
                }
            }
        }
    }
}

async fn open_as(
    entry: Option<Entry>,
    config: &McpServerConfig,
    generation: u64,
    handler: LinkHandler,
    wanted: watch::Receiver<BTreeSet<String>>,
) -> Result<Opened, LinkEnd> {
    let opening = async {
        if let Some(start) = config.link.command() {
            return open_child(&start, config, generation, handler, wanted).await;
        }
        match &config.link {
            McpLink::Stdio { .. } => Err(LinkEnd::plain("it is no program")),
            McpLink::Http { url, headers } => {
                let address = Address::new(url, headers, config.connect_timeout).map_err(LinkEnd::plain)?;
                let renewing = handler.clone();
                let transport = address.streamable(config, entry, Arc::new(move || renewing.renewed()));
                open_over(transport, config.era, generation, handler, wanted).await
            }
            McpLink::InProcess(server) => {
                let Some(stream) = server.connect() else {
                    return Err(LinkEnd::plain("it panicked while it was being connected to"));
                };
                let (read, write) = tokio::io::split(stream);
                let pipes = Pipes::new(read, write, config.largest_message_bytes);
                open_over(pipes, config.era, generation, handler, wanted).await
            }
            McpLink::Sse { url, headers } => {
                let address = Address::new(url, headers, config.connect_timeout).map_err(LinkEnd::plain)?;
                // Whatever it is that does not come is said then.
                let rest = config.connect_timeout.checked_div(10).unwrap_or_default();
                let patience = config.connect_timeout.saturating_sub(rest);
                let opened = EventLink::open(address, config.largest_message_bytes, patience).await;
                let transport = opened.map_err(|error| LinkEnd::plain(error.to_string()))?;
                // Only servers from before the revision without a handshake are reached like this.
                open_over(transport, ProtocolEra::Legacy, generation, handler, wanted).await
            }
        }
    };
    let late =
        |_| LinkEnd::plain(format!("it did not answer within {} s", config.connect_timeout.as_secs_f64()));
    timeout(config.connect_timeout, opening).await.map_err(late)?
}

async fn open_over<T: Transport<RoleClient> + 'static>(
    transport: T,
    era: ProtocolEra,
    generation: u64,
    handler: LinkHandler,
    wanted: watch::Receiver<BTreeSet<String>>,
) -> Result<Opened, LinkEnd> {
    let transport = Noting::new(transport, handler.asking.clone());
    let served = handler.clone().serve_with_lifecycle(transport, lifecycle(era)).await;
    let service = served.map_err(|error| LinkEnd::plain(describe(&error)))?;
    Ok(keep(service, None, generation, handler, wanted))
}

async fn open_child(
    start: &ChildCommand,
    config: &McpServerConfig,
    generation: u64,
    handler: LinkHandler,
    wanted: watch::Receiver<BTreeSet<String>>,
) -> Result<Opened, LinkEnd> {
    let mut child = start.start().map_err(|error| LinkEnd::plain(error.to_string()))?;
    let (Some(read), Some(write)) = (child.take_stdout(), child.take_stdin()) else {
        return Err(LinkEnd::plain("its pipes are gone"));
    };
    let mut pipes = Pipes::new(read, write, config.largest_message_bytes);
    let serving = async {
        let mut era = config.era;
        let half = config.connect_timeout.checked_div(2).unwrap_or_default();
        if era == ProtocolEra::Auto && pipes.probe(half).await == Probed::Unknown {
            era = ProtocolEra::Legacy;
        }
        let transport = Noting::new(pipes, handler.asking.clone());
        handler.clone().serve_with_lifecycle(transport, lifecycle(era)).await
    };
    tokio::select! {
        biased;
        served = serving => match served {
            Ok(service) => Ok(keep(service, Some(child), generation, handler, wanted)),
            Err(error) => {
                // One that closed its pipes is about to end, and its exit status says more.
                let ended = timeout(EXIT_PATIENCE, child.wait()).await;
                let reason = match ended {
                    Ok(exit) if !has_answered(&error) => format!("it ended while starting ({exit})"),
                    _ => describe(&error),
                };
                child.stop().await;
                Err(LinkEnd::of_child(reason, &child))
            }
        },
        exit = child.wait() => Err(LinkEnd::of_child(format!("it ended while starting ({exit})"), &child)),
    }
}

fn lifecycle(era: ProtocolEra) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        ProtocolEra::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        ProtocolEra::Legacy => ClientLifecycleMode::Initialize,
        ProtocolEra::Modern => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// Sees to an open connection until it ends.
fn keep(
    service: RunningService<RoleClient, LinkHandler>,
    child: Option<ChildProcess>,
    generation: u64,
    handler: LinkHandler,
    wanted: watch::Receiver<BTreeSet<String>>,
) -> Opened {
    let info = service.peer_info();
    let close = CancellationToken::new();
    let version = info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    let offers = info.map(|info| info.capabilities.clone()).unwrap_or_default();
    let peer = service.peer().clone();
    let meta = handler.desk.log_level().filter(|_| is_modern(&version)).map(|level| {
        let mut meta = RequestMetaObject::default();
        meta.set_log_level(level);
        meta
    });
    tokio::spawn(keep_subscribed(
        peer.clone(),
        version.clone(),
        offers.clone(),
        handler.clone(),
        wanted,
        close.clone(),
    ));
    let link = Arc::new(Link {
        peer,
        generation,
        pid: child.as_ref().map(ChildProcess::group_id),
        version,
        offers,
        handler,
        meta,
        in_flight: Arc::default(),
        answered: AtomicBool::new(false),
        close: close.clone(),
    });
    let (say_ended, ended) = oneshot::channel();
    tokio::spawn(async move {
        let end = see_to(service, child, &close).await;
        close.cancel();
        // Nobody listens when the session is gone.
        let _ = say_ended.send(end);
    });
    Opened { link, ended }
}

async fn see_to(
    service: RunningService<RoleClient, LinkHandler>,
    child: Option<ChildProcess>,
    close: &CancellationToken,
) -> LinkEnd {
    let cut = service.cancellation_token();
    let mut served = std::pin::pin!(service.waiting());
    let Some(mut child) = child else {
        tokio::select! {
            _ = &mut served => return LinkEnd::plain("the connection was closed"),
            () = close.cancelled() => {}
        }
        cut.cancel();
        let _ = timeout(CLOSE_PATIENCE, served).await;
        return LinkEnd::plain("disconnected");
    };
    let reason = tokio::select! {
        _ = &mut served => {
            // One that closed its output is about to end; else it is of no use any more.
            let reason = match timeout(EXIT_PATIENCE, child.wait()).await {
                Ok(exit) => format!("it ended ({exit})"),
                Err(_) => format!("it closed its output ({})", child.stop().await),
            };
            return LinkEnd::of_child(reason, &child);
        }
        exit = child.wait() => format!("it ended ({exit})"),
        () = close.cancelled() => "disconnected".to_owned(),
    };
    cut.cancel();
    let _ = timeout(CLOSE_PATIENCE, served).await;
    child.stop().await;
    LinkEnd::of_child(reason, &child)
}

impl Link {
    pub(super) fn is_open(&self) -> bool {
        !self.close.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// Begins to close the connection; its end is reported by [`Opened::ended`].
    pub(super) fn close(&self) {
        self.close.cancel();
    }

    /// What the server said that it offers.
    pub(super) fn offers(&self) -> &ServerCapabilities {
        &self.offers
    }

    /// What the server said about itself at the start, as the protocol writes it.
    pub(super) fn about(&self) -> Value {
        self.peer.peer_info().and_then(|info| serde_json::to_value(&*info).ok()).unwrap_or_default()
    }

    /// How many requests wait for their answers.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Takes note that a call was answered over it.
    pub(super) fn note_answer(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Sends a request.
    pub(super) async fn send(&self, request: ClientRequest) -> Result<Pending, RequestError> {
        let counted = Counted::one_more(&self.in_flight);
        let closed = || RequestError::NotSent("the connection is closed".to_owned());
        if !self.is_open() {
            return Err(closed());
        }
        let asker = self.handler.asking.begin();
        let mut options = PeerRequestOptions::no_options();
        options.meta.clone_from(&self.meta);
        // Of many kilobytes, which a call need not hold while it waits.
        let sent = Box::pin(self.peer.send_cancellable_request(request, options)).await;
        let handle = sent.map_err(|_| closed())?;
        Ok(Pending::new(handle, self.pid.is_some(), asker, &self.handler.progress, counted))
    }

    /// Sees to it that a question of the server that comes from now on is one of a call that is yet to be sent, or of
    /// those under way: where it has asked before, what it had written until now is read first.
    pub(super) async fn settle_questions(&self, patience: Duration) {
        if self.handler.asking.take_unsettled() {
            // A server that does not answer a ping is asked all the same.
            let _ = timeout(patience, self.request(ClientRequest::PingRequest(PingRequest::default()))).await;
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Cancellation
    /// Dropping the future tells the server that the request is cancelled.
    pub(super) async fn request(&self, request: ClientRequest) -> Result<ServerResult, RequestError> {
        self.send(request).await?.answer().await
    }
}

/// Tells whether the server itself said why there is no connection.
fn has_answered(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => has_answered(fallback),
        ClientInitializeError::JsonRpcError(_)
        | ClientInitializeError::NoCompatibleProtocolVersion { .. } => true,
        _ => false,
    }
}

/// Why a connection was not had, without the messages that were exchanged.
fn describe(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => describe(fallback),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection while starting".to_owned(),
        ClientInitializeError::JsonRpcError(error) => match RequestError::from(error.clone()) {
            RequestError::Refused(words) => format!("it refused to start: {}", said(&words)),
            ours => ours.to_string(),
        },
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no protocol version that is known here".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => send_error::found(error).to_string(),
        _ => "it does not speak the protocol".to_owned(),
    }
}
