//! Where a server says that tokens come from (RFC 9728, RFC 8414).

use std::sync::Arc;

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager};
use serde_json::Value;

use super::{oauth_http::OAuthHttp, reachable::is_loopback};

/// An authorization server.
#[derive(Debug)]
pub(super) struct Issuer {
    /// Its name.
    pub(super) name: String,
    /// Where it gives tokens.
    pub(super) token_endpoint: Url,
    /// How clients may show who they are; `None`: it does not say.
    pub(super) methods: Option<Vec<String>>,
}

/// What is known about the tokens of an MCP server.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) issuer: Issuer,
    /// The server's own name, for which tokens are (RFC 8707).
    pub(super) resource: String,
    /// What it says is needed.
    pub(super) scopes: Vec<String>,
}

/// Looks for the authorization server of the MCP server at `url`.
///
/// # Errors
/// In words, fit for a model: without addresses, which may hold secrets.
pub(super) async fn discover(
    http: &Arc<OAuthHttp>,
    url: &Url,
    challenge: Option<&str>,
) -> Result<Discovered, String> {
    let manager = AuthorizationManager::new_with_oauth_http_client(url.as_str(), http.clone()).await;
    let manager = manager.map_err(|error| in_words(&error))?;
    // What an earlier search has seen is not this one's.
    http.take_resource();
    let found = manager.resolve_metadata_from_challenge(challenge).await;
    let found = found.map_err(|error| in_words(&error))?;
    if !found.source.is_discovered() {
        return Err("it does not say where its authorization server is".to_owned());
    }
    let metadata = found.metadata;
    let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported");
    let issuer = Issuer::new(metadata.issuer, &metadata.token_endpoint, methods, url)?;
    let resource = http.take_resource().unwrap_or_else(|| url.to_string());
    Ok(Discovered { issuer, resource, scopes: manager.select_initial_scopes(&[]).await })
}

impl Issuer {
    fn new(
        name: Option<String>,
        token_endpoint: &str,
        methods: Option<&Value>,
        asked_by: &Url,
    ) -> Result<Self, String> {
        let name = name.ok_or("its authorization server does not say its name")?;
        let fits = |url: &str| Url::parse(url).ok().filter(|url| fit_for_secrets(url, asked_by));
        if fits(&name).is_none() {
            return Err("its authorization server is not reached by https".to_owned());
        }
        let token_endpoint =
            fits(token_endpoint).ok_or("its authorization server does not give tokens by https")?;
        let methods = methods.and_then(Value::as_array).map(|methods| {
            methods.iter().filter_map(|method| Some(method.as_str()?.to_owned())).collect::<Vec<_>>()
        });
        Ok(Self { name, token_endpoint, methods })
    }

    /// Looks for an issuer that the operator named.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) async fn named(name: &str, http: &OAuthHttp) -> Result<Self, String> {
        let url = Url::parse(name).map_err(|_| "the identity provider's issuer is no URL".to_owned())?;
        if !fit_for_secrets(&url, &url) {
            return Err("the identity provider's issuer is not reached by https".to_owned());
        }
        for place in places(&url) {
            let read = http.get(&place).await.map_err(|error| {
                tracing::warn!(%error, "identity provider");
                "the identity provider cannot be reached".to_owned()
            })?;
            let Ok(found) = serde_json::from_slice::<Value>(&read.body) else { continue };
            let (Some(issuer), Some(endpoint), 200) =
                (found["issuer"].as_str(), found["token_endpoint"].as_str(), read.status)
            else {
                continue;
            };
            if issuer != name {
                return Err("the identity provider says that it is another issuer".to_owned());
            }
            let methods = found.get("token_endpoint_auth_methods_supported");
            return Self::new(Some(name.to_owned()), endpoint, methods, &url);
        }
        Err("the identity provider does not say where it gives tokens".to_owned())
    }
}

/// Where the metadata of an issuer may be.
fn places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    let mut places = vec![
        at(format!("{path}/.well-known/openid-configuration")),
        at(format!("/.well-known/oauth-authorization-server{path}")),
    ];
    if !path.is_empty() {
        places.push(at(format!("/.well-known/openid-configuration{path}")));
    }
    places
}

/// Whether secrets may be sent to `url` for the sake of a server at `asked_by`: encrypted, or within this machine.
fn fit_for_secrets(url: &Url, asked_by: &Url) -> bool {
    let is_secure =
        url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url) && is_loopback(asked_by));
    is_secure
        && url.host_str().is_some()
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
}

/// Says why, without addresses, which may hold secrets; those are logged.
pub(super) fn in_words(error: &AuthError) -> String {
    tracing::warn!(%error, "MCP login");
    let words = match error {
        AuthError::DiscoveryRequestFailed { .. } => "its authorization server cannot be reached",
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            "what it says about its authorization server is not about this address"
        }
        AuthError::AuthorizationServersUnavailable { .. } => {
            "none of the authorization servers that it names says how to get tokens"
        }
        AuthError::AuthorizationServerMismatch { .. } => {
            "its authorization server says that it is another issuer"
        }
        AuthError::AuthorizationServerMissingIssuer { .. } => {
            "its authorization server does not say its name"
        }
        AuthError::NoAuthorizationSupport => "it does not say where its authorization server is",
        _ => "logging in at it failed",
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_encrypted_or_stay_within_this_machine() {
        let fits = |url: &str, by: &str| fit_for_secrets(&Url::parse(url).unwrap(), &Url::parse(by).unwrap());
        assert!(fits("https://as/token", "http://mcp/mcp"));
        assert!(fits("http://localhost:1/token", "http://127.0.0.1:2/mcp"));
        for (url, by) in [
            ("http://as/token", "https://mcp/mcp"),
            ("http://localhost/token", "https://mcp/mcp"),
            ("https://user:word@as/token", "https://mcp/mcp"),
            ("https://as/token#part", "https://mcp/mcp"),
            ("file:///token", "http://localhost/"),
        ] {
            assert!(!fits(url, by), "{url}");
        }
    }

    #[test]
    fn metadata_are_where_both_standards_put_them() {
        let places = |issuer: &str| -> Vec<String> {
            places(&Url::parse(issuer).unwrap()).iter().map(Url::to_string).collect()
        };
        assert_eq!(
            places("https://i/"),
            [
                "https://i/.well-known/openid-configuration",
                "https://i/.well-known/oauth-authorization-server"
            ]
        );
        assert_eq!(
            places("https://i/a/b"),
            [
                "https://i/a/b/.well-known/openid-configuration",
                "https://i/.well-known/oauth-authorization-server/a/b",
                "https://i/.well-known/openid-configuration/a/b",
            ]
        );
    }
}
