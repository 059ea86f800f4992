//! Owns the roots that a manager offers to its servers: the directories that the work is about.
//! Invariant: every root is a `file` address.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Language, OptionKind, OptionValue};

/// A directory or file that the work is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Root {
    /// Its address, which begins with `file://`.
    pub uri: String,
    /// A name for people.
    pub name: String,
}

impl Root {
    /// Reads a path or a `file` address. A relative path is one of the current directory.
    pub fn new(written: &str) -> Result<Root> {
        let url = match Url::parse(written) {
            Ok(url) if url.scheme() == "file" => Some(url),
            // A drive letter looks like a scheme.
            Ok(url) if url.scheme().len() > 1 => None,
            _ => std::path::absolute(Path::new(written))
                .ok()
                .and_then(|path| Url::from_file_path(path).ok()),
        };
        let url = url.ok_or_else(|| {
            let text = format!("The root \"{written}\" is neither a path nor a file address");
            Error::new(ErrorKind::ConfigInvalid, text)
                .with_hint("give the path of a directory, or an address that begins with file://")
        })?;
        let mut segments = url.path_segments().into_iter().flatten();
        let last = segments.rfind(|segment| !segment.is_empty());
        let name = last.map(decoded).unwrap_or_else(|| "/".to_owned());
        Ok(Root { uri: url.into(), name })
    }
}

fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

impl OptionValue for Vec<Root> {
    fn kind() -> OptionKind {
        OptionKind::Texts
    }

    fn read(value: Value, language: Language) -> Result<Self, String> {
        let expected = "a list of paths or file addresses";
        Self::from_value(&value, language).ok_or_else(|| expected.to_owned())
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        let written = value.as_array()?.iter();
        written.map(|root| Root::new(root.as_str()?).ok()).collect()
    }
}

/// The roots of a manager, which may change. Without a list, none are offered.
#[derive(Clone, Default)]
pub(crate) struct Roots(Arc<ArcSwapOption<Vec<Root>>>);

impl Roots {
    pub(crate) fn is_offered(&self) -> bool {
        self.0.load().is_some()
    }

    /// The same roots, which then change apart.
    pub(crate) fn copied(&self) -> Roots {
        Roots(Arc::new(ArcSwapOption::new(self.0.load_full())))
    }

    pub(crate) fn list(&self) -> Vec<Root> {
        self.0.load().as_deref().cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, roots: Vec<Root>) {
        self.0.store(Some(Arc::new(roots)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_an_address_with_a_name() {
        let root = Root::new("/home/me/my project").unwrap();
        assert_eq!((&*root.uri, &*root.name), ("file:///home/me/my%20project", "my project"));
        assert_eq!(Root::new("/a+b/").unwrap().name, "a+b");
        assert_eq!(Root::new("/").unwrap().name, "/");
        let relative = Root::new("src").unwrap();
        assert!(relative.uri.starts_with("file:///") && relative.uri.ends_with("/src"));
    }

    #[test]
    fn other_addresses_are_refused() {
        assert_eq!(Root::new("file:///a/b").unwrap().uri, "file:///a/b");
        for other in ["https://example.com/a", "ssh://host/a"] {
            assert_eq!(Root::new(other).unwrap_err().kind(), ErrorKind::ConfigInvalid);
        }
    }
}
