//! Why there is no answer.

use std::{error::Error, io};

use toolyard_contract::Failure;

use super::WebResponse;

/// Says why a request was not made, or has no whole answer. Texts name hosts as the call gave them, never addresses
/// that they resolve to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The URL cannot be used; nothing was sent.
    #[error("the URL cannot be used: {reason}")]
    BadUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The host's address may not be reached; nothing was sent to it.
    #[error("host {host:?}: its address is private or reserved, and not allowed: use another host{}", after_redirect(*redirected))]
    Refused {
        /// The host as given.
        host: String,
        /// A server sent us there.
        redirected: bool,
    },
    /// The name has no address.
    #[error("host {host:?}: the name is not known")]
    UnknownHost {
        /// The host as given.
        host: String,
    },
    /// No connection could be made; nothing was sent.
    #[error("host {host:?}: no connection: {reason}")]
    Unreachable {
        /// The host as given.
        host: String,
        /// What went wrong.
        reason: String,
        /// A server sent us there, after it had the request.
        redirected: bool,
    },
    /// The request was sent and the connection broke, or what came was not HTTP.
    #[error("host {host:?}: {reason}")]
    Broken {
        /// The host as given.
        host: String,
        /// What went wrong.
        reason: String,
        /// What had come of the answer.
        partial: Option<Box<WebResponse>>,
    },
    /// Servers sent us on too often.
    #[error("more than {limit} redirects: the last led to {url}")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
        /// Where the last one led.
        url: String,
    },
    /// A server sent us where no request can go.
    #[error("host {host:?}: redirects to where it cannot be followed: {reason}")]
    BadRedirect {
        /// The host that redirects.
        host: String,
        /// What is wrong with the place.
        reason: String,
    },
    /// A server sent us where the call may not go.
    #[error("host {host:?}: redirects to where the call may not go: {reason}")]
    NotPermitted {
        /// The host that redirects.
        host: String,
        /// Where to, and what is not permitted.
        reason: String,
    },
    /// The time for all of it was over.
    #[error("no whole answer from {host:?} within {seconds} s")]
    TimedOut {
        /// The host as given.
        host: String,
        /// How long it was waited.
        seconds: f64,
    },
    /// Nothing can be encrypted here.
    #[error("no https: {reason}")]
    NoTls {
        /// What is missing and how to get it.
        reason: String,
    },
}

fn after_redirect(redirected: bool) -> &'static str {
    if redirected { " (a server redirects there)" } else { "" }
}

impl WebError {
    /// Words an error of the HTTP library without URL and addresses.
    pub(super) fn of(host: &str, error: &reqwest::Error, redirected: bool) -> Self {
        let host = host.to_owned();
        if error.is_connect() {
            return Self::Unreachable { host, reason: cause(error), redirected };
        }
        Self::Broken { host, reason: cause(error), partial: None }
    }

    /// Tells whether no server has seen any of the request.
    pub(super) fn nothing_was_sent(&self) -> bool {
        matches!(self, Self::Unreachable { redirected: false, .. })
    }

    /// Tells whether the same request may have an answer the next time.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken { .. })
    }
}

/// The cause that says most, in words of ours.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let causes = || std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| inner(*cause));
    if let Some(tls) = causes().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return format!("the encryption cannot be set up: {tls}");
    }
    if let Some(io) = causes().filter_map(|cause| cause.downcast_ref::<io::Error>()).last() {
        return io.kind().to_string();
    }
    if error.is_decode() {
        return "the answer is not packed as it says".to_owned();
    }
    // The innermost is of the HTTP library, which knows no addresses: "connection closed before message completed".
    causes().last().map_or_else(String::new, ToString::to_string)
}

/// The next cause. Of an IO error that holds another one, `source` would give only the cause of that.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(held) => Some(held),
        None => error.source(),
    }
}

impl From<WebError> for Failure {
    fn from(error: WebError) -> Self {
        let text = error.to_string();
        match error {
            WebError::BadUrl { .. } => Self::bad_arguments(text),
            WebError::Refused { redirected: false, .. } | WebError::NotPermitted { .. } => Self::denied(text),
            WebError::TimedOut { .. } => Self::timed_out(text),
            WebError::NoTls { .. } => Self::not_started(text),
            _ => Self::failed(text),
        }
    }
}
