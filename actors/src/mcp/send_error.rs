//! Why a request over HTTP was not answered.

use std::{error::Error, io};

use reqwest::StatusCode;
use rmcp::transport::{
    DynamicTransportError,
    streamable_http_client::{HttpStatusError, StreamableHttpError},
};

use super::{http_head::Head, request_error::RequestError, said::said};

pub(super) fn of(error: &reqwest::Error) -> RequestError {
    if error.is_connect() || error.is_builder() {
        return RequestError::NotSent(format!("no connection to its address can be made{}", cause(error)));
    }
    match error.status() {
        Some(status) => Head::bare(status, None).refusal(""),
        None => RequestError::Lost(format!("the connection broke{}", cause(error))),
    }
}

/// The first cause of an error, to stand after a reason. It names no address.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let first: &(dyn Error + 'static) = error;
    let last = std::iter::successors(first.source(), |cause| (*cause).source()).last();
    last.map(|cause| format!(" ({})", said(&cause.to_string()))).unwrap_or_default()
}

/// Takes what became of a request through the protocol's library.
pub(super) fn carried(error: RequestError) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::Io(io::Error::other(error))
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
    cause.downcast_ref::<StreamableHttpError<reqwest::Error>>().map(of_posting)
}

/// What became of a message over streamable HTTP.
pub(super) fn of_posting(error: &StreamableHttpError<reqwest::Error>) -> RequestError {
    let bare = |status: u16, challenge: Option<&str>| {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Head::bare(status, challenge).refusal("")
    };
    match error {
        StreamableHttpError::Client(error) => of(error),
        StreamableHttpError::Io(error) => error
            .get_ref()
            .and_then(|error| error.downcast_ref::<RequestError>())
            .cloned()
            .unwrap_or_else(|| RequestError::Lost("the connection broke".to_owned())),
        StreamableHttpError::HttpStatus(HttpStatusError { status, .. }) => bare(*status, None),
        StreamableHttpError::AuthRequired(wanted) => bare(401, Some(&wanted.www_authenticate_header)),
        StreamableHttpError::InsufficientScope(wanted) => bare(403, Some(&wanted.www_authenticate_header)),
        StreamableHttpError::Deserialize(error) => {
            RequestError::Lost(format!("its answer cannot be read: {}", said(&error.to_string())))
        }
        StreamableHttpError::UnexpectedServerResponse(_) | StreamableHttpError::UnexpectedEndOfStream => {
            RequestError::Lost("its answer is not what the protocol allows".to_owned())
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            RequestError::Lost(format!("its answer is larger than {max_size} bytes"))
        }
        _ => RequestError::Lost("the connection broke".to_owned()),
    }
}

fn causes(error: &DynamicTransportError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error.error.as_ref();
    std::iter::successors(Some(first), |cause: &&(dyn Error + 'static)| (*cause).source())
}
