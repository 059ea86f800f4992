//! Owns the file in which the user's trust is kept.
//! Invariant: whoever reads sees a whole file; of many writers none loses another's work; a file that cannot be read
//! trusts nothing, and is never thrown away.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Trusted;
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::ownership::make_private;
use crate::resolve::text_file;

const FILE: &str = "trust.json";
const LOCK: &str = "trust.lock";
const DAMAGED: &str = "trust.json.damaged";
const VERSION: u64 = 1;

/// What is trusted: fingerprints by file and server.
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
    /// What is trusted now; nothing when nothing was ever trusted.
    pub(crate) fn load(host_env: &HostEnv) -> Result<Store> {
        match host_env.config_dir() {
            Some(directory) => Store::read(&directory.join(FILE)).map_err(Unusable::into_error),
            None => Ok(Store::default()),
        }
    }

    /// Whether this definition is trusted; `path` as [`super::place_of`] gives it.
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

    /// Takes out what is meant, and gives it.
    pub(super) fn take(&mut self, is_meant: impl Fn(&Trusted) -> bool) -> Vec<Trusted> {
        let taken: Vec<_> = self.all().into_iter().filter(is_meant).collect();
        for one in &taken {
            if let Some(servers) = self.0.get_mut(&one.path) {
                servers.remove(&one.server);
            }
        }
        self.0.retain(|_, servers| !servers.is_empty());
        taken
    }

    /// Changes the file while nobody else does.
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
        // Beside the file, which is replaced by every change.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(directory.join(LOCK))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut store = match Store::read(&file) {
            Ok(store) => store,
            Err(Unusable::Damaged(error)) => {
                let kept = directory.join(DAMAGED);
                tracing::warn!("{}; it is kept as {}", error.message(), kept.display());
                std::fs::rename(&file, kept).map_err(failed)?;
                Store::default()
            }
            Err(Unusable::Other(error)) => return Err(error),
        };
        change(&mut store);
        store.write(&directory, &file).map_err(failed)
    }

    fn read(file: &Path) -> Result<Store, Unusable> {
        let unusable = |kind, why: &str| {
            let text = format!("What is trusted cannot be read from {}: {why}", file.display());
            Error::new(kind, text)
        };
        let text = match text_file::read(file) {
            Ok(text) => text,
            Err(text_file::Problem::Missing) => return Ok(Store::default()),
            Err(problem) => {
                return Err(Unusable::Other(unusable(ErrorKind::ConfigIo, problem.text())));
            }
        };
        let newer = serde_json::from_str(&text).is_ok_and(|it: Versioned| it.version > VERSION);
        if newer {
            let error = unusable(ErrorKind::ConfigInvalid, "a newer version of mcpool wrote it");
            return Err(Unusable::Other(error.with_hint("use that version")));
        }
        match serde_json::from_str::<Content>(&text) {
            Ok(content) if content.version == VERSION => Ok(Store(content.trusted)),
            _ => Err(Unusable::Damaged(unusable(ErrorKind::ConfigInvalid, "it is damaged"))),
        }
    }

    fn write(self, directory: &PathBuf, file: &Path) -> std::io::Result<()> {
        let content = Content { version: VERSION, trusted: self.0 };
        let mut text = serde_json::to_vec_pretty(&content)?;
        text.push(b'\n');
        // Private from the beginning: that is how temporary files are made.
        let mut fresh = tempfile::Builder::new().prefix(".trust-").tempfile_in(directory)?;
        fresh.write_all(&text)?;
        fresh.as_file().sync_all()?;
        fresh.persist(file)?;
        // The rename is on the disk only with its directory; where that cannot be asked for, it comes by itself.
        File::open(directory).and_then(|directory| directory.sync_all()).or(Ok(()))
    }
}

/// Why the file gives nothing.
enum Unusable {
    /// What it says means nothing.
    Damaged(Error),
    /// It may be fine, but not for us.
    Other(Error),
}

impl Unusable {
    fn into_error(self) -> Error {
        match self {
            Unusable::Damaged(error) => {
                error.with_hint("nothing is trusted until you run \"mcpool trust\" again")
            }
            Unusable::Other(error) => error,
        }
    }
}
