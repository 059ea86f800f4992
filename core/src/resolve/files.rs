//! Owns the text files that a definition names. Each is read once per resolution and kept, so that the trust check
//! covers exactly what is used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::text_file::{self, TextFileError};
use crate::config::ServerConfig;

/// A file that becomes part of what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReferencedFile {
    /// Where it is. May contain values of variables.
    pub(crate) path: PathBuf,
    /// The path as written, where variables are part of it: only this is shown.
    pub(crate) as_written: Option<String>,
    /// Whether it contains a private key, which is never shown.
    pub(crate) is_private: bool,
    /// Its content; `None` if it cannot be read.
    pub(crate) text: Option<String>,
}

impl ReferencedFile {
    /// The path for messages.
    pub(crate) fn shown_path(&self) -> String {
        self.as_written.clone().unwrap_or_else(|| self.path.display().to_string())
    }
}

#[derive(Default)]
pub(super) struct Files(BTreeMap<PathBuf, ReadFile>);

struct ReadFile {
    as_written: Option<String>,
    is_private: bool,
    read: Result<String, TextFileError>,
}

impl Files {
    /// Reads the file at `path`, which the definition names as `written`.
    pub(super) fn read(&mut self, path: &Path, written: &str) -> Result<String, TextFileError> {
        let file = self.0.entry(path.to_owned()).or_insert_with(|| ReadFile {
            as_written: has_variables(written).then(|| written.to_owned()),
            is_private: false,
            read: text_file::read(path),
        });
        file.read.clone()
    }

    /// Marks a file that was read as one with a private key.
    pub(super) fn mark_private(&mut self, path: &Path) {
        if let Some(file) = self.0.get_mut(path) {
            file.is_private = true;
        }
    }

    pub(super) fn into_referenced(self) -> Vec<ReferencedFile> {
        let files = self.0.into_iter();
        files
            .map(|(path, ReadFile { as_written, is_private, read })| ReferencedFile {
                path,
                as_written,
                is_private,
                text: read.ok(),
            })
            .collect()
    }
}

/// Whether a path contains values of variables other than well-known directories.
pub(super) fn has_variables(written: &str) -> bool {
    let known = ["workspaceFolder}", "workspaceFolderBasename}", "userHome}", "HOME}", "env:HOME}"];
    let mut references = written.split("${").skip(1);
    references.any(|rest| !known.iter().any(|name| rest.starts_with(name)))
}

/// A hash of everything that a project brings with a definition and that decides what is run or dialled: the definition
/// as written, and the content of its files.
pub(crate) fn trust_fingerprint(config: &ServerConfig, files: &[ReferencedFile]) -> String {
    let definition = config.fingerprint();
    if files.is_empty() {
        return definition;
    }
    let files: Vec<_> =
        files.iter().map(|file| (file.path.to_string_lossy(), &file.text)).collect();
    format!("{:x}", Sha256::digest(json!([definition, files]).to_string()))
}
