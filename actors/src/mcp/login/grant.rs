//! The ways to a token that need nobody.

use std::sync::Arc;

use super::{
    client::Client,
    discovery::Discovered,
    form::Form,
    id_jag::{IdentityProvider, Idp},
    oauth_http::OAuthHttp,
    refusal::NoToken,
    secret::McpSecret,
    token_endpoint::{Token, ask},
};

/// What is shown to the authorization server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Grant {
    /// The client is itself the one that may (RFC 6749, 4.4).
    ClientCredentials,
    /// A token that says who the client is, of an issuer that the authorization server trusts (RFC 7523, 2.1): workload
    /// identity federation.
    JwtBearer(McpSecret),
    /// A token of an identity provider, exchanged there for one that the authorization server takes: cross-app access.
    IdJag(IdentityProvider),
}

/// Gets a token.
///
/// # Errors
/// When there is none; without secrets.
pub(super) async fn obtain(
    grant: &Grant,
    client: &Client,
    idp: Option<&Arc<Idp>>,
    http: &OAuthHttp,
    found: &Discovered,
    scopes: &[String],
) -> Result<Token, NoToken> {
    let form = match (grant, idp) {
        (Grant::ClientCredentials, _) => {
            let mut form = Form::new("client_credentials");
            form.add_scopes(scopes);
            form.add("resource", &found.resource);
            form
        }
        (Grant::JwtBearer(assertion), _) => {
            let assertion = assertion.read("the assertion").await?;
            let mut form = jwt_bearer(&assertion);
            form.add_scopes(scopes);
            form.add("resource", &found.resource);
            form
        }
        (Grant::IdJag(named), Some(idp)) => {
            let assertion = idp.assertion(named, client, found, scopes).await?;
            // It says for what it is; to say more could ask for more.
            jwt_bearer(&assertion)
        }
        (Grant::IdJag(_), None) => return Err("there is no identity provider".to_owned().into()),
    };
    ask(http, &found.issuer, client, form).await?.token()
}

fn jwt_bearer(assertion: &str) -> Form {
    let mut form = Form::new("urn:ietf:params:oauth:grant-type:jwt-bearer");
    form.hide(assertion);
    form.add("assertion", assertion);
    form
}
