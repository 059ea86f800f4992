//! Owns texts that nobody can guess, and the encoding that OAuth uses for bytes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};

/// A text of 256 random bits.
pub(super) fn random_text() -> Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        Error::new(ErrorKind::AuthFailed, "The system gives no random numbers for a sign-in")
    })?;
    Ok(encode(bytes))
}

/// base64url without padding.
pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 of a text, encoded.
pub(super) fn hash(text: &str) -> String {
    encode(Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_that_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(hash(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn random_texts_differ() {
        assert_ne!(random_text().unwrap(), random_text().unwrap());
        assert_eq!(random_text().unwrap().len(), 43);
    }
}
