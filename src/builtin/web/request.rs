//! What is asked of a server.

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName},
};

use super::WebError;

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

/// Reads the URL of a request. Its host is in one spelling then, also where it is an address in octal, hexadecimal or
/// as one number.
pub(in crate::builtin) fn read_url(text: &str) -> Result<Url, WebError> {
    let bad = |reason: String| WebError::BadUrl { reason };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("only http and https can be reached, not {:?}", url.scheme())));
    }
    match url.port_or_known_default() {
        Some(0) | None => Err(bad("there is no port 0".to_owned())),
        Some(_) => Ok(url),
    }
}

/// The URL without name and password, for everything that is shown.
pub(in crate::builtin) fn shown(url: &Url) -> Url {
    let mut shown = url.clone();
    // Both succeed for every URL with a host.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown
}
