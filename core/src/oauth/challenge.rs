//! Reads what a server that refuses a request says about signing in.

use http::header::{HeaderMap, WWW_AUTHENTICATE};
use http_auth::ChallengeParser;
use indexmap::IndexSet;

/// How many bytes of a server's challenges are read.
const READ: usize = 16 << 10;
/// How many scopes a text may name.
const SCOPES: usize = 1000;

/// The challenge for a bearer or DPoP token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Whether it asks for tokens that are bound to a key.
    pub(super) wants_dpop: bool,
    /// The address of the resource metadata.
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
}

impl Challenge {
    /// The first challenge for a token; an empty one if there is none.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let texts = headers.get_all(WWW_AUTHENTICATE).into_iter();
        let texts = texts.filter_map(|value| value.to_str().ok()).filter(|text| text.len() <= READ);
        let mut found: Option<Challenge> = None;
        for text in texts {
            for challenge in ChallengeParser::new(text).map_while(Result::ok) {
                let wants_dpop = challenge.scheme.eq_ignore_ascii_case("dpop");
                if !wants_dpop && !challenge.scheme.eq_ignore_ascii_case("bearer") {
                    continue;
                }
                let value = |name: &str| {
                    let params = challenge.params.iter();
                    let mut params = params.filter(|(key, _)| key.eq_ignore_ascii_case(name));
                    params.next().map(|(_, value)| value.to_unescaped())
                };
                let of = found.get_or_insert_default();
                of.wants_dpop |= wants_dpop;
                of.resource_metadata = of.resource_metadata.take().or(value("resource_metadata"));
                of.error = of.error.take().or(value("error"));
                if of.scopes.is_empty() {
                    of.scopes = split_scopes(&value("scope").unwrap_or_default());
                }
            }
        }
        found.unwrap_or_default()
    }

    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    pub(super) fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some("use_dpop_nonce")
    }
}

/// The scopes of a text, each once.
pub(super) fn split_scopes(text: &str) -> Vec<String> {
    let scopes: IndexSet<&str> = text.split_ascii_whitespace().take(SCOPES).collect();
    scopes.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Challenge {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::from_headers(&headers)
    }

    #[test]
    fn the_challenge_for_a_token_is_found_among_others() {
        let bearer = r#"Bearer error="insufficient_scope", scope="a b a", resource_metadata="https://h/p\"q""#;
        let expected = Challenge {
            wants_dpop: false,
            resource_metadata: Some("https://h/p\"q".to_owned()),
            scopes: vec!["a".to_owned(), "b".to_owned()],
            error: Some("insufficient_scope".to_owned()),
        };
        assert_eq!(read(&[bearer]), expected);
        assert_eq!(read(&[r#"Basic realm="x, Bearer""#, bearer]), expected);
        assert_eq!(read(&[&format!(r#"Basic realm="x", {bearer}"#)]), expected);
        assert!(read(&[r#"dPoP error="use_dpop_nonce""#]).wants_nonce());
    }

    #[test]
    fn a_challenge_that_cannot_be_read_is_none() {
        for odd in ["", "Bearer", "Bearer =", "Negotiate", "Bearer realm=\"", "\u{7f}"] {
            let mut headers = HeaderMap::new();
            if let Ok(value) = odd.parse() {
                headers.insert(WWW_AUTHENTICATE, value);
            }
            let read = Challenge::from_headers(&headers);
            assert_eq!((read.resource_metadata, read.error), (None, None), "{odd}");
        }
        assert_eq!(
            read(&[&format!("Bearer scope=\"{}\"", "a ".repeat(READ))]),
            Challenge::default()
        );
    }
}
