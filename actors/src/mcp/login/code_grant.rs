//! Logins of people: somebody is sent to a browser, and comes back with a code (RFC 6749, 4.1).

use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationRequest, OAuthState};
use tokio::{sync::Mutex, time::timeout};

use super::{
    challenge::Challenge, discovery::in_words, dpop::is_offered, oauth_http::OAuthHttp, terms::Terms,
};
use crate::guard::await_host;

pub(super) type Visit = dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// How somebody logs in.
#[derive(Clone)]
pub(super) struct Visiting {
    pub(super) visit: Arc<Visit>,
    pub(super) redirect_uri: String,
    pub(super) client: Option<(String, Option<String>)>,
    pub(super) client_metadata_url: Option<String>,
}

/// Two are the same when somebody is sent the same way.
impl PartialEq for Visiting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.visit, &other.visit)
            && (&self.redirect_uri, &self.client, &self.client_metadata_url)
                == (&other.redirect_uri, &other.client, &other.client_metadata_url)
    }
}

/// Who somebody is at one server.
pub(super) struct CodeGrant {
    how: Visiting,
    terms: Terms,
    url: String,
    http: Arc<OAuthHttp>,
    /// One login at a time.
    state: Mutex<Option<OAuthState>>,
}

impl CodeGrant {
    /// # Errors
    /// In words, fit for a model.
    pub(super) fn new(how: Visiting, terms: Terms, url: &str) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("its URL cannot be used: {error}"))?;
        let http = Arc::new(OAuthHttp::new(&parsed, terms.private_addresses, false));
        if terms.requires_dpop {
            http.bind();
        }
        Ok(Self { how, terms, url: url.to_owned(), http, state: Mutex::default() })
    }

    pub(super) fn http(&self) -> &Arc<OAuthHttp> {
        &self.http
    }

    /// The token to send, renewed when it is about to end, and whether it is bound to our key.
    pub(super) async fn token(&self) -> Option<(String, bool)> {
        let text = token_of(self.state.lock().await.as_ref()).await?;
        Some((text, self.http.has_bound()))
    }

    /// Logs in, or waits for whoever does.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) async fn log_in(&self, challenge: Challenge) -> Result<(), String> {
        let mut state = self.state.lock().await;
        if token_of(state.as_ref()).await != challenge.refused {
            // Somebody else was quicker.
            return Ok(());
        }
        if challenge.header.as_deref().is_some_and(is_offered) {
            self.http.bind();
        }
        let logging_in = self.log_in_anew(state.take(), challenge);
        let logged_in = timeout(self.terms.patience, logging_in).await;
        let logged_in = logged_in.map_err(|_| "nobody logged in in time".to_owned())??;
        if self.terms.requires_dpop && !self.http.has_bound() {
            return Err("its authorization server gave a token that is not bound to a key (DPoP)".to_owned());
        }
        *state = Some(logged_in);
        Ok(())
    }

    fn request(&self, challenge: Option<String>) -> AuthorizationRequest {
        let mut request = AuthorizationRequest::new(&self.how.redirect_uri)
            .with_client_name("toolyard")
            .with_initial_scope_selection()
            .with_scopes(self.terms.scopes.clone());
        if let Some((id, secret)) = &self.how.client {
            request = request.with_preregistered_client(id);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
        }
        if let Some(url) = &self.how.client_metadata_url {
            request = request.with_client_metadata_url(url);
        }
        if let Some(challenge) = challenge {
            request = request.with_challenge(challenge);
        }
        request
    }

    async fn log_in_anew(
        &self,
        before: Option<OAuthState>,
        challenge: Challenge,
    ) -> Result<OAuthState, String> {
        self.http.take_refusal();
        let refused = |error: AuthError| {
            let words = in_words(&error);
            let said = self.http.take_refusal().unwrap_or(words);
            // Some say back what they got.
            match self.how.client.as_ref().and_then(|(_, secret)| secret.as_deref()) {
                Some(secret) if !secret.is_empty() => said.replace(secret, "…"),
                _ => said,
            }
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
                let http = self.http.clone();
                let state = OAuthState::new_with_oauth_http_client(&self.url, http).await;
                let mut state = state.map_err(refused)?;
                state.start_authorization(self.request(challenge.header)).await.map_err(refused)?;
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
