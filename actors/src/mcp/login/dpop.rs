//! Tokens that are of no use to a thief: whoever shows one proves that it has a key (`DPoP`, RFC 9449).

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use parking_lot::Mutex;
use reqwest::Url;
use ring::digest;
use serde_json::json;

use super::signing_key::{EphemeralKey, encoded, now, unique};

/// A key that this process made, and the nonces that servers want in its proofs.
pub(super) struct Dpop {
    /// Made when it is first needed.
    key: OnceLock<Option<EphemeralKey>>,
    nonces: Mutex<BTreeMap<(Asker, String), String>>,
}

/// Who wants a proof; one origin may be both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    AuthorizationServer,
    McpServer,
}

impl Dpop {
    pub(super) fn new() -> Self {
        Self { key: OnceLock::new(), nonces: Mutex::default() }
    }

    /// Proves to `asker` that we have the key, for one request. `token`: the token that goes with it.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) fn proof(
        &self,
        asker: Asker,
        method: &str,
        url: &Url,
        token: Option<&str>,
    ) -> Result<String, String> {
        let key = self.key.get_or_init(EphemeralKey::new).as_ref().ok_or("no key can be made")?;
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        let mut claims = json!({"jti": unique()?, "htm": method, "htu": bare.as_str(), "iat": now()});
        if let Some(token) = token {
            claims["ath"] = json!(encoded(digest::digest(&digest::SHA256, token.as_bytes())));
        }
        if let Some(nonce) = self.nonces.lock().get(&(asker, origin(url))) {
            claims["nonce"] = json!(nonce);
        }
        key.jwt("dpop+jwt", &claims)
    }

    /// Takes the nonce that the next proof must have.
    pub(super) fn note_nonce(&self, asker: Asker, url: &Url, nonce: &str) {
        // The characters of RFC 9449; a proof goes into a header.
        if nonce.len() <= 1024 && nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.nonces.lock().insert((asker, origin(url)), nonce.to_owned());
        }
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Whether a challenge names the scheme of such tokens.
pub(super) fn is_offered(challenge: &str) -> bool {
    let scheme = |part: &str| part.trim_start().split(' ').next().unwrap_or_default().to_ascii_lowercase();
    challenge.split(',').any(|part| scheme(part) == "dpop")
}

/// Whether a challenge wants a proof with a nonce.
pub(in crate::mcp) fn wants_nonce(challenge: &str) -> bool {
    is_offered(challenge) && challenge.contains("use_dpop_nonce")
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::signing_key::read_jwt, *};

    #[test]
    fn each_proof_is_new_and_names_its_request_and_the_nonce_of_its_asker() {
        let dpop = Dpop::new();
        let url = Url::parse("https://h/mcp?key=hush#part").unwrap();
        let claims = |asker, token| read_jwt(&dpop.proof(asker, "POST", &url, token).unwrap()).unwrap().1;
        let first = claims(Asker::McpServer, Some("token"));
        assert_eq!((&first["htm"], &first["htu"]), (&json!("POST"), &json!("https://h/mcp")));
        // The digest of "token".
        assert_eq!(first["ath"], "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A");
        assert_eq!(first.get("nonce"), None);
        dpop.note_nonce(Asker::McpServer, &url, "one");
        dpop.note_nonce(Asker::McpServer, &url, "not a nonce");
        let second = claims(Asker::McpServer, None);
        assert_eq!((&second["nonce"], second.get("ath")), (&json!("one"), None));
        assert_ne!(second["jti"], first["jti"]);
        assert_eq!(claims(Asker::AuthorizationServer, None).get("nonce"), None);
    }

    #[test]
    fn a_challenge_offers_the_scheme_wherever_it_stands() {
        for challenge in ["DPoP", "dpop algs=\"ES256\"", "Bearer realm=\"x\", DPoP algs=\"ES256\""] {
            assert!(is_offered(challenge), "{challenge}");
        }
        for challenge in ["Bearer", "Bearer realm=\"dpop\"", "Bearer scope=\"a dpop\"", ""] {
            assert!(!is_offered(challenge), "{challenge}");
        }
        assert!(wants_nonce("DPoP error=\"use_dpop_nonce\""));
        assert!(
            !wants_nonce("Bearer error=\"use_dpop_nonce\"") && !wants_nonce("DPoP error=\"invalid_token\"")
        );
    }
}
