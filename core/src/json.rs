//! Owns reading JSON strings from servers, including malformed ones.

use std::borrow::Cow;

use serde::Deserialize;

/// The text of a JSON string. Unpaired surrogates become replacement characters.
pub(crate) fn lossy_string(json: &str) -> Option<Cow<'_, str>> {
    let text: LossyString<'_> = serde_json::from_str(json).ok()?;
    Some(text.0)
}

/// A JSON string that may hold unpaired surrogates.
pub(crate) struct LossyString<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for LossyString<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> serde::de::Visitor<'de> for Bytes {
            type Value = LossyString<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<LossyString<'de>, E> {
                Ok(LossyString(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LossyString<'de>, E> {
                Ok(LossyString(String::from_utf8_lossy(bytes).into_owned().into()))
            }
        }
        // As bytes: serde_json refuses unpaired surrogates in text.
        deserializer.deserialize_bytes(Bytes)
    }
}
