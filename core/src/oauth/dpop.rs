//! Owns proofs of possession (RFC 9449): a token that is bound to a key of ours is of no use to others.
//! Invariant: a proof is for one request; a nonce goes only to the server that gave it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use url::Url;

use super::jwt::{SigningKey, thumbprint};
use super::problem::Problem;
use super::random::{hash, random_text};
use crate::redact::Secret;
use crate::sync::lock;
use crate::time::now_ms;

pub(super) const DPOP: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// How long a nonce may be, and of how many origins one is kept.
const NONCE_BYTES: usize = 1024;
const ORIGINS: usize = 16;

/// What a server is to us. One that is both has a nonce for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// It issues tokens.
    Issuer,
    /// It takes tokens.
    Resource,
}

/// The key that tokens are bound to.
pub(super) struct DpopKey {
    key: SigningKey,
    der: Vec<u8>,
    /// The last nonce of each server.
    nonces: Mutex<BTreeMap<(Role, String), String>>,
}

impl DpopKey {
    pub(super) fn generate() -> Result<Self, Problem> {
        let (key, der) = SigningKey::generate()?;
        Ok(DpopKey { key, der, nonces: Mutex::default() })
    }

    pub(super) fn from_stored(text: &str) -> Result<Self, Problem> {
        let damaged = |_| Problem::refused("the stored key is damaged");
        let der = STANDARD.decode(text).map_err(damaged)?;
        Ok(DpopKey { key: SigningKey::from_der(&der)?, der, nonces: Mutex::default() })
    }

    pub(super) fn to_stored(&self) -> Secret {
        Secret::new(STANDARD.encode(&self.der))
    }

    pub(super) fn thumbprint(&self) -> String {
        self.key.public_jwk().map(|jwk| thumbprint(&jwk)).unwrap_or_default()
    }

    /// The proof for one request; `token` is sent with it.
    pub(super) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
    ) -> Result<HeaderValue, Problem> {
        let mut to = url.clone();
        to.set_query(None);
        to.set_fragment(None);
        let _ = to.set_username("").and_then(|()| to.set_password(None));
        let mut claims = json!({
            "jti": random_text().map_err(Problem::from_error)?,
            "htm": method.as_str(),
            "htu": to.as_str(),
            "iat": now_ms() / 1000,
        });
        if let Some(token) = token {
            claims["ath"] = hash(token).into();
        }
        let role = if token.is_some() { Role::Resource } else { Role::Issuer };
        if let Some(nonce) = lock(&self.nonces).get(&(role, origin(url))) {
            claims["nonce"] = nonce.as_str().into();
        }
        let header = json!({"typ": "dpop+jwt", "jwk": self.key.public_jwk()});
        let proof = self.key.sign(header, &claims)?;
        HeaderValue::try_from(proof).map_err(|_| Problem::refused("signing failed"))
    }

    /// Keeps the nonce of an answer; returns whether there is one.
    pub(super) fn note_nonce(&self, role: Role, url: &Url, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| nonce.len() <= NONCE_BYTES) else { return false };
        let mut nonces = lock(&self.nonces);
        if nonces.len() >= ORIGINS {
            nonces.clear();
        }
        nonces.insert((role, origin(url)), nonce.to_owned());
        true
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
