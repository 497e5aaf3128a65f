//! Logging in at servers that are reached by HTTP and want to know who is asking.

mod challenge;
mod client;
mod code_grant;
mod discovery;
pub(super) mod dpop;
mod form;
mod grant;
mod id_jag;
mod identity;
mod oauth_http;
mod reachable;
mod refusal;
mod secret;
mod signing_key;
mod terms;
mod token_endpoint;
mod unattended;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use rmcp::transport::auth::EXTENSION_OAUTH_CLIENT_CREDENTIALS;

pub(super) use self::{challenge::Challenge, identity::Identity};
use self::{
    client::{Client, Proof},
    code_grant::Visiting,
    grant::Grant,
    identity::Way,
    terms::Terms,
};
pub use self::{
    id_jag::IdentityProvider,
    secret::McpSecret,
    signing_key::{McpSigningAlgorithm, McpSigningKey},
};

/// How to log in at a server, by OAuth: somebody opens a browser ([`new`](Self::new)), or nobody is needed
/// ([`client_credentials`](Self::client_credentials) and the constructors after it). Tokens are kept in memory, for all
/// connections to the server, and renewed before they end. Without effect where a header `authorization` is sent.
#[derive(Clone)]
pub struct McpLogin {
    way: Way,
    terms: Terms,
    /// Who we are at each address, for those who need nobody: one token for all connections.
    shared: Arc<Mutex<HashMap<String, Weak<Identity>>>>,
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
        let visiting = Visiting {
            visit: Arc::new(move |url| Box::pin(visit(url))),
            redirect_uri: redirect_uri.into(),
            client: None,
            client_metadata_url: None,
        };
        Self::by(Way::Visit(visiting), Duration::from_mins(5))
    }

    /// Logs in as a client that the authorization server knows, with its secret (client credentials, RFC 6749, 4.4).
    /// The secret goes as the authorization server takes it, by `client_secret_basic` where it takes both.
    pub fn client_credentials(client_id: impl Into<String>, secret: McpSecret) -> Self {
        Self::unattended(Grant::ClientCredentials, client_id.into(), Proof::Secret(secret))
    }

    /// Logs in as a client that the authorization server knows, with its private key (client credentials with
    /// `private_key_jwt`, RFC 7523): the key itself is never sent.
    pub fn client_credentials_with_key(client_id: impl Into<String>, key: McpSigningKey) -> Self {
        Self::unattended(Grant::ClientCredentials, client_id.into(), Proof::Key(key))
    }

    /// Logs in with a token of another issuer that the authorization server trusts (JWT bearer grant, RFC 7523), such as
    /// the one that a cloud or a cluster gives each workload. Its audience must be the authorization server.
    pub fn jwt_bearer(client_id: impl Into<String>, assertion: McpSecret) -> Self {
        Self::unattended(Grant::JwtBearer(assertion), client_id.into(), Proof::Nothing)
    }

    /// Logs in for somebody who is logged in at an identity provider that the authorization server trusts (cross-app
    /// access: an identity assertion, ID-JAG). `secret` is that of this client at the authorization server.
    pub fn cross_app_access(
        provider: IdentityProvider,
        client_id: impl Into<String>,
        secret: McpSecret,
    ) -> Self {
        Self::unattended(Grant::IdJag(provider), client_id.into(), Proof::Secret(secret))
    }

    /// As [`cross_app_access`](Self::cross_app_access), with the client's private key.
    pub fn cross_app_access_with_key(
        provider: IdentityProvider,
        client_id: impl Into<String>,
        key: McpSigningKey,
    ) -> Self {
        Self::unattended(Grant::IdJag(provider), client_id.into(), Proof::Key(key))
    }

    fn unattended(grant: Grant, id: String, proof: Proof) -> Self {
        Self::by(Way::Unattended(grant, Client { id, proof }), Duration::from_secs(30))
    }

    fn by(way: Way, patience: Duration) -> Self {
        let terms = Terms { scopes: Vec::new(), requires_dpop: false, private_addresses: false, patience };
        Self { way, terms, shared: Arc::default() }
    }

    /// Sets the id, and perhaps the secret, under which the authorization server knows this client, where somebody logs
    /// in. Default: the document of [`client_metadata_url`](Self::client_metadata_url), else the client registers itself.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        if let Way::Visit(visiting) = &mut self.way {
            visiting.client = Some((id.into(), secret));
        }
        self
    }

    /// Sets the address of a document about this client, for authorization servers that read one, where somebody logs
    /// in. Default: none.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        if let Way::Visit(visiting) = &mut self.way {
            visiting.client_metadata_url = Some(url.into());
        }
        self
    }

    /// Sets what is asked for. Default: what the server says is needed.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.terms.scopes = scopes.into_iter().map(Into::into).collect();
        self.apart()
    }

    /// Sets whether a token is refused that is not bound to a key of this process (`DPoP`, RFC 9449), so that a stolen one
    /// is of no use. Default false: tokens are bound where the server offers it.
    #[must_use]
    pub fn require_dpop(mut self, require: bool) -> Self {
        self.terms.requires_dpop = require;
        self.apart()
    }

    /// Sets whether authorization servers that a server names may have addresses of private networks, such as 10.0.0.9.
    /// Default false, unless the server's own URL has one: a server must not make this process ask what lies inside its
    /// network.
    #[must_use]
    pub fn private_addresses(mut self, allow: bool) -> Self {
        self.terms.private_addresses = allow;
        self.apart()
    }

    /// Sets how long logging in may take. Default 5 min where somebody types a password, 30 s where nobody does.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.terms.patience = patience;
        self.apart()
    }

    /// What is set on a clone is not that of the others.
    fn apart(mut self) -> Self {
        self.shared = Arc::default();
        self
    }

    /// The extension of the protocol that this way of logging in is, for servers that want to know.
    pub(super) fn extension(&self) -> Option<&'static str> {
        match &self.way {
            Way::Unattended(Grant::ClientCredentials, _) => Some(EXTENSION_OAUTH_CLIENT_CREDENTIALS),
            Way::Unattended(Grant::IdJag(_), _) => {
                Some("io.modelcontextprotocol/enterprise-managed-authorization")
            }
            _ => None,
        }
    }

    /// Who we are at `url`. People log in for each connection that is a caller's own; programs are one and the same.
    pub(super) fn identity(&self, url: &str) -> Arc<Identity> {
        if let Way::Visit(_) = &self.way {
            return Arc::new(Identity::new(self.way.clone(), self.terms.clone(), url));
        }
        let mut shared = self.shared.lock();
        if let Some(identity) = shared.get(url).and_then(Weak::upgrade) {
            return identity;
        }
        let identity = Arc::new(Identity::new(self.way.clone(), self.terms.clone(), url));
        shared.retain(|_, identity| identity.strong_count() > 0);
        shared.insert(url.to_owned(), Arc::downgrade(&identity));
        identity
    }
}

/// Shows no secret, and nothing that may hold one.
impl fmt::Debug for McpLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("McpLogin");
        match &self.way {
            Way::Visit(visiting) => shown.field("redirect_uri", &visiting.redirect_uri),
            Way::Unattended(_, client) => shown.field("client_id", &client.id),
        };
        shown.field("scopes", &self.terms.scopes).finish_non_exhaustive()
    }
}

/// Two are the same when they log in the same way.
impl PartialEq for McpLogin {
    fn eq(&self, other: &Self) -> bool {
        (&self.way, &self.terms) == (&other.way, &other.terms)
    }
}
