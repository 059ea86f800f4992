//! Owns how the text of a login is sealed with a key, and opened again.
//! Invariant: what was sealed opens only with the same key, and only as the login of the same name.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::random::{encode, hash};
use crate::redact::Secret;

const VERSION: u64 = 1;

/// A key of 256 bits.
pub(super) struct Key {
    key: LessSafeKey,
    id: String,
    text: Secret,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// The content of a file that is sealed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    /// The version of this format.
    sealed: u64,
    /// Tells keys apart.
    key: String,
    nonce: String,
    data: String,
}

impl Key {
    /// `None` if the text is no key.
    pub(super) fn from_text(text: &Secret) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.expose()).ok()?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?);
        let id = hash(&format!("mcpool login key {}", text.expose())).chars().take(12).collect();
        Some(Key { key, id, text: text.clone() })
    }

    /// The key itself, for a keychain or another process.
    pub(super) fn text(&self) -> &Secret {
        &self.text
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Seals the login of this name. `None` if the system gives no random numbers.
    pub(super) fn seal(&self, name: &str, text: Vec<u8>) -> Option<Sealed> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut data = text;
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(unique, bound_to(name, VERSION), &mut data).ok()?;
        let (nonce, data) = (encode(nonce), encode(data));
        Some(Sealed { sealed: VERSION, key: self.id.clone(), nonce, data })
    }

    /// Opens the login of this name. `None` if it is damaged, or another login.
    pub(super) fn open(&self, name: &str, sealed: &Sealed) -> Option<Vec<u8>> {
        let nonce = URL_SAFE_NO_PAD.decode(&sealed.nonce).ok()?;
        let nonce = Nonce::try_assume_unique_for_key(&nonce).ok()?;
        let mut data = URL_SAFE_NO_PAD.decode(&sealed.data).ok()?;
        let text = self.key.open_in_place(nonce, bound_to(name, sealed.sealed), &mut data).ok()?;
        Some(text.to_vec())
    }
}

impl Sealed {
    /// `None` if the text is not sealed.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether this version of mcpool can open it.
    pub(super) fn is_known(&self) -> bool {
        self.sealed == VERSION
    }

    /// Which key opens it.
    pub(super) fn key_id(&self) -> &str {
        &self.key
    }
}

fn bound_to(name: &str, version: u64) -> Aad<String> {
    Aad::from(format!("mcpool login {version} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::random::random_text;

    fn key() -> Key {
        Key::from_text(&Secret::new(random_text().unwrap())).unwrap()
    }

    #[test]
    fn what_was_sealed_opens_with_its_key_and_its_name_only() {
        let key = key();
        let sealed = key.seal("name", b"text".to_vec()).unwrap();
        assert_eq!(key.open("name", &sealed).as_deref(), Some(&b"text"[..]));
        assert_eq!(key.open("another", &sealed), None);
        assert_eq!(self::key().open("name", &sealed), None);
        let newer = Sealed { sealed: VERSION + 1, ..key.seal("name", b"text".to_vec()).unwrap() };
        assert_eq!((newer.is_known(), key.open("name", &newer)), (false, None));
    }

    #[test]
    fn damage_is_noticed() {
        let key = key();
        for damage in [
            |sealed: &mut Sealed| sealed.data.insert(0, 'A'),
            |sealed: &mut Sealed| sealed.data.truncate(8),
            |sealed: &mut Sealed| sealed.nonce = encode([0; NONCE_LEN]),
            |sealed: &mut Sealed| sealed.nonce.clear(),
            |sealed: &mut Sealed| sealed.data.clear(),
        ] {
            let mut sealed = key.seal("name", b"text".to_vec()).unwrap();
            damage(&mut sealed);
            assert_eq!(key.open("name", &sealed), None);
        }
    }

    #[test]
    fn the_same_text_is_never_sealed_the_same_way() {
        let key = key();
        let seal = || key.seal("name", b"text".to_vec()).unwrap();
        let (one, two) = (seal(), seal());
        assert!(one.nonce != two.nonce && one.data != two.data);
        assert_eq!(one.key_id(), two.key_id());
    }

    #[test]
    fn only_a_text_of_256_bits_is_a_key() {
        for text in ["", "key", &encode([0; 16]), &encode([0; 33])] {
            assert!(Key::from_text(&Secret::new(text)).is_none(), "{text}");
        }
        assert!(!format!("{:?}", Key::from_text(&Secret::new(encode([0; 32])))).contains("AAAA"));
    }
}
