//! Owns what must not be shown: secret values are a type that prints as stars, URLs lose their secrets.
//! Invariant: the only way to a [`Secret`]'s text is [`Secret::expose`], called where the value leaves for its
//! server or goes into a hash.

use std::fmt;

use url::Url;

const STARS: &str = "***";
const SECRET_WORDS: &[&str] =
    &["token", "secret", "password", "passwd", "key", "auth", "credential", "sig"];

/// A header or environment value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value into custody.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value itself, for the child's environment or the request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

/// Whether a key's name says that its value is nobody's business.
fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// A URL fit for a message: without user-info, with secret-looking query values starred.
pub(crate) fn url(url: &Url) -> String {
    let mut shown = url.clone();
    if !url.username().is_empty() || url.password().is_some() {
        // Both fail only for URLs that cannot have user-info, which this one has.
        let _ = shown.set_username(STARS);
        let _ = shown.set_password(None);
    }
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(key, value)| {
                let value = if is_secret_key(&key) { STARS.into() } else { value.into_owned() };
                (key.into_owned(), value)
            })
            .collect();
        shown.query_pairs_mut().clear().extend_pairs(pairs);
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        let shown = url(&Url::parse("https://me:pw@host/mcp?apiKey=abc&page=2").unwrap());
        assert!(
            !shown.contains("pw") && !shown.contains("abc") && !shown.contains("me:"),
            "{shown}"
        );
        assert!(shown.contains("page=2"), "{shown}");
    }

    #[test]
    fn a_secret_prints_as_stars() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
