//! How requests are made.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Url, header::HeaderMap};

use super::{AddressPolicy, NameResolver, SystemResolver};

/// Sets how requests are made.
#[derive(Clone)]
#[non_exhaustive]
pub struct WebConfig {
    /// How long a request may take in all: resolving, connecting, redirects, every try and the body. Default 30 s: a
    /// model waits for it.
    pub timeout: Duration,
    /// How often a request is tried at most, when trying it again cannot do anything twice. Default 3.
    pub attempts: u32,
    /// How much of a body is read, in bytes after unpacking. Default 50,000: what a model can well read at once.
    pub max_response_bytes: usize,
    /// How many redirects of one request are followed. Default 10: browsers follow twice as many, APIs need few.
    pub max_redirects: usize,
    /// Headers of every request that does not set them itself, whatever its host, so they are no place for secrets.
    /// Default: none beside the program's name.
    pub headers: HeaderMap,
    /// Which addresses may be reached. Default: public ones.
    pub policy: AddressPolicy,
    /// The proxy that all requests go through. It resolves names itself and must then refuse private addresses itself;
    /// here only addresses in URLs are judged. Default: none, also where the environment names one.
    pub proxy: Option<Url>,
    /// Who resolves names. Default: the operating system.
    pub resolver: Arc<dyn NameResolver>,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            attempts: 3,
            max_response_bytes: 50_000,
            max_redirects: 10,
            headers: HeaderMap::new(),
            policy: AddressPolicy::default(),
            proxy: None,
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl WebConfig {
    /// Sets the proxy.
    ///
    /// # Errors
    /// When the text is not the URL of an HTTP proxy.
    pub fn proxy(mut self, url: &str) -> Result<Self, ProxyError> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        self.proxy = Some(parsed.ok_or(ProxyError)?);
        Ok(self)
    }
}

/// The URL of a proxy cannot be used. It may hold a password, so it is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proxy's URL cannot be used: write it as http://host:port")]
pub struct ProxyError;

impl fmt::Debug for WebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebConfig")
            .field("timeout", &self.timeout)
            .field("attempts", &self.attempts)
            .field("max_response_bytes", &self.max_response_bytes)
            .field("max_redirects", &self.max_redirects)
            .field("policy", &self.policy)
            .field("proxied", &self.proxy.is_some())
            .finish_non_exhaustive()
    }
}
