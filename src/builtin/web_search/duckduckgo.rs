//! DuckDuckGo's page for browsers without scripts.

use futures::future::BoxFuture;
use reqwest::Url;
use scraper::{ElementRef, Html, Selector};

use super::{
    SearchBackend, SearchError, SearchHit,
    backend::{Site, unreadable},
};
use crate::builtin::web::{WebConfig, WebError};

/// Searches with DuckDuckGo, by the page that it has for browsers without scripts.
#[derive(Debug)]
pub struct DuckDuckGo {
    site: Site,
}

impl DuckDuckGo {
    /// Where the page is.
    pub const BASE_URL: &str = "https://html.duckduckgo.com/html/";

    /// Makes a backend that asks the page at `base`.
    ///
    /// # Errors
    /// When `base` is not a URL of http or https.
    pub fn new(base: &str, config: WebConfig) -> Result<Self, WebError> {
        Ok(Self { site: Site::new(base, config)? })
    }
}

impl SearchBackend for DuckDuckGo {
    fn search(&self, query: &str, most: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, SearchError>> {
        let query = query.to_owned();
        Box::pin(async move {
            let response = self.site.get("", &[("q", &query)], |_| "").await?;
            let (page, _) =
                response.body.text(&response.headers).ok_or_else(|| unreadable("it is no text"))?;
            let base = self.site.url().clone();
            // A page can be large, and reading it is work.
            let read = tokio::task::spawn_blocking(move || read(&page, &base, most)).await;
            read.unwrap_or_else(|_| Err(unreadable("reading it failed")))
        })
    }
}

fn read(page: &str, base: &Url, most: usize) -> Result<Vec<SearchHit>, SearchError> {
    let page = Html::parse_document(page);
    let any = |css| page.select(&selector(css)).next().is_some();
    if any(".anomaly-modal__title, #challenge-form, form[action*='anomaly']") {
        return Err(SearchError::Challenge);
    }
    let results = selector(".result:not(.result--ad)");
    let hits: Vec<_> = page.select(&results).filter_map(|result| hit(result, base)).take(most).collect();
    if hits.is_empty() && !any(".no-results, .result--no-result") {
        return Err(unreadable("it has neither results nor the word that there are none"));
    }
    Ok(hits)
}

fn hit(result: ElementRef<'_>, base: &Url) -> Option<SearchHit> {
    let link = result.select(&selector(".result__a")).next()?;
    let url = target(base.join(link.attr("href")?).ok()?)?;
    let text = |element: ElementRef<'_>| element.text().collect::<String>();
    let snippet = result.select(&selector(".result__snippet")).next().map(text).unwrap_or_default();
    SearchHit::new(&text(link), &url, &snippet)
}

/// Results lead over a page that counts clicks, which names the real one.
fn target(url: Url) -> Option<Url> {
    match url.query_pairs().find(|(name, _)| name == "uddg") {
        Some((_, real)) if url.path() == "/l/" => Url::parse(&real).ok(),
        _ => Some(url),
    }
}

fn selector(css: &str) -> Selector {
    Selector::parse(css).expect("a selector of ours")
}
