//! Owns the text files that a definition names. Each is read once per resolution and kept, so that the trust check
//! covers exactly what is used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::text_file::{self, Problem};
use crate::config::ServerConfig;

/// A file that becomes part of what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReferencedFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its content; `None` if it cannot be read.
    pub(crate) text: Option<String>,
}

#[derive(Default)]
pub(super) struct Files(BTreeMap<PathBuf, Result<String, Problem>>);

impl Files {
    pub(super) fn read(&mut self, path: &Path) -> Result<String, Problem> {
        let read = self.0.entry(path.to_owned()).or_insert_with(|| text_file::read(path));
        read.clone()
    }

    pub(super) fn into_referenced(self) -> Vec<ReferencedFile> {
        let files = self.0.into_iter();
        files.map(|(path, read)| ReferencedFile { path, text: read.ok() }).collect()
    }
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
