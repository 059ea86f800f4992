//! Owns the files that keep logins between processes: one directory for each, which is also its lock.
//! Invariant: a file that others could have written or can read is not used; readers see a whole record; whoever changes
//! a login holds its lock, over all processes. A login is written sealed if the keychain gives a key, and plain otherwise.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::directory_lock::DirectoryLock;
use crate::file_system::{persist, reserve, sync_directory};
use crate::host_env::HostEnv;
use crate::ownership::{User, is_private};
use crate::regular_file;

use super::keychain::{Keychain, NoKey};
use super::record::Record;
use super::seal::{Key, Sealed};

const DIRECTORY: &str = "logins";
const FILE: &str = "login.json";
/// How long another process may hold a login.
pub(super) const LOCK: Duration = Duration::from_secs(45);
/// How large a record may be.
const LIMIT: u64 = 1 << 20;
/// How much larger than the one before a record may be without a doubt that the disk has room for it.
const ROOM: u64 = 128 << 10;

/// Where one login is kept.
#[derive(Clone, Debug)]
pub(super) struct LoginFile {
    directory: PathBuf,
    keys: Keys,
}

/// Where the key comes from.
#[derive(Clone, Debug)]
enum Keys {
    Keychain(Keychain),
    /// From whoever has asked the keychain.
    Given(Option<Arc<Key>>),
}

impl Keys {
    fn to_open(&self, id: &str) -> Result<Arc<Key>, NoKey> {
        match self {
            Keys::Keychain(keychain) => keychain.key_to_open(id),
            Keys::Given(key) => key.clone().filter(|key| key.id() == id).ok_or(NoKey::Other),
        }
    }

    fn to_seal(&self) -> Result<Arc<Key>, NoKey> {
        match self {
            Keys::Keychain(keychain) => keychain.key_to_seal(),
            Keys::Given(key) => key.clone().ok_or(NoKey::Absent),
        }
    }
}

/// Whether a record is written sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sealing {
    /// Like the one that is there: the keychain is not asked for the sake of a plain file.
    AsBefore,
    IfPossible,
}

/// A place on disk for a record that is to be written. What could fail has been done.
pub(super) struct Draft {
    file: NamedTempFile,
    key: Option<Arc<Key>>,
}

/// How a login is kept.
#[cfg(feature = "cli")]
pub(crate) enum Kept {
    Sealed,
    /// Not sealed, with the reason if the keychain is not even asked.
    Plain(Option<String>),
}

/// Nobody else changes the login while it is held.
pub(super) struct LoginLock {
    _lock: DirectoryLock,
}

impl LoginFile {
    /// `None` if there is no home directory.
    pub(super) fn new(host_env: &HostEnv, key: &str) -> Option<Self> {
        let directory = host_env.config_dir()?.join(DIRECTORY).join(key);
        let keychain = Keychain::new(host_env, directory.parent()?);
        Some(LoginFile { directory, keys: Keys::Keychain(keychain) })
    }

