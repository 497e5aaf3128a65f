//! Private keys that sign tokens.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How tokens are signed, as RFC 7518 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum McpSigningAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA on P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384,
    /// RSA (PKCS #1 1.5) with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// RSA (PKCS #1 1.5) with SHA-384.
    #[serde(rename = "RS384")]
    Rs384,
    /// RSA (PKCS #1 1.5) with SHA-512.
    #[serde(rename = "RS512")]
    Rs512,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl McpSigningAlgorithm {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// The private key of a client. It is never shown, logged or said in an error.
#[derive(Clone)]
pub struct McpSigningKey {
    pair: Arc<Pair>,
    algorithm: McpSigningAlgorithm,
    id: Option<String>,
    /// Tells keys apart.
    digest: [u8; 32],
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl McpSigningKey {
    /// Reads a key in PKCS #8, as PEM (`-----BEGIN PRIVATE KEY-----`): P-256, P-384, RSA of at least 2,048 bits or
    /// Ed25519. Without an `algorithm` the key's own is taken, RS256 for RSA.
    ///
    /// # Errors
    /// When it is none of these, or `algorithm` does not fit it. In words that name the remedy, without the key.
    pub fn from_pem(pem: impl AsRef<[u8]>, algorithm: Option<McpSigningAlgorithm>) -> Result<Self, String> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_ref()).map_err(|_| {
            "the private key is no PEM of PKCS #8 (\"BEGIN PRIVATE KEY\"): `openssl pkcs8 -topk8 -nocrypt` makes one"
        })?;
        let der = der.secret_pkcs8_der();
        let (pair, own) = Pair::of(der).ok_or(
            "the private key cannot be used: it must be on P-256 or P-384, with its public part, RSA of 2,048 to 4,096 \
             bits, or Ed25519",
        )?;
        let algorithm = algorithm.unwrap_or(own);
        let is_rsa = |algorithm| {
            matches!(
                algorithm,
                McpSigningAlgorithm::Rs256 | McpSigningAlgorithm::Rs384 | McpSigningAlgorithm::Rs512
            )
        };
        if algorithm != own && !(is_rsa(algorithm) && is_rsa(own)) {
            let (algorithm, own) = (algorithm.name(), own.name());
            return Err(format!(
                "the algorithm {algorithm} does not fit the private key, which is for {own}"
            ));
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
        Ok(Self { pair: Arc::new(pair), algorithm, id: None, digest })
    }

    /// Sets the name under which the authorization server knows the key (`kid`). Default: none.
    #[must_use]
    pub fn key_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Signs a token whose header is of the type `kind`.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) fn jwt(&self, kind: &str, claims: &Value) -> Result<String, String> {
        let mut header = json!({"typ": kind, "alg": self.algorithm.name()});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        jwt(&header, claims, |text| self.sign(text))
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::Ecdsa(pair) => Some(pair.sign(&random, text).ok()?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Some(pair.sign(text).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let encoding = match self.algorithm {
                    McpSigningAlgorithm::Rs384 => &RSA_PKCS1_SHA384,
                    McpSigningAlgorithm::Rs512 => &RSA_PKCS1_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                pair.sign(encoding, &random, text, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

impl Pair {
    fn of(der: &[u8]) -> Option<(Self, McpSigningAlgorithm)> {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok().map(Self::Ecdsa);
        if let Some(pair) = ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING) {
            return Some((pair, McpSigningAlgorithm::Es256));
        }
        if let Some(pair) = ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING) {
            return Some((pair, McpSigningAlgorithm::Es384));
        }
        if let Ok(pair) = RsaKeyPair::from_pkcs8(der) {
            return Some((Self::Rsa(Box::new(pair)), McpSigningAlgorithm::Rs256));
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok()?;
        Some((Self::Ed25519(pair), McpSigningAlgorithm::EdDsa))
    }
}

impl fmt::Debug for McpSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSigningKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl PartialEq for McpSigningKey {
    fn eq(&self, other: &Self) -> bool {
        (self.algorithm, &self.id, self.digest) == (other.algorithm, &other.id, other.digest)
    }
}

/// Makes a signed token (a compact JWS of RFC 7515).
///
/// # Errors
/// When nothing can be signed.
pub(super) fn jwt(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<String, String> {
    let mut text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let signature = sign(text.as_bytes()).ok_or("the private key cannot sign")?;
    text.push('.');
    text.push_str(&encoded(signature));
    Ok(text)
}

/// The header and the claims of a token, unchecked.
pub(super) fn read_jwt(token: &str) -> Option<(Value, Value)> {
    let mut parts = token.split('.');
    let mut part = || serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(parts.next()?).ok()?).ok();
    let read = (part()?, part()?);
    (parts.next().is_some_and(|signature| !signature.is_empty()) && parts.next().is_none()).then_some(read)
}

pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A text that nobody can guess and that never comes again.
pub(super) fn unique() -> Result<String, String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "there are no random numbers")?;
    Ok(encoded(bytes))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A key on P-256 that is made for this process, with its public part as RFC 7517 writes it.
pub(super) struct EphemeralKey {
    pair: EcdsaKeyPair,
    public: Value,
}

impl EphemeralKey {
    pub(super) fn new() -> Option<Self> {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).ok()?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).ok()?;
        // An uncompressed point: a byte that says so, and two numbers of 32 bytes.
        let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(32)?;
        let public = json!({"kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y)});
        Some(Self { pair, public })
    }

    /// Signs a token that has the public part in its header.
    pub(super) fn jwt(&self, kind: &str, claims: &Value) -> Result<String, String> {
        let header = json!({"typ": kind, "alg": "ES256", "jwk": self.public});
        let sign = |text: &[u8]| Some(self.pair.sign(&SystemRandom::new(), text).ok()?.as_ref().to_vec());
        jwt(&header, claims, sign)
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        let text = base64::prelude::BASE64_STANDARD.encode(der);
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }

    #[test]
    fn a_key_says_its_algorithm_and_another_one_is_refused() {
        let random = SystemRandom::new();
        let p256 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let p384 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        for (der, algorithm) in [
            (p256.as_ref(), McpSigningAlgorithm::Es256),
            (p384.as_ref(), McpSigningAlgorithm::Es384),
            (ed.as_ref(), McpSigningAlgorithm::EdDsa),
        ] {
            let key = McpSigningKey::from_pem(pem(der), None).unwrap();
            assert_eq!(key.algorithm, algorithm);
            assert_eq!(key, McpSigningKey::from_pem(pem(der), Some(algorithm)).unwrap());
            let wrong = McpSigningKey::from_pem(pem(der), Some(McpSigningAlgorithm::Rs256)).unwrap_err();
            assert!(wrong.contains("RS256 does not fit") && wrong.contains(algorithm.name()), "{wrong}");
        }
        for text in ["", "no key", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"] {
            assert!(McpSigningKey::from_pem(text, None).unwrap_err().contains("openssl pkcs8"), "{text}");
        }
        assert!(McpSigningKey::from_pem(pem(b"junk"), None).unwrap_err().contains("cannot be used"));
    }

    #[test]
    fn a_token_is_signed_and_shows_the_public_part_alone() {
        let key = EphemeralKey::new().unwrap();
        let token = key.jwt("dpop+jwt", &json!({"jti": "1"})).unwrap();
        let (header, claims) = read_jwt(&token).unwrap();
        assert_eq!(
            (&header["typ"], &header["alg"], &claims["jti"]),
            (&json!("dpop+jwt"), &json!("ES256"), &json!("1"))
        );
        let shown: Vec<_> = header["jwk"].as_object().unwrap().keys().collect();
        assert_eq!(shown, ["crv", "kty", "x", "y"]);
        let (text, signature) = token.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.pair.public_key().as_ref());
        public.verify(text.as_bytes(), &signature).unwrap();
    }
}
