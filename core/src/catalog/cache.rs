//! Owns the tool cache between sessions: one file per definition of a server. What a tool was when it was first seen is
//! in `pin_file`. Everything here blocks; the caller keeps it off the runtime.
//! Invariant: best effort. A bad file is a miss, a disk error is a warning; only files owned by the user are used; a
//! reader sees a whole file or none; of a definition only the name and the hash are written.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::file_system::persist;
use crate::fork::PerProcess;
use crate::ownership::User;
use crate::regular_file::{self, Problem};
use crate::sync::lock;

const VERSION: u32 = 1;
/// How much of a fingerprint is in the name of its file.
const HASH_DIGITS: usize = 16;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const KEPT_MS: u64 = 30 * DAY_MS;
const LARGEST_FILE: u64 = 64 << 20;
const VARIABLE: &str = "MCPOOL_CACHE_DIR";
const UNFINISHED_PREFIX: &str = ".mcpool-";
const UNFINISHED_SUFFIX: &str = ".tmp";

/// Where tools are cached, if anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cache {
    dir: Option<PathBuf>,
    user: User,
}

impl Cache {
    /// In `dir`; without it, in `MCPOOL_CACHE_DIR` or the user's cache directory.
    pub(crate) fn at(dir: Option<PathBuf>) -> Self {
        let users = etcetera::base_strategy::choose_native_strategy().ok();
        let users = users.map(|strategy| strategy.cache_dir());
        Cache {
            dir: choose_directory(dir, std::env::var_os(VARIABLE), users),
            user: User::current(),
        }
    }

    /// Caches nothing.
    pub(crate) fn off() -> Self {
        Cache { dir: None, user: User::current() }
    }

    /// The cache directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    pub(crate) fn is_off(&self) -> bool {
        self.dir.is_none()
    }

    /// The cached tools of this definition.
    pub(crate) fn load(&self, server: &str, fingerprint: &str, now_ms: u64) -> Option<CachedTools> {
        let path = self.file(server, fingerprint)?;
        match self.read(&path) {
            Ok(found) => {
                let found = found.filter(|it| it.is_of(server, fingerprint))?;
                found.is_fresh(now_ms, KEPT_MS).then_some(found)
            }
            Err(CacheReadError::Directory(error)) => {
                warn_of_directory(&path, &error);
                None
            }
            Err(CacheReadError::File(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(CacheReadError::File(error)) => {
                tracing::warn!(server, file = %path.display(), "cannot read the remembered tools: {error}");
                None
            }
        }
    }

    /// Caches the tools of this definition.
    pub(crate) fn store(
        &self,
        server: &str,
        fingerprint: &str,
        protocol_version: Option<&str>,
        tools: &[Bytes],
        now_ms: u64,
    ) {
        let Some(path) = self.file(server, fingerprint) else { return };
        let _alone = lock(CHANGING.get());
        let old = self.read(&path).ok().flatten();
        let old = old.filter(|old| old.is_of(server, fingerprint));
        let new = CachedTools {
            server: server.to_owned(),
            fingerprint: fingerprint.to_owned(),
            time_ms: now_ms,
            protocol_version: protocol_version.map(str::to_owned),
            tools: tools.to_vec(),
        };
        // Every start of every agent gets here, so unchanged content is not written again.
        let known = old.is_some_and(|old| old.is_fresh(now_ms, DAY_MS) && old.has_content_of(&new));
        if !known {
            new.save(&path, self.user, now_ms);
        }
    }

    fn read(&self, path: &Path) -> Result<Option<CachedTools>, CacheReadError> {
        CachedTools::parse(read_own(path, self.user)?).map_err(CacheReadError::File)
    }

    fn file(&self, server: &str, fingerprint: &str) -> Option<PathBuf> {
        let short = fingerprint.get(..HASH_DIGITS).unwrap_or(fingerprint);
        Some(self.dir.as_ref()?.join("tools").join(format!("{server}-{short}.json")))
    }
}

fn choose_directory(
    given: Option<PathBuf>,
    variable: Option<OsString>,
    of_user: Option<PathBuf>,
) -> Option<PathBuf> {
    let dir = given
        .or_else(|| variable.filter(|dir| !dir.is_empty()).map(PathBuf::from))
        .or_else(|| of_user.map(|dir| dir.join("mcpool")))?;
    // Made absolute, because the process may change its directory later.
    Some(std::path::absolute(&dir).unwrap_or(dir))
}

/// Serialises changes of a file, because a write depends on the preceding read.
static CHANGING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

/// The content of a file.
pub(crate) struct CachedTools {
    server: String,
    fingerprint: String,
    time_ms: u64,
    pub(crate) protocol_version: Option<String>,
    /// The tools, each as the server wrote it.
    pub(crate) tools: Vec<Bytes>,
}

#[derive(Serialize, Deserialize)]
struct Content<'a> {
    version: u32,
    server: String,
    fingerprint: String,
    time_ms: u64,
    protocol_version: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl CachedTools {
    /// `None` if the file is from another version of this library.
    fn parse(bytes: Bytes) -> io::Result<Option<Self>> {
        let content: Content<'_> = match serde_json::from_slice(&bytes) {
            Ok(content) => content,
            Err(error) => {
                let other = serde_json::from_slice(&bytes)
                    .is_ok_and(|Version { version }| version != VERSION);
                return if other { Ok(None) } else { Err(error.into()) };
            }
        };
        if content.version != VERSION {
            return Ok(None);
        }
        let tools = content.tools.iter().map(|tool| bytes.slice_ref(tool.get().as_bytes()));
        Ok(Some(CachedTools {
            tools: tools.collect(),
            server: content.server,
            fingerprint: content.fingerprint,
            time_ms: content.time_ms,
            protocol_version: content.protocol_version,
        }))
    }

    fn save(&self, path: &Path, user: User, now_ms: u64) {
        match self.write(path, user) {
            Ok(()) => prune(path, now_ms),
            Err(error) => {
                let (server, file) = (self.server.as_str(), path.display());
                tracing::warn!(server, %file, "cannot remember the tools: {error}");
            }
        }
    }

    fn write(&self, path: &Path, user: User) -> io::Result<()> {
        // Not synced: a file torn by a crash is a miss.
        replace(path, &self.to_json()?, user, |_| Ok(()))
    }

    fn to_json(&self) -> io::Result<Vec<u8>> {
        let tools: Result<_, _> =
            self.tools.iter().map(|tool| serde_json::from_slice(tool)).collect();
        Ok(serde_json::to_vec(&Content {
            version: VERSION,
            server: self.server.clone(),
            fingerprint: self.fingerprint.clone(),
            time_ms: self.time_ms,
            protocol_version: self.protocol_version.clone(),
            tools: tools?,
        })?)
    }

    fn is_of(&self, server: &str, fingerprint: &str) -> bool {
        self.server == server && self.fingerprint == fingerprint
    }

    /// Clocks may differ by a day; a file from further in the future would never expire.
    fn is_fresh(&self, now_ms: u64, kept_ms: u64) -> bool {
        now_ms.saturating_sub(self.time_ms) <= kept_ms
            && self.time_ms.saturating_sub(now_ms) <= DAY_MS
    }

    fn has_content_of(&self, other: &Self) -> bool {
        self.is_of(&other.server, &other.fingerprint)
            && self.protocol_version == other.protocol_version
            && self.tools == other.tools
    }
}

