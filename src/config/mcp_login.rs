//! `[mcp.servers.NAME.login]`: how the program logs in at a server, without people.

use std::{
    fmt,
    fs::{self, File},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_actors::mcp::{
    IdentityProvider, McpLink, McpLogin, McpSecret, McpSigningAlgorithm, McpSigningKey,
};

use super::{seconds::Seconds, whole};

/// How tokens are got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoginGrant {
    /// The client itself may (RFC 6749, 4.4): it has a secret or a private key.
    #[default]
    ClientCredentials,
    /// By a token of another issuer, as workloads have (RFC 7523): it has an assertion.
    JwtBearer,
    /// For somebody who is logged in at an identity provider (cross-app access, ID-JAG).
    CrossAppAccess,
}

/// `[mcp.servers.NAME.login]`. Secrets are in variables of the environment or in files, never in this file. A file is read
/// whenever its secret is needed, but for private keys; a relative path starts at the folder of the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoginSection {
    /// `client_credentials`, `jwt_bearer` or `cross_app_access`. Default `client_credentials`.
    pub grant: LoginGrant,
    /// The id under which the authorization server knows the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The variable that has the client's secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<String>,
    /// The variable that has the client's private key, in place of a secret: PKCS #8 as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_env: Option<String>,
    /// The file that has it; read when the configuration is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<String>,
    /// How the key signs: `ES256`, `ES384`, `RS256`, `RS384`, `RS512` or `EdDSA`. Default: the key's own; for RSA, `RS256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<McpSigningAlgorithm>,
    /// The name under which the authorization server knows the key. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The variable that has the assertion of `jwt_bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion_env: Option<String>,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion_file: Option<String>,
    /// The identity provider of `cross_app_access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<IdentityProviderSection>,
    /// What is asked for. Default: what the server says is needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Refuses tokens that are not bound to a key of this process (`DPoP`). Default false: they are where the server offers it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_dpop: bool,
    /// Lets the server name authorization servers in private networks. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private_addresses: bool,
    /// How long getting a token may take, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
}

/// `[mcp.servers.NAME.login.identity_provider]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct IdentityProviderSection {
    /// Its issuer, an `https` URL by which its metadata are found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The id of the client that the login there was for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The variable that has this client's secret there. Default: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<String>,
    /// The variable that has the ID token of the login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token_env: Option<String>,
    /// The file that has it; somebody renews it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token_file: Option<String>,
}

/// What is wrong with a login, by its key.
#[derive(Debug)]
pub(crate) struct BadKey {
    key: String,
    reason: String,
}

impl BadKey {
    fn new(key: &str, reason: impl Into<String>) -> Self {
        Self { key: format!("login.{key}"), reason: reason.into() }
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key.trim_end_matches('.'), self.reason)
    }
}

impl LoginSection {
    /// Reads one whose keys are written as desktop clients write theirs (`clientId`).
    pub(crate) fn from_camel_case(written: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(in_snake_case(written))
    }

    /// Lets relative paths start at `folder`.
    pub(super) fn start_at(&mut self, folder: &Path) {
        let Self { client_secret_file, private_key_file, assertion_file, identity_provider, .. } = self;
        let others = identity_provider
            .iter_mut()
            .flat_map(|idp| [&mut idp.client_secret_file, &mut idp.id_token_file]);
        for path in [client_secret_file, private_key_file, assertion_file].into_iter().chain(others).flatten()
        {
            *path = whole(folder, &*path).to_string_lossy().into_owned();
        }
    }

