//! What is asked of a server.

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName},
};

/// One request, as it is sent to the first server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebRequest {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Headers beside those that every request has.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// How many headers one request may have: several times what servers take, and far less than the library can hold.
pub const MOST_HEADERS: usize = 256;

/// A request with this header is done once by its server however often it comes.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl WebRequest {
    /// Makes a request without headers and body.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Vec::new() }
    }

    /// Tells whether sending the request twice is as good as once.
    pub fn may_repeat(&self) -> bool {
        self.method.is_idempotent() || self.headers.contains_key(IDEMPOTENCY_KEY)
    }
}
