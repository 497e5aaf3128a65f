//! Why a request over HTTP was not answered.

use std::error::Error;

use reqwest::StatusCode;
use rmcp::transport::{
    DynamicTransportError,
    streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    },
};

use super::request_error::RequestError;

pub(super) fn of(error: &reqwest::Error) -> RequestError {
    if error.is_connect() || error.is_builder() {
        return RequestError::NotSent("no connection to its address can be made".to_owned());
    }
    match error.status() {
        Some(status) => of_status(status),
        None => RequestError::Lost("the connection broke".to_owned()),
    }
}

/// What it means that a server answered a message with an HTTP error.
pub(super) fn of_status(status: StatusCode) -> RequestError {
    let said = |text: &str| format!("{text} (HTTP {})", status.as_u16());
    match status.as_u16() {
        401 => RequestError::Refused(said("it wants to know who is asking")),
        403 => RequestError::Refused(said("it does not allow this")),
        404 | 410 => RequestError::NotSent(said("it knows no such address or session")),
        429 => RequestError::Refused(said("it takes no more requests for now")),
        400..500 => RequestError::Refused(said("it refused the request")),
        300..400 => RequestError::Refused(said("it sent the request on to another server")),
        _ => RequestError::Lost(said("it answered with an error")),
    }
}

/// What became of a message that the protocol's library was to send.
pub(super) fn found(error: &DynamicTransportError) -> RequestError {
    let lost = || RequestError::Lost("the connection broke".to_owned());
    causes(error).find_map(of_cause).unwrap_or_else(lost)
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<RequestError> {
    if let Some(error) = cause.downcast_ref::<RequestError>() {
        return Some(error.clone());
    }
    if cause.is::<AuthRequiredError>() {
        return Some(of_status(StatusCode::UNAUTHORIZED));
    }
    if cause.is::<InsufficientScopeError>() {
        return Some(of_status(StatusCode::FORBIDDEN));
    }
    match cause.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(error) => Some(of(error)),
        StreamableHttpError::HttpStatus(HttpStatusError { status, .. }) => {
            StatusCode::from_u16(*status).ok().map(of_status)
        }
        StreamableHttpError::SessionExpired => Some(of_status(StatusCode::NOT_FOUND)),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            Some(RequestError::Lost(format!("its answer is larger than {max_size} bytes")))
        }
        _ => None,
    }
}

fn causes(error: &DynamicTransportError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error.error.as_ref();
    std::iter::successors(Some(first), |cause: &&(dyn Error + 'static)| (*cause).source())
}