    /// The login at a server that is reached by `link`, with secrets as `variable` knows them.
    pub(crate) fn login(
        &self,
        link: &McpLink,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<McpLogin, BadKey> {
        match link {
            McpLink::Http { headers, .. } => {
                if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
                    let both =
                        "the header \"authorization\" says already who is asking: take one of them out";
                    return Err(BadKey::new("", both));
                }
            }
            _ => return Err(BadKey::new("", "only servers that are reached by streamable HTTP have logins")),
        }
        let id = self.client_id.clone().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| BadKey::new("client_id", "it is needed"))?;
        let secret = Place("", "client_secret", &self.client_secret_env, &self.client_secret_file);
        let secret = secret.secret(variable)?;
        let key = self.key(variable)?;
        let assertion = Place("", "assertion", &self.assertion_env, &self.assertion_file).secret(variable)?;
        let of_another =
            |key: &str, grant: &str| BadKey::new(key, format!("it is for grant = \"{grant}\" alone"));
        if assertion.is_some() && self.grant != LoginGrant::JwtBearer {
            return Err(of_another("assertion_env", "jwt_bearer"));
        }
        if self.identity_provider.is_some() && self.grant != LoginGrant::CrossAppAccess {
            return Err(of_another("identity_provider", "cross_app_access"));
        }
        let neither =
            || BadKey::new("client_secret_env", "it is needed, or client_secret_file, or private_key_file");
        let login = match (self.grant, secret, key) {
            (_, Some(_), Some(_)) => {
                return Err(BadKey::new(
                    "private_key_file",
                    "there is a client secret too: take one of them out",
                ));
            }
            (LoginGrant::JwtBearer, None, None) => {
                let needed = || BadKey::new("assertion_file", "it is needed, or assertion_env");
                McpLogin::jwt_bearer(id, assertion.ok_or_else(needed)?)
            }
            (LoginGrant::JwtBearer, ..) => {
                return Err(BadKey::new(
                    "client_secret_env",
                    "the assertion is all that grant = \"jwt_bearer\" shows",
                ));
            }
            (_, None, None) => return Err(neither()),
            (LoginGrant::ClientCredentials, Some(secret), None) => McpLogin::client_credentials(id, secret),
            (LoginGrant::ClientCredentials, None, Some(key)) => {
                McpLogin::client_credentials_with_key(id, key)
            }
            (LoginGrant::CrossAppAccess, secret, key) => {
                let provider = self.identity_provider.as_ref();
                let provider = provider.ok_or_else(|| BadKey::new("identity_provider", "it is needed"))?;
                let provider = provider.provider(variable)?;
                match (secret, key) {
                    (Some(secret), _) => McpLogin::cross_app_access(provider, id, secret),
                    (None, Some(key)) => McpLogin::cross_app_access_with_key(provider, id, key),
                    (None, None) => return Err(neither()),
                }
            }
        };
        let login = login
            .scopes(self.scopes.clone())
            .require_dpop(self.require_dpop)
            .private_addresses(self.private_addresses);
        Ok(match self.timeout_s {
            Some(seconds) => login.patience(seconds.0),
            None => login,
        })
    }

    fn key(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<McpSigningKey>, BadKey> {
        let place = Place("", "private_key", &self.private_key_env, &self.private_key_file);
        let Some((key, pem)) = place.text(variable)? else {
            return match (&self.algorithm, &self.key_id) {
                (None, None) => Ok(None),
                _ => Err(BadKey::new("private_key_file", "it is needed for algorithm and key_id")),
            };
        };
        let read =
            McpSigningKey::from_pem(pem, self.algorithm).map_err(|reason| BadKey::new(&key, reason))?;
        Ok(Some(match &self.key_id {
            Some(id) => read.key_id(id),
            None => read,
        }))
    }
}

impl IdentityProviderSection {
    fn provider(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<IdentityProvider, BadKey> {
        let needed = |key: &str, value: &Option<String>| {
            let value = value.clone().filter(|value| !value.is_empty());
            value.ok_or_else(|| BadKey::new(&format!("identity_provider.{key}"), "it is needed"))
        };
        let token = Place("identity_provider.", "id_token", &self.id_token_env, &self.id_token_file);
        let token = token.secret(variable)?;
        let token = token
            .ok_or_else(|| BadKey::new("identity_provider.id_token_file", "it is needed, or id_token_env"))?;
        let (issuer, id) = (needed("issuer", &self.issuer)?, needed("client_id", &self.client_id)?);
        let provider = IdentityProvider::new(issuer, id, token);
        let secret =
            Place("identity_provider.", "client_secret", &self.client_secret_env, &self.client_secret_file);
        Ok(match secret.secret(variable)? {
            Some(secret) => provider.client_secret(secret),
            None => provider,
        })
    }
}

/// Where a secret is: the keys around it, its name, its variable and its file.
struct Place<'a>(&'a str, &'a str, &'a Option<String>, &'a Option<String>);

impl Place<'_> {
    fn key(&self, kind: &str) -> String {
        format!("{}{}_{kind}", self.0, self.1)
    }