/// Why nothing was read.
pub(super) enum CacheReadError {
    /// Others could have put files there, which affects all of them.
    Directory(io::Error),
    File(io::Error),
}

impl From<CacheReadError> for io::Error {
    fn from(unread: CacheReadError) -> Self {
        match unread {
            CacheReadError::Directory(error) | CacheReadError::File(error) => error,
        }
    }
}

/// The bytes of a regular file that the user owns.
pub(super) fn read_own(path: &Path, user: User) -> Result<Bytes, CacheReadError> {
    let dir = path.parent().expect("a file below the cache's directory");
    let name = path.file_name().map(Path::new).expect("a file has a name");
    let dir = user.open_directory(dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CacheReadError::File(error),
        _ => CacheReadError::Directory(error),
    })?;
    let (file, about) = user.open_file(&dir, name).map_err(CacheReadError::File)?;
    match regular_file::read_open(file, about.len(), LARGEST_FILE) {
        Ok(bytes) => Ok(bytes.into()),
        Err(Problem::Io(error)) => Err(CacheReadError::File(error)),
        Err(_) => Err(CacheReadError::File(too_large("it is"))),
    }
}

fn too_large(what: &str) -> io::Error {
    io::Error::other(format!("{what} over {} MiB", LARGEST_FILE >> 20))
}

/// Writes a private file and renames it over the existing one. `sync` may wait for the disk.
pub(super) fn replace(
    path: &Path,
    content: &[u8],
    user: User,
    sync: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    if content.len() as u64 > LARGEST_FILE {
        return Err(too_large("they are"));
    }
    let dir = path.parent().expect("a file below the cache's directory");
    user.own_directory(dir)?;
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED_PREFIX)
        .suffix(UNFINISHED_SUFFIX)
        .tempfile_in(dir)?;
    file.write_all(content)?;
    sync(file.as_file())?;
    persist(file, path)
}

/// Whether a file was left by an interrupted writer.
pub(super) fn is_leftover(name: &str) -> bool {
    name.starts_with(UNFINISHED_PREFIX) && name.ends_with(UNFINISHED_SUFFIX)
}

/// Once per directory, however many servers have files there.
fn warn_of_directory(file: &Path, error: &io::Error) {
    static WARNED: PerProcess<Mutex<HashSet<PathBuf>>> = PerProcess::new(Mutex::default);
    let Some(dir) = file.parent() else { return };
    if lock(WARNED.get()).insert(dir.to_owned()) {
        let dir = dir.display();
        tracing::warn!(%dir, "the remembered tools are not read: {error}");
    }
}

/// Removes expired files and those of interrupted writers, once a day.
fn prune(written: &Path, now_ms: u64) {
    static PRUNED_MS: PerProcess<Mutex<HashMap<PathBuf, u64>>> = PerProcess::new(Mutex::default);
    let Some(dir) = written.parent() else { return };
    let last_ms = lock(PRUNED_MS.get()).get(dir).copied();
    if last_ms.is_some_and(|last_ms| now_ms.abs_diff(last_ms) < DAY_MS) {
        return;
    }
    lock(PRUNED_MS.get()).insert(dir.to_owned(), now_ms);
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let kept_ms = if has_hashed_name(name, HASH_DIGITS) {
            KEPT_MS
        } else if is_leftover(name) {
            DAY_MS
        } else {
            continue;
        };
        if entry.path() != written && age_ms(&entry, now_ms).is_some_and(|age| age > kept_ms) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a file is named as we name them: server, dash, hash of so many digits.
pub(super) fn has_hashed_name(name: &str, digits: usize) -> bool {
    name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-')).is_some_and(|(_, hash)| {
        hash.len() == digits && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn age_ms(entry: &DirEntry, now_ms: u64) -> Option<u64> {
    let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(now_ms.saturating_sub(modified.as_millis() as u64))
}

#[cfg(test)]
mod tests;
