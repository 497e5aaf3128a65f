//! `[search]`: which search engine the tool `web_search` asks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolyard_contract::Tool;

use super::{ConfigError, seconds::Seconds};
use crate::builtin::{
    web::{WebConfig, WebError},
    web_search::{DuckDuckGo, SearXng, WebSearchTool},
};

/// The `[search]` part. Where it is there, `web_search` is among the tools that an engine has by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchSection {
    /// The kind of search engine. Default `duckduckgo`, which needs no account.
    pub backend: SearchEngine,
    /// Where it is. Default: DuckDuckGo's page; an instance of SearXNG has no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How many results a call gives that does not say. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_results: Option<usize>,
    /// How long a search may take, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
}

/// The kinds of search engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SearchEngine {
    /// DuckDuckGo's page without scripts.
    #[default]
    DuckDuckGo,
    /// The JSON answers of a SearXNG instance.
    SearXng,
}

impl SearchSection {
    /// Makes the tool. Its requests go the way of the tool `http`, as `web` says, but for their deadline.
    pub(super) fn tool(&self, mut web: WebConfig) -> Result<Arc<dyn Tool>, ConfigError> {
        web.timeout = self.timeout_s.map_or(WebConfig::default().timeout, |seconds| seconds.0);
        let bad_url = |error: WebError| ConfigError::new(format!("search.base_url: {error}"));
        let base = self.base_url.as_deref();
        let tool = match self.backend {
            SearchEngine::DuckDuckGo => {
                let base = base.unwrap_or(DuckDuckGo::BASE_URL);
                WebSearchTool::new(DuckDuckGo::new(base, web).map_err(bad_url)?)
            }
            SearchEngine::SearXng => {
                let base = base.ok_or_else(|| {
                    ConfigError::new("search.base_url: backend \"searxng\" needs the URL of an instance")
                })?;
                WebSearchTool::new(SearXng::new(base, web).map_err(bad_url)?)
            }
        };
        Ok(Arc::new(self.max_results.into_iter().fold(tool, WebSearchTool::max_results)))
    }
}
