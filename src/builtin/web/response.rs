//! What a server answered.

use std::time::Duration;

use reqwest::{StatusCode, Url, header::HeaderMap};

use super::Body;

/// What a server answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebResponse {
    /// Where it came from at last, without name and password.
    pub url: Url,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The first of the body.
    pub body: Body,
    /// How often the request was tried.
    pub tries: u32,
    /// How long the server asks to wait before the next try.
    pub retry_after: Option<Duration>,
}
