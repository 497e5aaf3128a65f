//! Requests for tokens, and what comes back.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    client::Client,
    discovery::Issuer,
    form::Form,
    oauth_http::OAuthHttp,
    refusal::{NoToken, refusal},
};
use crate::moment;

/// How long before its end a token is renewed, at most: as long as a request may be on its way.
const EARLY: Duration = Duration::from_secs(30);

/// A token, and until when it is good.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: String,
    /// It is bound to our key.
    pub(super) is_bound: bool,
    /// When it ends, and when it is to be renewed; `None`: when the server takes it no more.
    ends: Option<(Instant, Instant)>,
}

impl Token {
    fn new(text: String, is_bound: bool, lasts: Option<Duration>) -> Self {
        let ends = lasts.map(|lasts| {
            let early = EARLY.min(lasts.checked_div(2).unwrap_or_default());
            (moment::from_now(lasts), moment::from_now(lasts.saturating_sub(early)))
        });
        Self { text, is_bound, ends }
    }

    #[cfg(test)]
    pub(super) fn lasting(text: &str) -> Self {
        Self::new(text.to_owned(), false, None)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ends.is_some_and(|(end, _)| Instant::now() >= end)
    }

    pub(super) fn is_to_be_renewed(&self) -> bool {
        self.ends.is_some_and(|(_, early)| Instant::now() >= early)
    }
}

/// What an authorization server gives, as RFC 6749 and RFC 8693 have it.
#[derive(Deserialize)]
pub(super) struct Given {
    pub(super) access_token: String,
    pub(super) token_type: String,
    expires_in: Option<Value>,
    pub(super) issued_token_type: Option<String>,
}

impl Given {
    /// A token for an MCP server.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub(super) fn token(self) -> Result<Token, NoToken> {
        let is_bound = self.token_type.eq_ignore_ascii_case("dpop");
        if !is_bound && !self.token_type.eq_ignore_ascii_case("bearer") {
            return Err("its authorization server gave a token of an unknown type".to_owned().into());
        }
        if self.access_token.is_empty() || !self.access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("its authorization server gave a token that cannot be sent".to_owned().into());
        }
        // A number; some write it as a text.
        let seconds = self.expires_in.and_then(|lasts| match lasts {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        });
        Ok(Token::new(self.access_token, is_bound, seconds.map(Duration::from_secs)))
    }
}

/// Asks an authorization server.
///
/// # Errors
/// When it cannot be reached or refuses. Without secrets.
pub(super) async fn ask(
    http: &OAuthHttp,
    issuer: &Issuer,
    client: &Client,
    mut form: Form,
) -> Result<Given, NoToken> {
    let authorization = client.show(issuer, &mut form).await?;
    let answer = http.post_form(&issuer.token_endpoint, form.text(), authorization).await;
    let answer = answer.map_err(|error| {
        // The library's words have the address, which is the authorization server's own.
        tracing::warn!(error = form.without_secrets(error.to_string()), "asking for a token");
        "the authorization server cannot be reached".to_owned()
    })?;
    if answer.status >= 300 {
        let body = serde_json::from_slice(&answer.body).unwrap_or_default();
        let refused = refusal(answer.status, &body);
        return Err(NoToken { reason: form.without_secrets(refused.reason), ..refused });
    }
    let unreadable = |_| "the authorization server's answer is no token".to_owned();
    Ok(serde_json::from_slice(&answer.body).map_err(unreadable)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_it_ends_and_a_short_one_after_half_its_time() {
        let given = |lasts: Value| Given {
            access_token: "t".to_owned(),
            token_type: "Bearer".to_owned(),
            expires_in: Some(lasts),
            issued_token_type: None,
        };
        for (lasts, renewed, ends) in [(json!(3600), 3570, 3600), (json!("10"), 5, 10)] {
            let token = given(lasts).token().unwrap();
            let begun = Instant::now();
            let at = |second: u64| {
                tokio::time::advance(Duration::from_secs(second).saturating_sub(begun.elapsed()))
            };
            at(renewed - 1).await;
            assert!(!token.is_to_be_renewed());
            at(renewed).await;
            assert!(token.is_to_be_renewed() && !token.has_ended());
            at(ends).await;
            assert!(token.has_ended());
        }
        assert!(!given(json!(u64::MAX)).token().unwrap().is_to_be_renewed());
        assert!(!given(json!(null)).token().unwrap().has_ended());
        for (text, kind) in [("", "bearer"), ("a b", "bearer"), ("t", "mac")] {
            let given =
                Given { access_token: text.to_owned(), token_type: kind.to_owned(), ..given(json!(1)) };
            assert!(given.token().is_err());
        }
    }
}
