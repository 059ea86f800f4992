//! Owns the text files that a definition names: each is read once for a resolution, and what was read is kept, so that
//! what is compared with the user's trust is what is used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::text_file::{self, Problem};
use crate::config::ServerConfig;

/// A file that a definition makes part of what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BroughtFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its content; absent when it cannot be read.
    pub(crate) text: Option<String>,
}

#[derive(Default)]
pub(super) struct Files(BTreeMap<PathBuf, Result<String, Problem>>);

impl Files {
    pub(super) fn read(&mut self, path: &Path) -> Result<String, Problem> {
        let read = self.0.entry(path.to_owned()).or_insert_with(|| text_file::read(path));
        read.clone()
    }

    pub(super) fn into_brought(self) -> Vec<BroughtFile> {
        let files = self.0.into_iter();
        files.map(|(path, read)| BroughtFile { path, text: read.ok() }).collect()
    }
}

/// A hash of all that a project brings with a definition and that decides what is run or reached: the definition as
/// written, and the content of its files.
pub(crate) fn trust_fingerprint(config: &ServerConfig, files: &[BroughtFile]) -> String {
    let definition = config.fingerprint();
    if files.is_empty() {
        return definition;
    }
    let files: Vec<_> =
        files.iter().map(|file| (file.path.to_string_lossy(), &file.text)).collect();
    format!("{:x}", Sha256::digest(json!([definition, files]).to_string()))
}
