//! Identity assertions for authorization servers (ID-JAG): an identity provider exchanges the token of a login for one
//! (RFC 8693), so that people who are logged in at their company need not log in at each server.

use reqwest::Url;
use serde_json::Value;

use super::{
    client::{Client, Proof},
    discovery::{Discovered, Issuer},
    form::Form,
    oauth_http::OAuthHttp,
    refusal::NoToken,
    secret::McpSecret,
    signing_key::{McpSigningKey, now, read_jwt},
    token_endpoint::ask,
};

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// How far the clock of an identity provider may be ahead, in seconds.
const CLOCKS_S: u64 = 60;

/// An identity provider at which somebody is logged in, and who we are there.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentityProvider {
    issuer: String,
    client: Client,
    id_token: McpSecret,
}

impl IdentityProvider {
    /// Starts with the provider's issuer, an `https` URL by which its metadata are found, the id of the client that the
    /// login was for, and the ID token of that login. Such tokens end, so it is one that is
    /// [asked for](McpSecret::ask) or is [in a file](McpSecret::file), where the program runs for long.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, id_token: McpSecret) -> Self {
        let client = Client { id: client_id.into(), proof: Proof::Nothing };
        Self { issuer: issuer.into(), client, id_token }
    }

    /// Sets the client's secret at the provider. Default: none.
    #[must_use]
    pub fn client_secret(mut self, secret: McpSecret) -> Self {
        self.client.proof = Proof::Secret(secret);
        self
    }

    /// Sets the client's private key at the provider. Default: none.
    #[must_use]
    pub fn private_key(mut self, key: McpSigningKey) -> Self {
        self.client.proof = Proof::Key(key);
        self
    }
}

/// The way to an identity provider.
pub(super) struct Idp {
    http: OAuthHttp,
}

impl Idp {
    /// # Errors
    /// In words, fit for a model.
    pub(super) fn new(provider: &IdentityProvider, private: bool) -> Result<Self, String> {
        let url = Url::parse(&provider.issuer).map_err(|_| "the identity provider's issuer is no URL")?;
        Ok(Self { http: OAuthHttp::new(&url, private, true) })
    }

    /// Gets an assertion for `client` at the authorization server that was found.
    pub(super) async fn assertion(
        &self,
        provider: &IdentityProvider,
        client: &Client,
        found: &Discovered,
        scopes: &[String],
    ) -> Result<String, NoToken> {
        if provider.issuer == found.issuer.name {
            return Err("the identity provider is the server's authorization server itself"
                .to_owned()
                .into());
        }
        let issuer = Issuer::named(&provider.issuer, &self.http).await?;
        let id_token = provider.id_token.read("the ID token").await?;
        let mut form = Form::new("urn:ietf:params:oauth:grant-type:token-exchange");
        form.hide(&id_token);
        form.add("requested_token_type", ID_JAG);
        form.add("subject_token", &id_token);
        form.add("subject_token_type", "urn:ietf:params:oauth:token-type:id_token");
        form.add("audience", &found.issuer.name);
        form.add("resource", &found.resource);
        form.add_scopes(scopes);
        let given = ask(&self.http, &issuer, &provider.client, form).await;
        let given = given.map_err(|error| NoToken {
            reason: error.reason.replacen("the authorization server", "the identity provider", 1),
            ..error
        })?;
        if given.issued_token_type.as_deref() != Some(ID_JAG)
            || !is_for(&given.access_token, &issuer.name, client, found)
        {
            let reason = "the identity provider gave an assertion that is not for this client and server";
            return Err(reason.to_owned().into());
        }
        Ok(given.access_token)
    }
}

/// Whether an assertion is what was asked for. Its signature is the authorization server's to check; it came over the
/// provider's own connection.
fn is_for(assertion: &str, issuer: &str, client: &Client, found: &Discovered) -> bool {
    let Some((header, claims)) = read_jwt(assertion) else { return false };
    let is = |claim: &Value, text: &str| match claim {
        Value::String(one) => one == text,
        Value::Array(many) => matches!(many.as_slice(), [Value::String(one)] if one == text),
        _ => false,
    };
    let signed = header["alg"].as_str().is_some_and(|name| !name.eq_ignore_ascii_case("none"));
    signed
        && header["typ"] == "oauth-id-jag+jwt"
        && is(&claims["iss"], issuer)
        && is(&claims["aud"], &found.issuer.name)
        && is(&claims["client_id"], &client.id)
        && claims.get("resource").is_none_or(|resource| is(resource, &found.resource))
        && claims["exp"].as_u64().is_some_and(|end| end > now())
        && claims["iat"].as_u64().is_none_or(|begun| begun <= now().saturating_add(CLOCKS_S))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::signing_key::jwt, *};

    #[test]
    fn an_assertion_for_somebody_else_is_not_taken() {
        let client = Client { id: "client".to_owned(), proof: Proof::Nothing };
        let token_endpoint = Url::parse("https://as/token").unwrap();
        let issuer = Issuer { name: "https://as".to_owned(), token_endpoint, methods: None };
        let found = Discovered { issuer, resource: "https://mcp/mcp".to_owned(), scopes: Vec::new() };
        let made = |change: &dyn Fn(&mut Value, &mut Value)| {
            let mut header = json!({"alg": "ES256", "typ": "oauth-id-jag+jwt"});
            let mut claims = json!({
                "iss": "https://idp", "aud": "https://as", "client_id": "client", "resource": "https://mcp/mcp",
                "exp": now() + 60, "iat": now(),
            });
            change(&mut header, &mut claims);
            let token = jwt(&header, &claims, |_| Some(vec![1])).unwrap();
            is_for(&token, "https://idp", &client, &found)
        };
        assert!(made(&|_, _| {}));
        assert!(made(&|_, claims| claims["aud"] = json!(["https://as"])));
        assert!(made(&|_, claims| drop(claims.as_object_mut().unwrap().remove("resource"))));
        for (claim, value) in [
            ("iss", json!("https://other")),
            ("aud", json!("https://other")),
            ("aud", json!(["https://as", "https://other"])),
            ("client_id", json!("other")),
            ("resource", json!("https://mcp/other")),
            ("resource", json!(null)),
            ("exp", json!(now() - 1)),
            ("iat", json!(now() + 600)),
        ] {
            assert!(!made(&|_, claims| claims[claim] = value.clone()), "{claim}");
        }
        assert!(!made(&|header, _| header["alg"] = json!("none")));
        assert!(!made(&|header, _| header["typ"] = json!("JWT")));
        assert!(!is_for("a.b", "https://idp", &client, &found));
    }
}
