//! Reads JSON strings as text, whatever is in them.
//! Invariant: a string that JSON allows is never refused, so that odd characters hide nothing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The text of a JSON string. Halves of surrogate pairs, which no text can hold, become marks of it.
pub(crate) fn unescape(json: &str) -> Option<Cow<'_, str>> {
    let text: LossyString<'_> = serde_json::from_str(json).ok()?;
    Some(text.0)
}

/// A JSON string whatever is in it.
#[derive(PartialEq, Eq, Hash, Serialize)]
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
        // As bytes, because as text halves of pairs would be refused.
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn half_of_a_surrogate_pair_becomes_replacement_characters() {
        assert_eq!(unescape(r#""a\ud83d!""#).unwrap(), "a\u{fffd}\u{fffd}\u{fffd}!");
        assert_eq!(unescape(r#""plain""#).unwrap(), "plain");
        assert!(unescape("7").is_none());
    }
}