    fn variable(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<String>, BadKey> {
        let Some(name) = self.2 else { return Ok(None) };
        if self.3.is_some() {
            let both = format!("there is {} too: take one of them out", self.key("file"));
            return Err(BadKey::new(&self.key("env"), both));
        }
        let value = variable(name).filter(|value| !value.is_empty());
        let unset = || BadKey::new(&self.key("env"), format!("the environment variable {name:?} is not set"));
        value.map(Some).ok_or_else(unset)
    }

    fn file(&self) -> Result<Option<&Path>, BadKey> {
        let Some(path) = self.3.as_deref().map(Path::new) else { return Ok(None) };
        if path.is_relative() {
            return Err(BadKey::new(
                &self.key("file"),
                format!("{:?} is a relative path: give the whole path", path.display().to_string()),
            ));
        }
        Ok(Some(path))
    }

    /// The secret, read now.
    fn text(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<(String, String)>, BadKey> {
        if let Some(text) = self.variable(variable)? {
            return Ok(Some((self.key("env"), text)));
        }
        let Some(path) = self.file()? else { return Ok(None) };
        let key = self.key("file");
        let read = fs::read_to_string(path).map_err(|error| BadKey::new(&key, unreadable(path, &error)))?;
        Ok(Some((key, read)))
    }

    /// The secret, read when it is needed; that it can be is seen now.
    fn secret(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<McpSecret>, BadKey> {
        if let Some(text) = self.variable(variable)? {
            return Ok(Some(McpSecret::new(text)));
        }
        let Some(path) = self.file()? else { return Ok(None) };
        File::open(path).map_err(|error| BadKey::new(&self.key("file"), unreadable(path, &error)))?;
        Ok(Some(McpSecret::file(path)))
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{:?} cannot be read: {error}", path.display().to_string())
}

fn in_snake_case(written: Value) -> Value {
    let Value::Object(object) = written else { return written };
    let snake = |key: String| {
        let piece = |letter: char| match letter {
            'A'..='Z' => format!("_{}", letter.to_ascii_lowercase()),
            other => other.to_string(),
        };
        key.chars().map(piece).collect::<String>()
    };
    object.into_iter().map(|(key, value)| (snake(key), in_snake_case(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn login(text: &str) -> Result<McpLogin, String> {
        let text = format!("[mcp.servers.s]\nurl = \"https://h/mcp\"\n[mcp.servers.s.login]\n{text}");
        read(&text)
    }

    fn read(text: &str) -> Result<McpLogin, String> {
        let variable = |name: &str| (name == "QUIET").then(|| "hush".to_owned());
        let config = Config::parse(text).map_err(|error| error.to_string())?;
        assert!(!format!("{config:?}").contains("hush"));
        let mut servers = config.mcp.servers(variable).map_err(|error| error.to_string())?;
        Ok(servers.remove("s").unwrap().login.unwrap())
    }

    #[test]
    fn each_grant_is_read_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("quiet");
        fs::write(&file, "hush").unwrap();
        let secret = || McpSecret::new("hush");
        let credentials = "client_id = \"c\"\nclient_secret_env = \"QUIET\"\nscopes = [\"a\"]\nrequire_dpop = true\ntimeout_s = 5\n\
             private_addresses = true";
        let expected = McpLogin::client_credentials("c", secret())
            .scopes(["a"])
            .require_dpop(true)
            .private_addresses(true)
            .patience(std::time::Duration::from_secs(5));
        assert_eq!(login(credentials).unwrap(), expected);
        let bearer = format!("grant = \"jwt_bearer\"\nclient_id = \"c\"\nassertion_file = {file:?}");
        assert_eq!(login(&bearer).unwrap(), McpLogin::jwt_bearer("c", McpSecret::file(&file)));
        let access = "grant = \"cross_app_access\"\nclient_id = \"c\"\nclient_secret_env = \"QUIET\"\n\
             identity_provider = { issuer = \"https://i\", client_id = \"d\", id_token_env = \"QUIET\" }";
        let provider = IdentityProvider::new("https://i", "d", secret());
        assert_eq!(login(access).unwrap(), McpLogin::cross_app_access(provider, "c", secret()));
        for text in [credentials, &bearer, access] {
            let text = format!("[mcp.servers.s]\nurl = \"https://h/mcp\"\n[mcp.servers.s.login]\n{text}");
            let config = Config::parse(&text).unwrap();
            assert_eq!(Config::parse(&config.to_toml().unwrap()).unwrap(), config);
        }
        let shown = format!("{:?}", login(access).unwrap());
        assert!(!shown.contains("hush"), "{shown}");
    }

    #[test]
    fn what_is_wrong_with_a_login_is_named_by_its_key() {
        let id = "client_id = \"c\"";
        for (text, expected) in [
            (String::new(), "login.client_id: it is needed"),
            (
                id.to_owned(),
                "login.client_secret_env: it is needed, or client_secret_file, or private_key_file",
            ),
            (
                format!("{id}\nclient_secret_env = \"NOPE\""),
                "login.client_secret_env: the environment variable \"NOPE\" is not set",
            ),
            (
                format!("{id}\nclient_secret_file = \"quiet\""),
                "login.client_secret_file: \"quiet\" is a relative path: give the whole path",
            ),
            (
                format!("{id}\nclient_secret_file = \"/no/such\""),
                "login.client_secret_file: \"/no/such\" cannot be read: No such file or directory (os error 2)",
            ),
            (
                format!("{id}\nclient_secret_env = \"QUIET\"\nclient_secret_file = \"/x\""),
                "login.client_secret_env: there is client_secret_file too: take one of them out",
            ),
            (
                format!("{id}\nprivate_key_env = \"QUIET\""),
                "login.private_key_env: the private key is no PEM of PKCS #8 (\"BEGIN PRIVATE KEY\"): `openssl pkcs8 \
                 -topk8 -nocrypt` makes one",
            ),
            (
                format!("{id}\nclient_secret_env = \"QUIET\"\nalgorithm = \"ES256\""),
                "login.private_key_file: it is needed for algorithm and key_id",
            ),
            (format!("{id}\ngrant = \"jwt_bearer\""), "login.assertion_file: it is needed, or assertion_env"),
            (
                format!("{id}\nclient_secret_env = \"QUIET\"\nassertion_env = \"QUIET\""),
                "login.assertion_env: it is for grant = \"jwt_bearer\" alone",
            ),
            (
                format!("{id}\nclient_secret_env = \"QUIET\"\ngrant = \"cross_app_access\""),
                "login.identity_provider: it is needed",
            ),
            (
                format!(
                    "{id}\nclient_secret_env = \"QUIET\"\ngrant = \"cross_app_access\"\n\
                     identity_provider = {{ id_token_env = \"QUIET\", client_id = \"d\" }}"
                ),
                "login.identity_provider.issuer: it is needed",
            ),
        ] {
            assert_eq!(login(&text).unwrap_err(), format!("mcp.servers.s.{expected}"), "{text}");
        }
        for (text, expected) in [
            ("client_secret = \"hush\"", "unknown key \"client_secret\""),
            ("grant = \"password\"", "unknown variant `password`"),
            ("algorithm = \"HS256\"", "unknown variant `HS256`"),
        ] {
            let error = login(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let other = |link: &str| {
            format!("[mcp.servers.s]\n{link}\nlogin = {{ client_id = \"c\", client_secret_env = \"QUIET\" }}")
        };
        let only = "mcp.servers.s.login: only servers that are reached by streamable HTTP have logins";
        assert_eq!(read(&other("command = \"c\"")).unwrap_err(), only);
        assert_eq!(read(&other("type = \"sse\"\nurl = \"http://h\"")).unwrap_err(), only);
        let both = read(&other("url = \"http://h\"\nheaders = { Authorization = \"x\" }")).unwrap_err();
        assert!(both.starts_with("mcp.servers.s.login: the header \"authorization\" says already"), "{both}");
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file_and_other_spellings_are_read() {
        let written = serde_json::json!({
            "clientId": "c", "clientSecretFile": "a", "identityProvider": {"idTokenFile": "b"}
        });
        let mut section = LoginSection::from_camel_case(written).unwrap();
        section.start_at(Path::new("/etc"));
        assert_eq!(section.client_secret_file.as_deref(), Some("/etc/a"));
        assert_eq!(section.identity_provider.unwrap().id_token_file.as_deref(), Some("/etc/b"));
        assert!(LoginSection::from_camel_case(serde_json::json!({"clientSecret": "hush"})).is_err());
    }
}
