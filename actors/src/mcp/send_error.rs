//! Why a request over HTTP was not answered.

use std::error::Error;

use reqwest::StatusCode;
use rmcp::transport::{
    DynamicTransportError,
    streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    },
};

use super::link::RequestError;

/// What became of a message that was to be sent. In words, fit for a model: no address, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// Nothing of it reached the server, or the server did not look at it.
    #[error("{0}")]
    NotSent(String),
    /// The server may have acted on it.
    #[error("{0}")]
    Lost(String),
    /// The server looked at it and refused it.
    #[error("{0}")]
    Refused(String),
}

impl SendError {
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if error.is_connect() || error.is_builder() {
            return Self::NotSent("no connection to its address can be made".to_owned());
        }
        match error.status() {
            Some(status) => Self::of_status(status),
            None => Self::Lost("the connection broke".to_owned()),
        }
    }

    /// What it means that a server answered a message with an HTTP error.
    pub(super) fn of_status(status: StatusCode) -> Self {
        let said = |text: &str| format!("{text} (HTTP {})", status.as_u16());
        match status.as_u16() {
            401 => Self::Refused(said("it wants to know who is asking")),
            403 => Self::Refused(said("it does not allow this")),
            404 | 410 => Self::NotSent(said("it knows no such address or session")),
            429 => Self::Refused(said("it takes no more requests for now")),
            400..500 => Self::Refused(said("it refused the request")),
            300..400 => Self::Refused(said("it sent the request on to another server")),
            _ => Self::Lost(said("it answered with an error")),
        }
    }

    /// What became of a message that the protocol's library was to send.
    pub(super) fn found(error: &DynamicTransportError) -> Self {
        let lost = || Self::Lost("the connection broke".to_owned());
        causes(error).find_map(of_cause).unwrap_or_else(lost)
    }
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<SendError> {
    if let Some(error) = cause.downcast_ref::<SendError>() {
        return Some(match error {
            SendError::NotSent(reason) => SendError::NotSent(reason.clone()),
            SendError::Lost(reason) => SendError::Lost(reason.clone()),
            SendError::Refused(reason) => SendError::Refused(reason.clone()),
        });
    }
    if cause.is::<AuthRequiredError>() {
        return Some(SendError::of_status(StatusCode::UNAUTHORIZED));
    }
    if cause.is::<InsufficientScopeError>() {
        return Some(SendError::of_status(StatusCode::FORBIDDEN));
    }
    match cause.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(error) => Some(SendError::of(error)),
        StreamableHttpError::HttpStatus(HttpStatusError { status, .. }) => {
            StatusCode::from_u16(*status).ok().map(SendError::of_status)
        }
        StreamableHttpError::SessionExpired => Some(SendError::of_status(StatusCode::NOT_FOUND)),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            Some(SendError::Refused(format!("its answer is larger than {max_size} bytes")))
        }
        _ => None,
    }
}

impl From<SendError> for RequestError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::NotSent(reason) => Self::NotSent(reason),
            SendError::Lost(reason) => Self::Lost(reason),
            SendError::Refused(reason) => Self::Refused(reason),
        }
    }
}

fn causes(error: &DynamicTransportError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error.error.as_ref();
    std::iter::successors(Some(first), |cause: &&(dyn Error + 'static)| (*cause).source())
}
