//! Owns remembering what this process wrote into config files, so that whoever follows them can tell its own writes from
//! those of others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use crate::fork::PerProcess;
use crate::sync::lock;

/// What the name of a file begins with that is not written to its end.
pub(super) const UNFINISHED_PREFIX: &str = ".mcpool-edit-";

static WRITTEN: PerProcess<Mutex<HashMap<PathBuf, [u8; 32]>>> = PerProcess::new(Mutex::default);

/// Notes what is about to be the content of a file; to be called before others can see it.
pub(crate) fn note(path: &Path, content: &[u8]) {
    lock(WRITTEN.get()).insert(physical(path), Sha256::digest(content).into());
}

#[cfg(any(feature = "watch", test))]
/// Whether the file is as this process has written it last, or is on its way to become a config file.
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    if name.to_string_lossy().starts_with(UNFINISHED_PREFIX) {
        return true;
    }
    let Some(noted) = lock(WRITTEN.get()).get(&physical(path)).copied() else { return false };
    super::file::read_text(path).is_ok_and(|text| noted == <[u8; 32]>::from(Sha256::digest(text)))
}

/// The path by which the same file is the same, however it is reached; a file that is not there has a place too.
pub(crate) fn physical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    std::fs::canonicalize(&absolute).unwrap_or_else(|_| {
        match (absolute.parent().map(std::fs::canonicalize), absolute.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => absolute,
        }
    })
}
