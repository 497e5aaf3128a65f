//! Who we are at a server.

use std::sync::Arc;

use reqwest::{Url, header::HeaderValue};

use super::{
    challenge::Challenge,
    client::Client,
    code_grant::{CodeGrant, Visiting},
    dpop::Asker,
    grant::Grant,
    oauth_http::OAuthHttp,
    terms::Terms,
    unattended::Unattended,
};
use crate::mcp::http_client::Headers;

/// How a token is got.
#[derive(Clone, PartialEq)]
pub(super) enum Way {
    Visit(Visiting),
    Unattended(Grant, Client),
}

/// Who we are at one server, for all connections to it.
pub(in crate::mcp) struct Identity {
    way: Result<Kept, String>,
}

enum Kept {
    Visited(Box<CodeGrant>),
    Unattended(Box<Unattended>),
}

/// A token, and how it is shown.
#[derive(Clone)]
pub(in crate::mcp) struct Shown {
    pub(in crate::mcp) text: String,
    /// It goes with a proof, and under another name.
    is_bound: bool,
}

impl Identity {
    pub(super) fn new(way: Way, terms: Terms, url: &str) -> Self {
        let way = match way {
            Way::Visit(visiting) => CodeGrant::new(visiting, terms, url).map(Box::new).map(Kept::Visited),
            Way::Unattended(grant, client) => {
                Unattended::new(grant, client, terms, url).map(Box::new).map(Kept::Unattended)
            }
        };
        Self { way }
    }

    /// The token to send, renewed when it is about to end; `None` when there is none.
    pub(in crate::mcp) async fn token(&self) -> Option<Shown> {
        match self.way.as_ref().ok()? {
            Kept::Visited(grant) => {
                let (text, is_bound) = grant.token().await?;
                Some(Shown { text, is_bound })
            }
            Kept::Unattended(grant) => {
                let token = grant.token().await?;
                Some(Shown { text: token.text, is_bound: token.is_bound })
            }
        }
    }

    /// Logs in, or waits for whoever does.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(in crate::mcp) async fn log_in(&self, challenge: Challenge) -> Result<(), String> {
        match self.way.as_ref().map_err(Clone::clone)? {
            Kept::Visited(grant) => grant.log_in(challenge).await,
            Kept::Unattended(grant) => grant.log_in(challenge).await,
        }
    }

    /// The server took the token that it was shown.
    pub(in crate::mcp) fn accept(&self) {
        if let Ok(Kept::Unattended(grant)) = &self.way {
            grant.accept();
        }
    }

    fn http(&self) -> Option<&Arc<OAuthHttp>> {
        Some(match self.way.as_ref().ok()? {
            Kept::Visited(grant) => grant.http(),
            Kept::Unattended(grant) => grant.http(),
        })
    }

    /// How a token is sent with one request: by itself, or as headers with a proof, added to `headers`.
    pub(in crate::mcp) fn show(
        &self,
        shown: Option<&Shown>,
        (method, url): (&str, &str),
        mut headers: Headers,
    ) -> (Option<String>, Headers) {
        match shown {
            // Without a proof it is of no use, and it is never sent as one that needs none.
            Some(shown) if shown.is_bound => {
                headers.extend(self.proof(&shown.text, method, url).unwrap_or_default());
                (None, headers)
            }
            Some(shown) => (Some(shown.text.clone()), headers),
            None => (None, headers),
        }
    }

    fn proof(&self, token: &str, method: &str, url: &str) -> Option<Headers> {
        let url = Url::parse(url).ok()?;
        let proof = self.http()?.dpop.proof(Asker::McpServer, method, &url, Some(token)).ok()?;
        let mut token = HeaderValue::try_from(format!("DPoP {token}")).ok()?;
        token.set_sensitive(true);
        let proof = HeaderValue::try_from(proof).ok()?;
        let names = ["authorization", "dpop"].map(reqwest::header::HeaderName::from_static);
        Some(names.into_iter().zip([token, proof]).collect())
    }

    /// Asks the server for the nonce that it wants in proofs, by a message that it cannot act on: the library that sent
    /// the one that was refused does not tell.
    pub(in crate::mcp) async fn ask_for_nonce(
        &self,
        client: &reqwest::Client,
        url: &str,
        shown: &Shown,
        headers: Headers,
    ) -> bool {
        let (Ok(parsed), Some(http)) = (Url::parse(url), self.http()) else { return false };
        let (_, headers) = self.show(Some(shown), ("POST", url), headers);
        let asking = client
            .post(parsed.clone())
            .headers(headers.into_iter().collect())
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        let Ok(answer) = asking.body("{}").send().await else { return false };
        let nonce = answer.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            http.dpop.note_nonce(Asker::McpServer, &parsed, nonce);
        }
        nonce.is_some()
    }
}
