//! `[http]`: how the tool `http` makes requests.

use std::{collections::BTreeMap, str::FromStr};

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::{ConfigError, seconds::Seconds};
use crate::builtin::web::{AddressPolicy, AllowRule, MOST_HEADERS, WebConfig};

/// The `[http]` part. A key that is absent has the default of [`WebConfig`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HttpSection {
    /// What may be reached although it is not public: addresses, blocks such as `10.0.0.0/8`, or names, each with a
    /// port or for every port. Default: nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// How long a request may take in all, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
    /// How often a request is tried at most, when trying it again cannot do anything twice. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How much of a body is read, in bytes. Default 50,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<usize>,
    /// How many redirects are followed. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_redirects: Option<usize>,
    /// Headers of every request that does not set them itself, to any host: no place for secrets. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The URL of the HTTP proxy that all requests go through. Default: none, also where the environment names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

impl HttpSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How requests are made.
    pub(super) fn web_config(&self) -> Result<WebConfig, ConfigError> {
        let bad =
            |key: &str, reason: &dyn std::fmt::Display| ConfigError::new(format!("http.{key}: {reason}"));
        let mut config = WebConfig::default();
        let rules: Result<Vec<_>, _> = self.allow.iter().map(|rule| AllowRule::from_str(rule)).collect();
        config.policy = AddressPolicy::new(rules.map_err(|error| bad("allow", &error))?);
        config.timeout = self.timeout_s.map_or(config.timeout, |seconds| seconds.0);
        config.attempts = self.attempts.unwrap_or(config.attempts);
        config.max_response_bytes = self.max_response_bytes.unwrap_or(config.max_response_bytes);
        config.max_redirects = self.max_redirects.unwrap_or(config.max_redirects);
        if self.headers.len() > MOST_HEADERS {
            let reason =
                format!("{} headers are too many: a request has at most {MOST_HEADERS}", self.headers.len());
            return Err(bad("headers", &reason));
        }
        for (name, value) in &self.headers {
            let key = HeaderName::try_from(name)
                .map_err(|_| bad("headers", &format!("{name:?} cannot be the name of a header")))?;
            let value = HeaderValue::try_from(value)
                .map_err(|_| bad("headers", &format!("the header {name:?} has no usable value")))?;
            config.headers.insert(key, value);
        }
        match &self.proxy {
            Some(proxy) => config.proxy(proxy).map_err(|error| bad("proxy", &error)),
            None => Ok(config),
        }
    }
}
