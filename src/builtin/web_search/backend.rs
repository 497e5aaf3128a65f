//! What a search engine is to the tool.

use futures::future::BoxFuture;
use reqwest::{Method, Url};
use toolyard_contract::Failure;

use crate::builtin::web::{AllowRule, WebClient, WebConfig, WebError, WebRequest, WebResponse, read_url};

/// Finds pages.
pub trait SearchBackend: Send + Sync + 'static {
    /// Looks for `query` and gives up to `most` hits, the best first; none when there are none.
    fn search(&self, query: &str, most: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, SearchError>>;
}

/// One page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it says about the query; may be empty.
    pub snippet: String,
}

/// Says why there is no answer, not even that there are no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The search engine did not answer.
    #[error("the search engine did not answer: {0}")]
    Web(#[from] WebError),
    /// It answered that it does not answer.
    #[error("the search engine {host:?} answers {status}{hint}")]
    Status {
        /// Its host.
        host: String,
        /// The status and its words.
        status: String,
        /// What may help.
        hint: &'static str,
        /// When to ask again, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// It wants to be asked by a person.
    #[error(
        "the search engine asks for a proof that a person is asking: try again later, or use another one"
    )]
    Challenge,
    /// Its answer has a form that is not known.
    #[error("the search engine's answer cannot be read: {reason}")]
    Unreadable {
        /// What is missing.
        reason: String,
    },
    /// It found nothing, and not because there is nothing.
    #[error("nothing was found, because these engines did not answer: {engines}")]
    EnginesSilent {
        /// Their names.
        engines: String,
    },
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let text = error.to_string();
        match error {
            SearchError::Web(WebError::TimedOut { .. }) => Self::timed_out(text),
            SearchError::Status { retry_after_ms, .. } => {
                Self::failed(text).detail(|detail| detail.retry_after_ms = retry_after_ms)
            }
            _ => Self::failed(text),
        }
    }
}

/// How long an answer of a search engine may be, in bytes: a page of results takes a twentieth.
const LONGEST_ANSWER: usize = 1_000_000;

/// The server of a search engine. Its own host may be private: who sets the base URL means it.
#[derive(Debug)]
pub(super) struct Site {
    base: Url,
    client: WebClient,
}

impl Site {
    pub(super) fn new(base: &str, mut config: WebConfig) -> Result<Self, WebError> {
        let mut base = read_url(base)?;
        if !base.path().ends_with('/') {
            let folder = format!("{}/", base.path());
            base.set_path(&folder);
        }
        let port = base.port_or_known_default().unwrap_or_default();
        config.policy.allow(AllowRule::host(base.host_str().unwrap_or_default(), port));
        config.max_response_bytes = LONGEST_ANSWER;
        Ok(Self { base, client: WebClient::new(config) })
    }

    pub(super) fn url(&self) -> &Url {
        &self.base
    }

    /// Asks a page below the base URL; only an answer with a status of success counts.
    pub(super) async fn get(
        &self,
        page: &str,
        query: &[(&str, &str)],
        hint: impl Fn(u16) -> &'static str,
    ) -> Result<WebResponse, SearchError> {
        let mut url = self.base.join(page).unwrap_or_else(|_| self.base.clone());
        url.query_pairs_mut().extend_pairs(query);
        let response = self.client.send(WebRequest::new(Method::GET, url), None).await?;
        if response.status.is_success() {
            return Ok(response);
        }
        let millis = response.retry_after.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
        Err(SearchError::Status {
            host: response.url.host_str().unwrap_or_default().to_owned(),
            status: response.status.to_string(),
            hint: hint(response.status.as_u16()),
            retry_after_ms: millis,
        })
    }
}

pub(super) fn unreadable(reason: impl Into<String>) -> SearchError {
    SearchError::Unreadable { reason: reason.into() }
}

impl SearchHit {
    /// Makes a hit of what a page says; `None` when it leads to no page. White space is one space, and texts are not
    /// longer than a model can use.
    pub(super) fn new(title: &str, url: &Url, snippet: &str) -> Option<Self> {
        const LONGEST_TITLE: usize = 300;
        const LONGEST_SNIPPET: usize = 1_000;
        matches!(url.scheme(), "http" | "https").then(|| Self {
            title: plain(title, LONGEST_TITLE),
            url: url.to_string(),
            snippet: plain(snippet, LONGEST_SNIPPET),
        })
    }
}

fn plain(text: &str, longest: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let text = words.collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
