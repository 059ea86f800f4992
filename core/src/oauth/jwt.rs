//! Signs the JSON web tokens that show who we are.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::problem::Problem;
use super::random::{encode, hash};

/// A private key.
pub(super) enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads a PEM text in PKCS#8 form.
    pub(super) fn from_pem(pem: &str) -> Result<Self, Problem> {
        let wrong = || Problem::refused("\"auth.privateKey\" is no private key in PKCS#8 PEM form");
        let Ok(PrivateKeyDer::Pkcs8(key)) = PrivateKeyDer::from_pem_slice(pem.as_bytes()) else {
            return Err(wrong());
        };
        SigningKey::from_pkcs8(key.secret_pkcs8_der()).ok_or_else(wrong)
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let ec = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok();
        ec(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map(SigningKey::P256)
            .or_else(|| ec(&ECDSA_P384_SHA384_FIXED_SIGNING).map(SigningKey::P384))
            .or_else(|| RsaKeyPair::from_pkcs8(der).ok().map(|key| SigningKey::Rsa(Box::new(key))))
            .or_else(|| {
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(SigningKey::Ed25519)
            })
    }

    /// A new P-256 key, and its PKCS#8 form.
    pub(super) fn generate() -> Result<(Self, Vec<u8>), Problem> {
        let failed = || Problem::refused("no key could be made");
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let der = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| failed())?;
        let key = SigningKey::from_pkcs8(der.as_ref()).ok_or_else(failed)?;
        Ok((key, der.as_ref().to_vec()))
    }

    pub(super) fn from_der(der: &[u8]) -> Result<Self, Problem> {
        SigningKey::from_pkcs8(der).ok_or_else(|| Problem::refused("the stored key is damaged"))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            SigningKey::P256(_) => "ES256",
            SigningKey::P384(_) => "ES384",
            SigningKey::Rsa(_) => "RS256",
            SigningKey::Ed25519(_) => "EdDSA",
        }
    }

    /// The public part of a P-256 key, with its members in the order of its thumbprint.
    pub(super) fn public_jwk(&self) -> Option<Value> {
        let SigningKey::P256(key) = self else { return None };
        // An uncompressed point: 4, x, y.
        let (x, y) = key.public_key().as_ref().get(1..)?.split_at_checked(32)?;
        Some(json!({"crv": "P-256", "kty": "EC", "x": encode(x), "y": encode(y)}))
    }

    /// Signs claims; `header` is added to the algorithm.
    pub(super) fn sign(&self, header: Value, claims: &Value) -> Result<String, Problem> {
        let mut header = header;
        header["alg"] = self.algorithm().into();
        let text = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let failed = |_| Problem::refused("signing failed");
        let random = SystemRandom::new();
        let signature = match self {
            SigningKey::P256(key) | SigningKey::P384(key) => {
                key.sign(&random, text.as_bytes()).map_err(failed)?.as_ref().to_vec()
            }
            SigningKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
                    .map_err(failed)?;
                signature
            }
            SigningKey::Ed25519(key) => key.sign(text.as_bytes()).as_ref().to_vec(),
        };
        Ok(format!("{text}.{}", encode(signature)))
    }
}

/// The thumbprint of a public key (RFC 7638).
pub(super) fn thumbprint(jwk: &Value) -> String {
    hash(&jwk.to_string())
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_signature_can_be_verified() {
        use base64::Engine;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let (key, der) = SigningKey::generate().unwrap();
        let key_again = SigningKey::from_der(&der).unwrap();
        assert_eq!(key.public_jwk(), key_again.public_jwk());
        let token = key.sign(json!({"typ": "JWT"}), &json!({"sub": "me"})).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let SigningKey::P256(pair) = &key else { panic!("another kind of key") };
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        public.verify(text.as_bytes(), &signature).unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let read =
            |part| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(read(header), json!({"typ": "JWT", "alg": "ES256"}));
        assert_eq!(read(claims), json!({"sub": "me"}));
    }

    #[test]
    fn the_thumbprint_of_a_key_covers_its_members_in_order() {
        let (key, _) = SigningKey::generate().unwrap();
        let text = key.public_jwk().unwrap().to_string();
        assert!(text.starts_with(r#"{"crv":"P-256","kty":"EC","x":""#), "{text}");
    }

    #[test]
    fn a_text_that_is_no_key_is_refused() {
        for text in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(SigningKey::from_pem(text).is_err(), "{text}");
        }
    }
}