    /// The login in this directory, for somebody who was given the key.
    pub(super) fn with_key(directory: PathBuf, key: Option<Key>) -> Self {
        LoginFile { directory, keys: Keys::Given(key.map(Arc::new)) }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The key that the record is sealed with; `None` if it is plain. Blocks.
    pub(super) fn key(&self) -> io::Result<Option<Arc<Key>>> {
        match self.read_text()?.as_deref().and_then(Sealed::read) {
            Some(sealed) => self.key_of(&sealed).map(Some),
            None => Ok(None),
        }
    }

    /// Waits for the lock, at most for a time; `None` if another process holds it for longer. Blocks.
    pub(super) fn lock(&self, at_most: Duration) -> io::Result<Option<LoginLock>> {
        self.make_directory()?;
        let lock = DirectoryLock::acquire(&self.directory, |waited| waited < at_most)?;
        Ok(lock.map(|_lock| LoginLock { _lock }))
    }

    fn make_directory(&self) -> io::Result<()> {
        let user = User::current();
        if let Some(above) = self.directory.parent() {
            user.own_directory(above)?;
        }
        user.own_directory(&self.directory)
    }

    /// Whether there is a record, usable or not.
    pub(super) fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    /// The record; `None` if there is none. Blocks.
    pub(super) fn read(&self) -> io::Result<Option<Record>> {
        let Some(text) = self.read_text()? else { return Ok(None) };
        match Sealed::read(&text) {
            Some(sealed) => Record::read(&self.open(&sealed)?).map(Some),
            None => Record::read(&text).map(Some),
        }
    }

    /// How the record is kept; `None` if there is none. Blocks.
    #[cfg(feature = "cli")]
    pub(super) fn kept(&self) -> Option<Kept> {
        let text = self.read_text().ok()??;
        Some(match Sealed::read(&text) {
            Some(_) => Kept::Sealed,
            None => Kept::Plain(match &self.keys {
                Keys::Keychain(keychain) => keychain.not_asked().map(|why| why.to_string()),
                Keys::Given(_) => None,
            }),
        })
    }

    fn read_text(&self) -> io::Result<Option<Vec<u8>>> {
        let user = User::current();
        let directory = match user.open_directory(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let (file, about) = match user.open_file(&directory, Path::new(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !is_private(&about) {
            return Err(io::Error::other("other users may read it"));
        }
        let damaged = |_| io::Error::other("it is damaged");
        regular_file::read_open(file, about.len(), LIMIT).map(Some).map_err(damaged)
    }

    fn open(&self, sealed: &Sealed) -> io::Result<Vec<u8>> {
        if !sealed.is_known() {
            return Err(io::Error::other("another version of mcpool wrote it"));
        }
        let damaged = || io::Error::other("it is damaged, or the file of another login");
        self.key_of(sealed)?.open(&self.name(), sealed).ok_or_else(damaged)
    }

    fn key_of(&self, sealed: &Sealed) -> io::Result<Arc<Key>> {
        let no_key = |why: NoKey| io::Error::other(format!("it is sealed, and {why}"));
        self.keys.to_open(sealed.key_id()).map_err(no_key)
    }

    /// Replaces the record. The lock must be held. Blocks.
    pub(super) fn write(
        &self,
        record: &Record,
        sealing: Sealing,
        lock: &LoginLock,
    ) -> io::Result<()> {
        let draft = self.draft(sealing, lock)?;
        self.finish(draft, record)
    }

    /// Gets all that is needed to replace the record: the key, and room on the disk. The lock must be held. Blocks.
    pub(super) fn draft(&self, sealing: Sealing, _lock: &LoginLock) -> io::Result<Draft> {
        let key = match sealing {
            Sealing::AsBefore => self.key()?,
            Sealing::IfPossible => self.keys.to_seal().inspect_err(|why| self.tell(why)).ok(),
        };
        // Temporary files are created private.
        let file = tempfile::Builder::new().prefix(".login-").tempfile_in(&self.directory)?;
        let before = self.path().metadata().map_or(0, |about| about.len());
        reserve(file.as_file(), before + ROOM)?;
        Ok(Draft { file, key })
    }

    /// Replaces the record. Blocks.
    pub(super) fn finish(&self, mut draft: Draft, record: &Record) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(record)?;
        if let Some(key) = &draft.key {
            let no_numbers = || io::Error::other("the system gives no random numbers");
            let sealed = key.seal(&self.name(), text).ok_or_else(no_numbers)?;
            text = serde_json::to_vec_pretty(&sealed)?;
        }
        if text.len() as u64 > LIMIT {
            return Err(io::Error::other("it is too large"));
        }
        draft.file.write_all(&text)?;
        draft.file.as_file().set_len(text.len() as u64)?;
        draft.file.as_file().sync_all()?;
        persist(draft.file, &self.path())?;
        sync_directory(&self.directory).or(Ok(()))
    }

    /// Says why a record is not sealed.
    fn tell(&self, why: &NoKey) {
        let before = self.read_text().ok().flatten();
        match before.as_deref().and_then(Sealed::read) {
            Some(_) => tracing::warn!("a sealed login becomes a plain file: {why}"),
            None => tracing::debug!("a login is kept in a plain file: {why}"),
        }
    }

    /// The name that a sealed record is bound to.
    fn name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Removes the record; returns whether there was one. The lock must be held. Blocks.
    pub(super) fn remove(&self, _lock: &LoginLock) -> io::Result<bool> {
        match std::fs::remove_file(self.path()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(home: &Path) -> LoginFile {
        let host_env = HostEnv::new(Some(Default::default()), Some(home.to_owned()), None);
        LoginFile::new(&host_env, "key").unwrap()
    }

    fn write(file: &LoginFile, server: &str) {
        let lock = file.lock(Duration::ZERO).unwrap().expect("nobody holds it");
        file.write(&Record::new(server, "hash"), Sealing::IfPossible, &lock).unwrap();
    }

    #[test]
    fn a_record_comes_back_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        assert_eq!(file.read().unwrap(), None);
        write(&file, "https://h/mcp");
        assert_eq!(file.read().unwrap(), Some(Record::new("https://h/mcp", "hash")));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.path()), mode(&file.directory)), (0o600, 0o700));
        let lock = file.lock(Duration::ZERO).unwrap().unwrap();
        assert!(file.remove(&lock).unwrap());
        assert!(!file.remove(&lock).unwrap());
        assert_eq!(file.read().unwrap(), None);
    }

    #[test]
    fn a_file_that_others_may_read_or_write_is_not_used() {
        for mode in [0o640, 0o604, 0o620, 0o602] {
            let home = tempfile::tempdir().unwrap();
            let file = file(home.path());
            write(&file, "https://h/mcp");
            std::fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            file.read().expect_err("it is not private");
        }
    }

    #[test]
    fn a_link_or_a_damaged_file_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        write(&file, "https://h/mcp");
        let elsewhere = home.path().join("elsewhere.json");
        std::fs::rename(file.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file.path()).unwrap();
        file.read().expect_err("it is a link");
        for text in ["", "{}", "{\"version\":2,\"server\":\"\",\"server_hash\":\"\"}", "nonsense"] {
            std::fs::remove_file(file.path()).unwrap();
            std::fs::write(file.path(), text).unwrap();
            std::fs::set_permissions(file.path(), Permissions::from_mode(0o600)).unwrap();
            file.read().expect_err(text);
        }
    }
}
