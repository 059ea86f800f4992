//! Owns who a call is made for: an identity, and headers for its server.
//! Invariant: no text shows the value of a header, and a header that frames the message is refused.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use indexmap::IndexMap;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Executed, Result};
use crate::headers::{bind_headers, is_framing};
use crate::options::{Language, OptionKind, OptionValue};
use crate::redact::{Mask, MaskBuilder, MoreValues, is_credential};

mod connection_headers;
mod defaults;
mod on_identity;

pub(crate) use connection_headers::{ConnectionHeaders, HeadersInUse};
pub use defaults::DefaultHeaders;
pub(crate) use on_identity::{AskFunction, IdentitySource};
pub use on_identity::{Caller, IdentityQuestion, OnIdentity};

/// The longest identity, in bytes.
const MAX_IDENTITY: usize = 256;
const USABLE_IDENTITY: &str = "a text of 1 to 256 bytes without control characters";

/// The user or tenant that a call is made for. Calls of two identities never share a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(
    // Thin, because every call has room for one.
    Arc<String>,
);

impl Identity {
    /// An identity by its name: 1 to 256 bytes without control characters.
    pub fn new(name: &str) -> Result<Identity> {
        let is_usable =
            !name.is_empty() && name.len() <= MAX_IDENTITY && !name.chars().any(char::is_control);
        match is_usable {
            true => Ok(Identity(Arc::new(name.to_owned()))),
            false => Err(invalid(&format!("An identity must be {USABLE_IDENTITY}"))),
        }
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Headers that a caller gives. They replace those of the same name in the server's definition. Cheap to clone.
#[derive(Clone)]
pub struct CallerHeaders(Arc<HeaderSet>);

struct HeaderSet {
    map: HeaderMap,
    /// Of names and values, because sets are often compared and seldom equal.
    hash: u64,
    /// Hides the values.
    mask: OnceLock<Mask>,
    /// How many calls and connections send it now.
    users: AtomicUsize,
}

impl PartialEq for HeaderSet {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.map == other.map
    }
}

impl MoreValues for HeaderSet {
    fn mask(&self) -> &Mask {
        self.mask.get_or_init(|| {
            let mut values = MaskBuilder::default();
            for (name, value) in &self.map {
                values.header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
            }
            values.build()
        })
    }
}

impl CallerHeaders {
    /// Headers from names and values.
    pub fn new<N: Into<String>, V: Into<String>>(
        entries: impl IntoIterator<Item = (N, V)>,
    ) -> Result<CallerHeaders> {
        let entries = entries.into_iter().map(|(name, value)| (name.into(), value.into()));
        CallerHeaders::bind(entries.collect()).map_err(|problem| invalid(&problem))
    }

    /// The error says what is wrong with one of the entries.
    fn bind(entries: IndexMap<String, String>) -> std::result::Result<CallerHeaders, String> {
        let mut names = HashSet::new();
        for name in entries.keys() {
            if is_framing(name) {
                return Err(format!(
                    "the header \"{name}\" frames the message: only mcpool sets it"
                ));
            }
            if !names.insert(name.to_ascii_lowercase()) {
                return Err(format!("the header \"{name}\" is given twice"));
            }
        }
        bind_headers(entries).map(CallerHeaders::from_map)
    }

    fn from_map(map: HeaderMap) -> CallerHeaders {
        // The order of names in a map depends on its history.
        let hash = map.iter().fold(0, |sum: u64, (name, value)| {
            let mut hasher = DefaultHasher::new();
            (name, value.as_bytes()).hash(&mut hasher);
            sum.wrapping_add(hasher.finish())
        });
        let (mask, users) = (OnceLock::new(), AtomicUsize::new(0));
        CallerHeaders(Arc::new(HeaderSet { map, hash, mask, users }))
    }

    fn read(value: &Value) -> std::result::Result<CallerHeaders, String> {
        let Some(entries) = value.as_object() else { return Err(NOT_HEADERS.to_owned()) };
        let entries: Option<IndexMap<String, String>> = entries
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        match entries {
            Some(entries) => CallerHeaders::bind(entries)
                .map_err(|problem| format!("an object of headers, but {problem}")),
            None => Err(NOT_HEADERS.to_owned()),
        }
    }

    /// The headers, to be sent.
    pub(crate) fn map(&self) -> &HeaderMap {
        &self.0.map
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map().is_empty()
    }

    /// The name of a header that says who calls.
    pub(crate) fn credential(&self) -> Option<&str> {
        self.map().iter().find(says_who).map(|(name, _)| name.as_str())
    }

