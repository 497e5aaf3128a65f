//! SearXNG, a search engine that people run themselves.

use futures::future::BoxFuture;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::{
    SearchBackend, SearchError, SearchHit,
    backend::{Site, unreadable},
};
use crate::builtin::web::{WebConfig, WebError};

/// Searches with an instance of SearXNG, by its JSON answers.
#[derive(Debug)]
pub struct SearXng {
    site: Site,
}

impl SearXng {
    /// Makes a backend that asks the instance at `base`.
    ///
    /// # Errors
    /// When `base` is not a URL of http or https.
    pub fn new(base: &str, config: WebConfig) -> Result<Self, WebError> {
        Ok(Self { site: Site::new(base, config)? })
    }
}

#[derive(Deserialize)]
struct Page {
    results: Vec<Found>,
    /// Names, or lists of name and reason.
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

fn hint(status: u16) -> &'static str {
    match status {
        403 => ": its settings.yml must list json under search.formats",
        _ => "",
    }
}

impl SearchBackend for SearXng {
    fn search(&self, query: &str, most: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, SearchError>> {
        let query = query.to_owned();
        Box::pin(async move {
            let response = self.site.get("search", &[("q", &query), ("format", "json")], hint).await?;
            let page: Page = serde_json::from_slice(&response.body.bytes)
                .map_err(|error| unreadable(format!("it is not the JSON of a result page: {error}")))?;
            let hits: Vec<_> = page.results.iter().filter_map(Found::hit).take(most).collect();
            let silent: Vec<_> = page.unresponsive_engines.iter().filter_map(engine).collect();
            if hits.is_empty() && !silent.is_empty() {
                return Err(SearchError::EnginesSilent { engines: silent.join(", ") });
            }
            Ok(hits)
        })
    }
}

impl Found {
    fn hit(&self) -> Option<SearchHit> {
        let url = Url::parse(self.url.as_deref()?).ok()?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        SearchHit::new(&text(&self.title), &url, &text(&self.content))
    }
}

fn engine(silent: &Value) -> Option<&str> {
    silent.as_str().or_else(|| silent.get(0)?.as_str())
}
