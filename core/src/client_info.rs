//! Owns what servers are told about their client: name, version and title. The program that uses the core sets them for the
//! process or for a pool; without that they are our own.
//! Invariant: what is sent has passed the checks here, so a handshake never fails because of it.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::HeaderValue;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Language, OptionKind, OptionValue};

const OUR_NAME: &str = "mcpool";
const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest name, version or title, in characters.
const LONGEST: usize = 200;

/// The client info of the process. A forked child has that of its parent.
static OF_PROCESS: ArcSwapOption<ClientInfo> = ArcSwapOption::const_empty();

/// The program that servers see as their client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientInfo {
    name: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

impl ClientInfo {
    /// A client with this name and version; each is a text of 1 to 200 characters, without control characters.
    ///
    /// ```
    /// let agent = mcpool::ClientInfo::new("my-agent", "1.2.0")?.with_title("My agent")?;
    /// mcpool::set_client_info(Some(agent));
    /// # mcpool::set_client_info(None);
    /// # Ok::<(), mcpool::Error>(())
    /// ```
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Result<Self> {
        let (name, version) = (name.into(), version.into());
        check("name", &name).and_then(|()| check("version", &version)).map_err(invalid)?;
        Ok(ClientInfo { name, version, title: None })
    }

    /// Sets the name that people see.
    pub fn with_title(mut self, title: impl Into<String>) -> Result<Self> {
        let title = title.into();
        check("title", &title).map_err(invalid)?;
        self.title = Some(title);
        Ok(self)
    }

    /// Reads `{"name": …, "version": …, "title": …}`.
    #[doc(hidden)]
    pub fn from_json(text: &str) -> Result<Self> {
        let unreadable = |_| invalid(EXPECTED.to_owned());
        read(&serde_json::from_str(text).map_err(unreadable)?).map_err(invalid)
    }

    /// The name that programs see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The name that people see, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What a server is told now: that of the pool, else that of the process, else our own.
    pub(crate) fn current(of_pool: Option<&Arc<ClientInfo>>) -> Arc<ClientInfo> {
        let ours = || {
            let (name, version) = (OUR_NAME.to_owned(), OUR_VERSION.to_owned());
            Arc::new(ClientInfo { name, version, title: None })
        };
        of_pool.cloned().or_else(|| OF_PROCESS.load_full()).unwrap_or_else(ours)
    }

    /// The `User-Agent` of its requests: it, and then us. `None` if it has no name that fits there.
    pub(crate) fn user_agent(&self) -> Option<HeaderValue> {
        let (name, version) = (token(&self.name), token(&self.version));
        if name.is_empty() || self.name == OUR_NAME {
            return None;
        }
        let version = if version.is_empty() { String::new() } else { format!("/{version}") };
        HeaderValue::from_str(&format!("{name}{version} {OUR_NAME}/{OUR_VERSION}")).ok()
    }
}

/// Sets what servers are told about their client, for all pools without client info of their own; `None` is our own name.
/// A connection that is up keeps what it was opened with; its next attempt uses this.
pub fn set_client_info(info: Option<ClientInfo>) {
    OF_PROCESS.store(info.map(Arc::new));
}

const EXPECTED: &str =
    "an object with the texts \"name\" and \"version\", and \"title\" if you want one";

fn read(value: &Value) -> std::result::Result<ClientInfo, String> {
    let object = value.as_object().ok_or(EXPECTED)?;
    let known = ["name", "version", "title"];
    if let Some(unknown) = object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("{EXPECTED}, and nothing else; it has \"{unknown}\""));
    }
    let text = |part: &str| -> std::result::Result<Option<String>, String> {
        match object.get(part) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => check(part, text).map(|()| Some(text.clone())),
            Some(_) => Err(unusable(part)),
        }
    };
    let (name, version, title) = (text("name")?, text("version")?, text("title")?);
    match (name, version) {
        (Some(name), Some(version)) => Ok(ClientInfo { name, version, title }),
        (None, _) => Err(unusable("name")),
        (_, None) => Err(unusable("version")),
    }
}

fn check(part: &str, text: &str) -> std::result::Result<(), String> {
    let length = text.chars().count();
    let is_usable = (1..=LONGEST).contains(&length)
        && !text.trim().is_empty()
        && !text.chars().any(char::is_control);
    if is_usable { Ok(()) } else { Err(unusable(part)) }
}

fn unusable(part: &str) -> String {
    format!(
        "{EXPECTED}; \"{part}\" must be a text of 1 to {LONGEST} characters, without control characters"
    )
}

fn invalid(expected: String) -> Error {
    Error::new(ErrorKind::ConfigInvalid, format!("The client info must be {expected}"))
}

/// A text as a part of a `User-Agent`: other characters than those of a token become one hyphen.
fn token(text: &str) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let words = text.split(|c| !is_token(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

impl OptionValue for ClientInfo {
    fn kind() -> OptionKind {
        OptionKind::Declared("ClientInfo", EXPECTED)
    }

    fn read(value: Value, _: Language) -> std::result::Result<Self, String> {
        read(&value)
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        read(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_checked_and_named_in_the_error() {
        let long = "x".repeat(LONGEST + 1);
        for (json, named) in [
            (r#""agent""#.to_owned(), "an object"),
            (r#"{"version": "1"}"#.to_owned(), "\"name\" must"),
            (r#"{"name": "a"}"#.to_owned(), "\"version\" must"),
            (r#"{"name": 7, "version": "1"}"#.to_owned(), "\"name\" must"),
            (r#"{"name": "a", "version": 1}"#.to_owned(), "\"version\" must"),
            (r#"{"name": " ", "version": "1"}"#.to_owned(), "\"name\" must"),
            (r#"{"name": "a\nb", "version": "1"}"#.to_owned(), "\"name\" must"),
            (format!(r#"{{"name": "a", "version": "1", "title": "{long}"}}"#), "\"title\" must"),
            (r#"{"name": "a", "version": "1", "nmae": "b"}"#.to_owned(), "\"nmae\""),
            ("{".to_owned(), "an object"),
        ] {
            let error = ClientInfo::from_json(&json).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
            assert!(error.message().contains(named), "{json}: {error}");
        }
        let info = ClientInfo::from_json(r#"{"name": "a", "version": "1", "title": null}"#);
        assert_eq!(info.unwrap(), ClientInfo::new("a", "1").unwrap());
        assert!(ClientInfo::new("", "1").is_err());
        assert!(ClientInfo::new("a", "1").unwrap().with_title("\u{7}").is_err());
    }

    #[test]
    fn the_user_agent_names_the_agent_and_us() {
        let agent = |name: &str, version: &str| {
            let agent = ClientInfo::new(name, version).unwrap().user_agent();
            agent.map(|agent| agent.to_str().unwrap().to_owned())
        };
        let ours = format!("mcpool/{OUR_VERSION}");
        assert_eq!(agent("my-agent", "1.2"), Some(format!("my-agent/1.2 {ours}")));
        assert_eq!(agent("My Agent (é)", "v 1"), Some(format!("My-Agent/v-1 {ours}")));
        assert_eq!(agent("name/2", "é"), Some(format!("name-2 {ours}")));
        assert_eq!((agent("ü", "1"), agent("mcpool", "1")), (None, None));
    }
}