    /// The headers that say who calls, or the others.
    fn part(&self, is_wanted: impl Fn(bool) -> bool) -> CallerHeaders {
        let wanted = self.map().iter().filter(|header| is_wanted(says_who(header)));
        CallerHeaders::from_map(wanted.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// The headers that say who calls, if there are any.
    pub(crate) fn login(&self) -> Option<CallerHeaders> {
        self.credential().map(|_| self.part(|says_who| says_who))
    }

    /// The headers that do not say who calls.
    pub(crate) fn without_login(&self) -> CallerHeaders {
        match self.credential() {
            Some(_) => self.part(|says_who| !says_who),
            None => self.clone(),
        }
    }

    /// These headers, and those of `defaults` that they do not replace.
    pub(crate) fn over(&self, defaults: &CallerHeaders) -> CallerHeaders {
        let mut all = defaults.map().clone();
        overlay(&mut all, self.map());
        CallerHeaders::from_map(all)
    }
}

/// Whether a header says who calls.
fn says_who((name, value): &(&HeaderName, &HeaderValue)) -> bool {
    is_credential(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))
}

impl PartialEq for CallerHeaders {
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

/// Names the headers, without their values.
impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.map().keys().map(HeaderName::as_str)).finish()
    }
}

const NOT_HEADERS: &str = "an object whose values are texts";

/// Replaces headers by those of the same name in `others`.
pub(crate) fn overlay(headers: &mut HeaderMap, others: &HeaderMap) {
    for name in others.keys() {
        headers.remove(name);
    }
    for (name, value) in others {
        headers.append(name.clone(), value.clone());
    }
}

impl OptionValue for Identity {
    fn kind() -> OptionKind {
        OptionKind::Text(USABLE_IDENTITY)
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        value.as_str().and_then(|name| Identity::new(name).ok())
    }
}

impl OptionValue for CallerHeaders {
    fn kind() -> OptionKind {
        OptionKind::Headers
    }

    fn read(value: Value, _: Language) -> std::result::Result<Self, String> {
        CallerHeaders::read(&value)
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        CallerHeaders::read(value).ok()
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidArguments, message).with_executed(Executed::No)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(entries: &[(&str, &str)]) -> CallerHeaders {
        CallerHeaders::new(entries.iter().copied()).unwrap()
    }

    #[test]
    fn an_identity_is_a_short_name() {
        assert_eq!(Identity::new("tenant-1").unwrap().as_str(), "tenant-1");
        for name in ["", "a\nb", &"x".repeat(257)] {
            assert_eq!(Identity::new(name).unwrap_err().code(), "INVALID_ARGUMENTS", "{name}");
        }
    }

    #[test]
    fn headers_that_frame_the_message_are_refused_by_name() {
        for name in ["Host", "mcp-session-id", "Content-Length"] {
            let error = CallerHeaders::new([(name, "x")]).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENTS");
            assert!(error.message().contains(name), "{error}");
        }
    }

    #[test]
    fn no_error_shows_a_value() {
        for (name, value) in [("X-Key", "s3cr3t\n"), ("bad name", "s3cr3t"), ("Host", "s3cr3t")] {
            let error = CallerHeaders::new([(name, value)]).unwrap_err();
            assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
        }
        assert_eq!(format!("{:?}", headers(&[("X-Key", "s3cr3t")])), r#"{"x-key"}"#);
    }

    #[test]
    fn headers_that_say_who_calls_are_known() {
        for (name, value) in [("Authorization", "x"), ("Cookie", "a=b"), ("X-A", "Bearer t0ken")] {
            assert!(headers(&[("X-B", "1"), (name, value)]).credential().is_some(), "{name}");
        }
        let others =
            [("X-Request-Id", "7f3a9c1e22aa44bb"), ("X-Tenant", "a"), ("Accept-Language", "de")];
        assert_eq!(headers(&others).credential(), None);
    }

    #[test]
    fn one_header_in_two_spellings_is_refused() {
        let error = CallerHeaders::new([("X-A", "1"), ("x-a", "2")]).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENTS");
    }

    #[test]
    fn headers_are_parted_by_what_they_say() {
        let both = headers(&[("Authorization", "Bearer t0ken"), ("X-A", "1")]);
        assert_eq!(both.login(), Some(headers(&[("Authorization", "Bearer t0ken")])));
        assert_eq!(both.without_login(), headers(&[("X-A", "1")]));
        assert_eq!(both.without_login().login(), None);
    }

    #[test]
    fn own_headers_replace_defaults_of_any_spelling() {
        let all = headers(&[("X-Team", "red")]).over(&headers(&[("x-team", "blue"), ("X-B", "1")]));
        assert_eq!(all, headers(&[("X-B", "1"), ("X-Team", "red")]));
    }

    #[test]
    fn only_objects_of_texts_are_headers() {
        for value in [json!(["a"]), json!({"a": 1}), json!("a"), json!({"Host": "x"})] {
            assert!(CallerHeaders::from_value(&value, Language::Node).is_none(), "{value}");
        }
        assert!(CallerHeaders::from_value(&json!({"X-A": "1"}), Language::Node).is_some());
    }
}
