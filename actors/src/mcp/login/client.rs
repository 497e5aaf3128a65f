//! How a client shows an authorization server who it is.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    discovery::Issuer,
    form::{Form, form_encoded},
    secret::McpSecret,
    signing_key::{McpSigningKey, now, unique},
};

/// How long an assertion is good for, in seconds: as long as clocks may differ.
const ASSERTION_S: u64 = 300;

/// A client that an authorization server knows.
#[derive(Clone, PartialEq)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) proof: Proof,
}

/// How it shows that it is itself.
#[derive(Clone, PartialEq)]
pub(super) enum Proof {
    /// Not at all: what it asks with says enough.
    Nothing,
    /// `client_secret_basic`, or `client_secret_post` where that alone is taken (RFC 6749, 2.3.1).
    Secret(McpSecret),
    /// `private_key_jwt` (RFC 7523).
    Key(McpSigningKey),
}

impl Client {
    /// Adds to `form` what shows `issuer` who asks; the value of an `Authorization` header, where that says it.
    ///
    /// # Errors
    /// When the authorization server takes nothing that the client has. In words, fit for a model.
    pub(super) async fn show(&self, issuer: &Issuer, form: &mut Form) -> Result<Option<String>, String> {
        let takes = |method: &str| {
            let methods = issuer.methods.as_deref();
            methods.is_none_or(|methods| methods.iter().any(|one| one == method))
        };
        match &self.proof {
            Proof::Nothing => form.add("client_id", &self.id),
            Proof::Secret(secret) => {
                let is_basic = takes("client_secret_basic");
                if !is_basic && !takes("client_secret_post") {
                    return Err(
                        "its authorization server takes no client secret; give a private key".to_owned()
                    );
                }
                let secret = secret.read("the client secret").await?;
                form.hide(&secret);
                if is_basic {
                    // Each is encoded as in a form before they are joined (RFC 6749, 2.3.1).
                    let both = format!("{}:{}", form_encoded(&self.id), form_encoded(&secret));
                    let both = BASE64_STANDARD.encode(both);
                    form.hide(&both);
                    return Ok(Some(format!("Basic {both}")));
                }
                form.add("client_id", &self.id);
                form.add("client_secret", &secret);
            }
            Proof::Key(key) => {
                if !takes("private_key_jwt") {
                    return Err(
                        "its authorization server takes no private key; give a client secret".to_owned()
                    );
                }
                let (id, time) = (&self.id, now());
                let claims = json!({
                    "iss": id, "sub": id, "aud": issuer.name, "iat": time, "exp": time.saturating_add(ASSERTION_S),
                    "jti": unique()?,
                });
                let assertion = key.jwt("client-authentication+jwt", &claims)?;
                form.hide(&assertion);
                form.add("client_id", id);
                form.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                form.add("client_assertion", &assertion);
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}
