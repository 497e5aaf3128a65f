//! Servers that are reached by HTTP.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use reqwest::{
    Client, StatusCode, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::ExponentialBackoff,
    streamable_http_client::StreamableHttpClientTransportConfig,
};

use super::{
    config::McpServerConfig,
    handler::OnToolsChanged,
    http_client::HttpClient,
    http_session::HttpSession,
    login_client::{Entry, LoginClient},
};

/// How many redirects are followed; one adds a slash, as web frameworks do.
pub(super) const MOST_REDIRECTS: usize = 5;

/// The longest pause before the stream of a server's own messages is opened again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How many headers one request may have: several times what servers take, and far less than the library can hold.
const MOST_HEADERS: usize = 256;

/// A server's address and what is sent to it with every request.
pub(super) struct Address {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) client: Client,
}

impl Address {
    /// Checks an address. Nothing is sent yet.
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        connect_timeout: Duration,
    ) -> Result<Self, String> {
        // An error says that the process has a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = Url::parse(url).map_err(|error| format!("its URL cannot be used: {error}"))?;
        if headers.len() > MOST_HEADERS {
            return Err(format!("{} headers are too many: at most {MOST_HEADERS} are sent", headers.len()));
        }
        let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
        // The headers may hold secrets, which are for this server alone; and other redirects make a GET of a POST.
        let same_server = Policy::custom(|attempt| {
            let begun = attempt.previous().first().map(Url::origin);
            let keeps_method =
                matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            let is_near = begun == Some(attempt.url().origin()) && attempt.previous().len() <= MOST_REDIRECTS;
            if keeps_method && is_near { attempt.follow() } else { attempt.stop() }
        });
        let client = Client::builder().redirect(same_server).connect_timeout(connect_timeout).build();
        let client = client.map_err(|error| format!("there is no HTTP client: {error}"))?;
        Ok(Self { url, headers, client })
    }

    /// Makes the transport of streamable HTTP. Nothing is sent yet. `on_renewed` is called when its session was begun anew.
    pub(super) fn streamable(
        self,
        config: &McpServerConfig,
        entry: Option<Entry>,
        on_renewed: OnToolsChanged,
    ) -> StreamableHttpClientTransport<LoginClient> {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (largest, terminates) = (config.largest_message_bytes, config.terminate_on_close);
        let session = HttpSession::new(on_renewed, config.connect_timeout);
        let mut again = ExponentialBackoff::default();
        again.max_delay = Some(LONGEST_PAUSE);
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(headers)
            .max_concurrent_requests(usize::MAX >> 4)
            .max_sse_event_size(largest)
            .max_json_response_size(largest);
        config.retry_config = Arc::new(again);
        let client = LoginClient { http: HttpClient { client: self.client, session, terminates }, entry };
        StreamableHttpClientTransport::with_client(client, config)
    }
}

fn header((name, value): (&String, &String)) -> Result<(HeaderName, HeaderValue), String> {
    let key = HeaderName::try_from(name).map_err(|_| format!("{name:?} cannot be the name of a header"))?;
    // The value may be a secret.
    let value =
        HeaderValue::try_from(value).map_err(|_| format!("the header {name:?} has no usable value"))?;
    Ok((key, value))
}
