//! Logging in at servers that are reached by HTTP and want to know who is asking.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rmcp::transport::auth::{AuthError, AuthorizationRequest, OAuthState};
use tokio::{sync::Mutex, time::timeout};

use crate::guard::await_host;

type Visit = dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// How to log in at a server: by OAuth, with an authorization code. Tokens are kept in memory, for all connections to
/// the server, and renewed.
#[derive(Clone)]
pub struct McpLogin {
    visit: Arc<Visit>,
    redirect_uri: String,
    client: Option<(String, Option<String>)>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
    patience: Duration,
}

impl McpLogin {
    /// Starts with a way to let somebody log in: `visit` gets the address that a browser must open, and gives the
    /// address to which the browser was sent back, with everything in it; it begins with `redirect_uri`. An error is
    /// said in words, which callers get.
    pub fn new<F>(
        redirect_uri: impl Into<String>,
        visit: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self {
            visit: Arc::new(move |url| Box::pin(visit(url))),
            redirect_uri: redirect_uri.into(),
            client: None,
            client_metadata_url: None,
            scopes: Vec::new(),
            patience: Duration::from_mins(5),
        }
    }

    /// Sets the id, and perhaps the secret, under which the authorization server knows this client. Default: the
    /// document of [`client_metadata_url`](Self::client_metadata_url), else the client registers itself.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.client = Some((id.into(), secret));
        self
    }

    /// Sets the address of a document about this client, for authorization servers that read one. Default: none.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Sets what is asked for. Default: what the server says is needed.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long logging in may take. Default 5 min: somebody types a password.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    fn request(&self, challenge: Option<String>) -> AuthorizationRequest {
        let mut request = AuthorizationRequest::new(&self.redirect_uri)
            .with_client_name("toolyard")
            .with_initial_scope_selection()
            .with_scopes(self.scopes.clone());
        if let Some((id, secret)) = &self.client {
            request = request.with_preregistered_client(id);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
        }
        if let Some(url) = &self.client_metadata_url {
            request = request.with_client_metadata_url(url);
        }
        if let Some(challenge) = challenge {
            request = request.with_challenge(challenge);
        }
        request
    }
}

/// Shows no secret, and nothing that may hold one.
impl fmt::Debug for McpLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpLogin")
            .field("redirect_uri", &self.redirect_uri)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// Two are the same when somebody is sent the same way.
impl PartialEq for McpLogin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.visit, &other.visit)
            && (&self.redirect_uri, &self.client, &self.client_metadata_url, &self.scopes, self.patience)
                == (
                    &other.redirect_uri,
                    &other.client,
                    &other.client_metadata_url,
                    &other.scopes,
                    other.patience,
                )
    }
}

/// What a server wants before it answers.
#[derive(Debug)]
pub(super) struct Challenge {
    /// Its header, if it sent one.
    pub(super) header: Option<String>,
    /// What the token must allow; `None`: there is no usable token.
    pub(super) scope: Option<String>,
    /// The token that it did not take.
    pub(super) refused: Option<String>,
}

/// Who we are at one server, for all connections to it.
pub(super) struct Identity {
    how: McpLogin,
    url: String,
    /// One login at a time.
    state: Mutex<Option<OAuthState>>,
}

impl Identity {
    pub(super) fn new(how: McpLogin, url: String) -> Self {
        Self { how, url, state: Mutex::default() }
    }

    /// The token to send, renewed when it is about to end; `None` when there is none.
    pub(super) async fn token(&self) -> Option<String> {
        token_of(self.state.lock().await.as_ref()).await
    }

    /// Logs in, or waits for whoever does.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) async fn log_in(&self, challenge: Challenge) -> Result<(), String> {
        let mut state = self.state.lock().await;
        if challenge.refused.is_some() && token_of(state.as_ref()).await != challenge.refused {
            // Somebody else was quicker.
            return Ok(());
        }
        let logging_in = self.log_in_anew(state.take(), challenge);
        let logged_in = timeout(self.how.patience, logging_in).await;
        *state = Some(logged_in.map_err(|_| "nobody logged in in time".to_owned())??);
        Ok(())
    }

    async fn log_in_anew(
        &self,
        before: Option<OAuthState>,
        challenge: Challenge,
    ) -> Result<OAuthState, String> {
        let refused = |error: AuthError| {
            // Addresses in it may hold secrets.
            tracing::warn!(%error, "MCP login");
            "logging in at it failed".to_owned()
        };
        let mut state = match (before, &challenge.scope) {
            (Some(mut state @ OAuthState::Authorized(_)), Some(scope)) => {
                state.request_scope_upgrade(scope, &self.how.redirect_uri).await.map_err(refused)?;
                state
            }
            (Some(state @ OAuthState::Authorized(_)), None) if state.refresh_token().await.is_ok() => {
                return Ok(state);
            }
            _ => {
                let mut state = OAuthState::new(&self.url, None).await.map_err(refused)?;
                state.start_authorization(self.how.request(challenge.header)).await.map_err(refused)?;
                state
            }
        };
        let url = state.get_authorization_url().await.map_err(refused)?;
        let visited = await_host("the way to log in", || (self.how.visit)(url)).await;
        let visited = visited.unwrap_or_else(|| Err("the way to log in broke".to_owned()));
        let back = visited.map_err(|reason| format!("nobody logged in: {reason}"))?;
        state.handle_callback_url(&back).await.map_err(refused)?;
        Ok(state)
    }
}

async fn token_of(state: Option<&OAuthState>) -> Option<String> {
    match state {
        Some(OAuthState::Authorized(manager)) => manager.get_access_token().await.ok(),
        _ => None,
    }
}
