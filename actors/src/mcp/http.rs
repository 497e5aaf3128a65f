//! Servers that are reached by streamable HTTP.

use std::{collections::BTreeMap, error::Error};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::{
    DynamicTransportError, StreamableHttpClientTransport,
    streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClientTransportConfig,
        StreamableHttpError,
    },
};

/// Makes the transport to a server. Nothing is sent yet.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    largest: usize,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // An error says that the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Url::parse(url).map_err(|error| format!("its URL cannot be used: {error}"))?;
    let header = |(name, value): (&String, &String)| {
        let key =
            HeaderName::try_from(name).map_err(|_| format!("{name:?} cannot be the name of a header"))?;
        // The value may be a secret.
        let value =
            HeaderValue::try_from(value).map_err(|_| format!("the header {name:?} has no usable value"))?;
        Ok::<_, String>((key, value))
    };
    let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .max_concurrent_requests(usize::MAX >> 4)
        .max_sse_event_size(largest)
        .max_json_response_size(largest);
    Ok(StreamableHttpClientTransport::from_config(config))
}

/// Tells whether a request failed before its first byte was out.
pub(super) fn was_not_sent(error: &DynamicTransportError) -> bool {
    let client = causes(error).find_map(|cause| match cause.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => Some(error),
        _ => None,
    });
    client.is_some_and(reqwest::Error::is_connect)
}

/// What the server said when it answered a request with an HTTP error.
pub(super) fn refusal(error: &DynamicTransportError) -> Option<String> {
    causes(error).find_map(|cause| {
        if cause.is::<AuthRequiredError>() {
            return Some("it wants to know who is asking (HTTP 401)".to_owned());
        }
        if cause.is::<InsufficientScopeError>() {
            return Some("it does not allow this (HTTP 403)".to_owned());
        }
        match cause.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
            StreamableHttpError::ResponseBodyTooLarge { max_size } => {
                Some(format!("its answer is larger than {max_size} bytes"))
            }
            StreamableHttpError::HttpStatus(HttpStatusError { status: 429, .. }) => {
                Some("it takes no more requests for now (HTTP 429)".to_owned())
            }
            _ => None,
        }
    })
}

/// Why a server was not reached, without its URL, which may hold a secret.
pub(super) fn unreachable(error: &DynamicTransportError) -> String {
    if was_not_sent(error) {
        return "no connection to its address can be made".to_owned();
    }
    refusal(error).unwrap_or_else(|| "the connection broke while starting".to_owned())
}

fn causes(error: &DynamicTransportError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error.error.as_ref();
    std::iter::successors(Some(first), |cause: &&(dyn Error + 'static)| (*cause).source())
}
