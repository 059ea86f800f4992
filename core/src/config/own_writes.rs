//! Owns remembering what this process wrote to config files, so that the watcher can ignore our own writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use super::path::physical;
use crate::fork::PerProcess;
use crate::sync::lock;

/// The name prefix of a temporary file.
pub(crate) const UNFINISHED_PREFIX: &str = ".mcpool-edit-";

static WRITTEN: PerProcess<Mutex<HashMap<PathBuf, [u8; 32]>>> = PerProcess::new(Mutex::default);

/// Records the new content of a file, before it is visible to others.
pub(crate) fn record(path: &Path, content: &[u8]) {
    lock(WRITTEN.get()).insert(physical(path), Sha256::digest(content).into());
}

#[cfg(any(feature = "watch", test))]
/// Whether the file has the content that this process wrote last, or is a temporary file.
pub(crate) fn is_own_write(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    if name.to_string_lossy().starts_with(UNFINISHED_PREFIX) {
        return true;
    }
    let Some(noted) = lock(WRITTEN.get()).get(&physical(path)).copied() else { return false };
    super::file::read_text(path).is_ok_and(|text| noted == <[u8; 32]>::from(Sha256::digest(text)))
}
