//! Owns the headers that a manager sends with all its calls.
//! Invariant: a header that says who calls is for one server: it is never sent to all of them.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{CallerHeaders, NOT_HEADERS};
use crate::options::{Language, OptionKind, OptionValue};

/// A manager's headers: those for all remote servers, and those for single ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DefaultHeaders {
    all: Option<CallerHeaders>,
    by_server: IndexMap<String, CallerHeaders>,
}

impl DefaultHeaders {
    /// Reads `{"X-Team": "a", "github": {"Authorization": "…"}}`: a text is the value of a header, an object has the
    /// headers of one server. The error says what the value must be.
    fn read(value: &Value) -> Result<DefaultHeaders, String> {
        let Some(entries) = value.as_object() else { return Err(NOT_HEADERS.to_owned()) };
        let (mut all, mut by_server) = (Map::new(), IndexMap::new());
        for (name, entry) in entries {
            match entry {
                Value::Object(_) => {
                    by_server.insert(name.clone(), CallerHeaders::read(entry)?);
                }
                _ => {
                    all.insert(name.clone(), entry.clone());
                }
            }
        }
        let all = match all.is_empty() {
            true => None,
            false => Some(CallerHeaders::read(&Value::Object(all))?),
        };
        if let Some(name) = all.as_ref().and_then(CallerHeaders::credential) {
            return Err(format!(
                "an object of headers, but \"{name}\" says who calls, and this would send it to every server: write \
                 {{\"<server>\": {{\"{name}\": …}}}}"
            ));
        }
        Ok(DefaultHeaders { all, by_server })
    }

    /// The headers for one server.
    #[must_use]
    pub fn server(mut self, name: impl Into<String>, headers: CallerHeaders) -> Self {
        self.by_server.insert(name.into(), headers);
        self
    }

    /// The headers for calls to this server.
    pub(crate) fn for_server(&self, name: &str) -> Option<CallerHeaders> {
        match (self.by_server.get(name), &self.all) {
            (Some(own), Some(all)) => Some(own.over(all)),
            (own, all) => own.or(all.as_ref()).cloned(),
        }
    }

    /// The name of a header that says who calls.
    pub(crate) fn credential(&self) -> Option<&str> {
        self.by_server.values().find_map(CallerHeaders::credential)
    }

    /// The servers that have headers of their own.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &str> {
        self.by_server.keys().map(String::as_str)
    }
}

/// Headers for all remote servers, without those that say who calls.
impl TryFrom<CallerHeaders> for DefaultHeaders {
    type Error = crate::error::Error;

    fn try_from(headers: CallerHeaders) -> crate::error::Result<Self> {
        match headers.credential() {
            Some(name) => {
                let text = format!("The header \"{name}\" says who calls: it is for one server");
                Err(super::invalid(&text).with_hint("use DefaultHeaders::server"))
            }
            None => Ok(DefaultHeaders { all: Some(headers), by_server: IndexMap::new() }),
        }
    }
}

impl OptionValue for DefaultHeaders {
    fn kind() -> OptionKind {
        OptionKind::HeadersByServer
    }

    fn read(value: Value, _: Language) -> Result<Self, String> {
        DefaultHeaders::read(&value)
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        DefaultHeaders::read(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_gets_its_own_headers_and_those_of_all() {
        let written = json!({"X-Team": "a", "X-Mode": "all", "github": {"x-mode": "own"}});
        let defaults = DefaultHeaders::read(&written).unwrap();
        let headers = |entries: [(&str, &str); 2]| CallerHeaders::new(entries).unwrap();
        let own = defaults.for_server("github").unwrap();
        assert_eq!(own, headers([("X-Team", "a"), ("X-Mode", "own")]));
        let others = defaults.for_server("other").unwrap();
        assert_eq!(others, headers([("X-Team", "a"), ("X-Mode", "all")]));
        assert_eq!(DefaultHeaders::default().for_server("other"), None);
    }

    #[test]
    fn a_credential_is_for_one_server() {
        let refused = DefaultHeaders::read(&json!({"Authorization": "Bearer s3cr3t"})).unwrap_err();
        assert!(refused.contains("authorization") && !refused.contains("s3cr3t"), "{refused}");
        let own = json!({"github": {"Authorization": "Bearer s3cr3t"}});
        let own = DefaultHeaders::read(&own).unwrap();
        assert_eq!(own.credential(), Some("authorization"));
        let headers = CallerHeaders::new([("Cookie", "a=b")]).unwrap();
        assert!(DefaultHeaders::try_from(headers).is_err());
    }
}
