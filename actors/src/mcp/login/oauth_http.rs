//! What is asked of authorization servers.

use std::{
    error::Error,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use reqwest::{Client, Request, Response, Url, header::HeaderMap, redirect::Policy};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde_json::{Value, json};

use super::{
    dpop::{Asker, Dpop},
    reachable::{Reachable, Resolver},
    refusal::refusal,
};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 5;

/// The largest answer, in bytes: metadata and tokens have a few kilobytes.
const LARGEST: usize = 1 << 20;

/// The client for one server's logins. The protocol's library sends through it too; what the library does not tell, it
/// notes as it goes by.
pub(super) struct OAuthHttp {
    /// Made when they are first needed: one that follows no redirects, which would take secrets elsewhere, and one for the
    /// requests that may be sent on.
    client: OnceLock<Result<Client, String>>,
    following: OnceLock<Result<Client, String>>,
    reachable: Arc<Reachable>,
    pub(super) dpop: Dpop,
    /// Tokens are asked for that are bound to our key.
    binds: AtomicBool,
    /// The last token is.
    bound: AtomicBool,
    /// Nobody is sent to a browser: the address for that may be missing.
    is_unattended: bool,
    /// The name by which the metadata of the server call it.
    resource: Mutex<Option<String>>,
    /// Why the last token was refused.
    refused: Mutex<Option<String>>,
}

/// An answer, read to its end.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl OAuthHttp {
    pub(super) fn new(server: &Url, private: bool, is_unattended: bool) -> Self {
        Self {
            client: OnceLock::new(),
            following: OnceLock::new(),
            reachable: Arc::new(Reachable::from_server(server, private)),
            dpop: Dpop::new(),
            binds: AtomicBool::new(false),
            bound: AtomicBool::new(false),
            is_unattended,
            resource: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    fn client(&self) -> Result<&Client, OAuthHttpClientError> {
        let made = || self.made(Policy::none());
        Ok(self.client.get_or_init(made).as_ref().map_err(Clone::clone)?)
    }

    fn following(&self) -> Result<&Client, OAuthHttpClientError> {
        let reachable = self.reachable.clone();
        let allowed = Policy::custom(move |attempt| {
            if reachable.allows_url(attempt.url()) && attempt.previous().len() <= MOST_REDIRECTS {
                attempt.follow()
            } else {
                attempt.error("it was sent on to an address that may not be asked, or too often")
            }
        });
        let made = || self.made(allowed);
        Ok(self.following.get_or_init(made).as_ref().map_err(Clone::clone)?)
    }

    fn made(&self, redirects: Policy) -> Result<Client, String> {
        // An error says that the process has a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let resolver = Arc::new(Resolver(self.reachable.clone()));
        let client = Client::builder().timeout(PATIENCE).redirect(redirects).dns_resolver(resolver).build();
        client.map_err(|error| format!("there is no HTTP client: {error}"))
    }

    /// From now on asks for tokens that are bound to our key.
    pub(super) fn bind(&self) {
        self.binds.store(true, Ordering::Relaxed);
    }

    /// Whether the last token is bound to our key.
    pub(super) fn has_bound(&self) -> bool {
        self.bound.load(Ordering::Relaxed)
    }

    pub(super) fn take_resource(&self) -> Option<String> {
        self.resource.lock().take()
    }

    pub(super) fn take_refusal(&self) -> Option<String> {
        self.refused.lock().take()
    }

    /// Reads a document.
    pub(super) async fn get(&self, url: &Url) -> Result<Answer, OAuthHttpClientError> {
        self.checked(url)?;
        Ok(read(self.client()?.get(url.clone()).send().await?).await?.0)
    }

    /// Asks for a token.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &str,
        authorization: Option<String>,
    ) -> Result<Answer, OAuthHttpClientError> {
        self.checked(url)?;
        let mut request = self
            .client()?
            .post(url.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(form.to_owned());
        if let Some(authorization) = authorization {
            let mut value = reqwest::header::HeaderValue::try_from(authorization)?;
            value.set_sensitive(true);
            request = request.header("authorization", value);
        }
        Ok(self.ask_for_token(request.build()?).await?.0)
    }

    fn checked(&self, url: &Url) -> Result<(), OAuthHttpClientError> {
        if self.reachable.allows_url(url) { Ok(()) } else { Err("its address may not be asked".into()) }
    }

    /// Sends a request for a token: with a proof, where one is wanted, and once more with the nonce that is wanted then.
    async fn ask_for_token(
        &self,
        request: Request,
    ) -> Result<(Answer, http::Response<()>), OAuthHttpClientError> {
        let url = request.url().clone();
        let mut tries = 0;
        loop {
            let mut next = request.try_clone().ok_or("it cannot be sent twice")?;
            let binds = self.binds.load(Ordering::Relaxed);
            if binds {
                let proof = self.dpop.proof(Asker::AuthorizationServer, "POST", &url, None)?;
                next.headers_mut().insert("dpop", proof.try_into()?);
            }
            let (answer, head) = read(self.client()?.execute(next).await?).await?;
            let nonce = head.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
            if let Some(nonce) = nonce {
                self.dpop.note_nonce(Asker::AuthorizationServer, &url, nonce);
            }
            tries += 1;
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            if answer.status >= 400
                && body["error"] == "use_dpop_nonce"
                && binds
                && nonce.is_some()
                && tries < 2
            {
                continue;
            }
            if answer.status < 300 {
                let is_bound =
                    body["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("dpop"));
                self.bound.store(is_bound, Ordering::Relaxed);
            }
            *self.refused.lock() = (answer.status >= 400).then(|| refusal(answer.status, &body).reason);
            return Ok((answer, head));
        }
    }

    /// Notes what a document says that the library keeps to itself.
    fn note(&self, answer: &mut Answer) {
        let Ok(mut document) = serde_json::from_slice::<Value>(&answer.body) else { return };
        if document.get("authorization_servers").is_some()
            && let Some(resource) = document["resource"].as_str()
        {
            *self.resource.lock() = Some(resource.to_owned());
            if document["dpop_bound_access_tokens_required"] == true {
                self.bind();
            }
        }
        if self.is_unattended
            && document.get("token_endpoint").is_some()
            && document.get("authorization_endpoint").is_none()
        {
            // The library wants one also where nobody is sent there.
            document["authorization_endpoint"] = json!("");
            answer.body = document.to_string().into_bytes();
        }
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let follows = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
            let request = Request::try_from(request.request)?;
            self.checked(request.url())?;
            let is_form = |headers: &HeaderMap| {
                let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
                kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
            };
            let (mut answer, head) = if request.method() == "POST" && is_form(request.headers()) {
                self.ask_for_token(request).await?
            } else {
                let client = if follows { self.following()? } else { self.client()? };
                read(client.execute(request).await?).await?
            };
            if answer.status == 200 {
                self.note(&mut answer);
            }
            Ok(head.map(|()| answer.body))
        })
    }
}

async fn read(mut response: Response) -> Result<(Answer, http::Response<()>), Box<dyn Error + Send + Sync>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > LARGEST {
            return Err("its answer is too large".into());
        }
        body.extend_from_slice(&piece);
    }
    let status = response.status().as_u16();
    Ok((Answer { status, body }, http::Response::from(response).map(|_| ())))
}
