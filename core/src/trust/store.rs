//! Owns the file that stores the user's trust.
//! Invariant: readers see a complete file, concurrent writers never lose each other's changes, and an unreadable file
//! trusts nothing and is never deleted.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Trusted;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::{make_options_private, persist, sync_directory};
use crate::host_env::HostEnv;
use crate::ownership::make_private;
use crate::resolve::text_file;

const FILE: &str = "trust.json";
const LOCK: &str = "trust.lock";
const DAMAGED: &str = "trust.json.damaged";
const VERSION: u64 = 1;

/// Trusted fingerprints by file and server.
#[derive(Default, Debug)]
pub(crate) struct Store(BTreeMap<String, BTreeMap<String, String>>);

#[derive(Serialize, Deserialize)]
struct Content {
    version: u64,
    #[serde(default)]
    trusted: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

impl Store {
    /// The current store; empty if nothing was ever trusted.
    pub(crate) fn load(host_env: &HostEnv) -> Result<Store> {
        match host_env.config_dir() {
            Some(directory) => Store::read(&directory.join(FILE)).map_err(StoreError::into_error),
            None => Ok(Store::default()),
        }
    }

    /// Whether this definition is trusted; `path` as [`super::stored_path`] returns it.
    pub(crate) fn trusts(&self, path: &Path, server: &str, fingerprint: &str) -> bool {
        let servers = path.to_str().and_then(|path| self.0.get(path));
        servers.and_then(|servers| servers.get(server)).is_some_and(|kept| kept == fingerprint)
    }

    pub(super) fn all(&self) -> Vec<Trusted> {
        let entries = self.0.iter().flat_map(|(path, servers)| {
            servers.iter().map(move |(server, fingerprint)| Trusted {
                path: path.clone(),
                server: server.clone(),
                fingerprint: fingerprint.clone(),
            })
        });
        entries.collect()
    }

    pub(super) fn add(&mut self, trusted: &[Trusted]) {
        for Trusted { path, server, fingerprint } in trusted {
            let servers = self.0.entry(path.clone()).or_default();
            servers.insert(server.clone(), fingerprint.clone());
        }
    }

    /// Removes and returns the entries that match.
    pub(super) fn take(&mut self, matches: impl Fn(&Trusted) -> bool) -> Vec<Trusted> {
        let taken: Vec<_> = self.all().into_iter().filter(matches).collect();
        for one in &taken {
            if let Some(servers) = self.0.get_mut(&one.path) {
                servers.remove(&one.server);
            }
        }
        self.0.retain(|_, servers| !servers.is_empty());
        taken
    }

    /// Changes the file under a lock.
    pub(super) fn change(host_env: &HostEnv, change: impl FnOnce(&mut Store)) -> Result<()> {
        let directory = host_env.config_dir().ok_or_else(|| {
            let text = "There is no place to remember what is trusted: no home directory is known";
            Error::new(ErrorKind::ConfigIo, text).with_hint("set HOME or XDG_CONFIG_HOME")
        })?;
        let file = directory.join(FILE);
        let failed = |error: std::io::Error| {
            let text = format!("{} cannot be written: {error}", file.display());
            Error::new(ErrorKind::ConfigIo, text).caused_by(&error)
        };
        make_private(&directory).map_err(failed)?;
        // A separate lock file, since every change replaces the store.
        let mut options = OpenOptions::new();
        make_options_private(options.write(true).create(true).truncate(false));
        let lock = options.open(directory.join(LOCK)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut store = match Store::read(&file) {
            Ok(store) => store,
            Err(StoreError::Damaged(error)) => {
                let kept = directory.join(DAMAGED);
                tracing::warn!("{}; it is kept as {}", error.message(), kept.display());
                std::fs::rename(&file, kept).map_err(failed)?;
                Store::default()
            }
            Err(StoreError::Other(error)) => return Err(error),
        };
        change(&mut store);
        store.write(&directory, &file).map_err(failed)
    }

    fn read(file: &Path) -> Result<Store, StoreError> {
        let unusable = |kind, why: &str| {
            let text = format!("What is trusted cannot be read from {}: {why}", file.display());
            Error::new(kind, text)
        };
        let text = match text_file::read(file) {
            Ok(text) => text,
            Err(text_file::TextFileError::Missing) => return Ok(Store::default()),
            Err(problem) => {
                return Err(StoreError::Other(unusable(ErrorKind::ConfigIo, problem.text())));
            }
        };
        let newer = serde_json::from_str(&text).is_ok_and(|it: Versioned| it.version > VERSION);
        if newer {
            let error = unusable(ErrorKind::ConfigInvalid, "a newer version of mcpool wrote it");
            return Err(StoreError::Other(error.with_hint("use that version")));
        }
        match serde_json::from_str::<Content>(&text) {
            Ok(content) if content.version == VERSION => Ok(Store(content.trusted)),
            _ => Err(StoreError::Damaged(unusable(ErrorKind::ConfigInvalid, "it is damaged"))),
        }
    }

    fn write(self, directory: &PathBuf, file: &Path) -> std::io::Result<()> {
        let content = Content { version: VERSION, trusted: self.0 };
        let mut text = serde_json::to_vec_pretty(&content)?;
        text.push(b'\n');
        // Temporary files are created private.
        let mut fresh = tempfile::Builder::new().prefix(".trust-").tempfile_in(directory)?;
        fresh.write_all(&text)?;
        fresh.as_file().sync_all()?;
        persist(fresh, file)?;
        // The rename is durable only after its directory is synced; where that is not supported, the system does it
        // later.
        sync_directory(directory).or(Ok(()))
    }
}

/// Why the file cannot be used.
enum StoreError {
    /// Its content is invalid.
    Damaged(Error),
    /// It may be valid, but we cannot use it.
    Other(Error),
}

impl StoreError {
    fn into_error(self) -> Error {
        match self {
            StoreError::Damaged(error) => {
                error.with_hint("nothing is trusted until you run \"mcpool trust\" again")
            }
            StoreError::Other(error) => error,
        }
    }
}
