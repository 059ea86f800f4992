//! Owns replacing a file as a whole: one writer at a time, and a reader sees the old text or the new one.
//! Invariant: a process that ends at any point leaves nothing locked, and the next writer removes the temporary files
//! of a killed one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::confine::confined;
use crate::config::own_writes::{self, UNFINISHED_PREFIX};
use crate::config::{io_problem_in_words, read_text};
use crate::directory_lock::DirectoryLock;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::{LINK_LOOP, check_writable, persist, sync_directory, take_after, version};
use crate::ownership::make_private;

/// How long to wait for the lock while no other writer makes progress, and in total.
const LONGEST_STANDSTILL: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// As many as Linux follows.
pub(super) const MOST_LINKS: usize = 40;
const MOST_ATTEMPTS: usize = 20;

/// Changes the text of a file with `edit`, which gets the old text (`None` without a file) and returns the new one, or
/// `None` to leave the file unchanged. A symbolic link stays, and its target is changed, unless the target is not
/// `within`.
pub(super) fn change(
    path: &Path,
    within: Option<&Path>,
    mut edit: impl FnMut(Option<&str>) -> Result<Option<String>>,
) -> Result<()> {
    let find = || match within {
        Some(project) => confined(path, project),
        None => target(path).map_err(|error| failed(path, "found", &error)),
    };
    let target = find()?;
    let directory = match target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent,
        None => Path::new("."),
    };
    // Without the directory there is no file. `edit` decides whether one is wanted before anything is created.
    if !directory.exists() {
        if edit(None)?.is_none() {
            return Ok(());
        }
        make_private(directory).map_err(|error| failed(path, "written", &error))?;
    }
    let _lock = lock(directory, &target, path)?;
    for _ in 0..MOST_ATTEMPTS {
        let old = read(&target, path)?;
        let Some(new) = edit(old.as_deref())? else { return Ok(()) };
        let written = Unfinished::write(&target, directory, &new)
            .map_err(|error| failed(path, "written", &error))?;
        // Other programs may change the file without our lock, and links may be changed.
        if read(&target, path)? == old && find()? == target {
            return written
                .finish(&target, directory)
                .map_err(|error| failed(path, "written", &error));
        }
    }
    let text = format!("The config file {} changes all the time", path.display());
    Err(Error::new(ErrorKind::ConfigIo, text).with_hint("try again when the other program is done"))
}

fn read(target: &Path, shown: &Path) -> Result<Option<String>> {
    match std::fs::metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The error has the path that the user knows.
        _ => read_text(shown).map(Some),
    }
}

/// The target of the links, even if it does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_symlink() => {
                let next = std::fs::read_link(&at)?;
                at = at.parent().unwrap_or(Path::new("")).join(next);
            }
            _ => return Ok(at),
        }
    }
    Err(io::Error::from_raw_os_error(LINK_LOOP))
}

pub(super) fn failed(path: &Path, done: &str, error: &io::Error) -> Error {
    let shown = path.display();
    let text = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("The config file {shown} cannot be {done}: permission denied")
        }
        _ if done == "found" => format!("The config file {shown} {}", io_problem_in_words(error)),
        _ => format!("The config file {shown} cannot be {done}: {error}"),
    };
    Error::new(ErrorKind::ConfigIo, text).caused_by(error)
}

/// Waits for other processes that change files of the directory.
fn lock(directory: &Path, target: &Path, shown: &Path) -> Result<DirectoryLock> {
    // Each change replaces the file, so a waiter sees the progress of other writers.
    let version = || std::fs::metadata(target).ok().map(|about| version(&about));
    let (mut seen, mut seen_at) = (version(), Duration::ZERO);
    let keep_waiting = |waited: Duration| {
        let now = version();
        if now != seen {
            (seen, seen_at) = (now, waited);
        }
        waited - seen_at <= LONGEST_STANDSTILL && waited <= LONGEST_WAIT
    };
    let lock = DirectoryLock::acquire(directory, keep_waiting);
    lock.map_err(|error| failed(shown, "locked", &error))?.ok_or_else(|| {
        let shown = shown.display();
        let text = format!("The config file {shown} is being changed by another process");
        let hint = "try again; if it stays so, a process that hangs has its directory locked";
        Error::new(ErrorKind::ConfigIo, text).with_hint(hint)
    })
}

/// The new text in a temporary file, which is removed unless it is finished.
struct Unfinished(tempfile::NamedTempFile);

impl Unfinished {
    fn write(target: &Path, directory: &Path, text: &str) -> io::Result<Unfinished> {
        let old = std::fs::metadata(target).ok();
        if old.is_some() {
            check_writable(target)?;
        }
        clear_abandoned(directory);
        let mut file = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        // A new file is private to the user.
        if let Some(old) = &old {
            take_after(file.as_file(), old)?;
        }
        file.as_file().sync_all()?;
        // Recorded before the rename, so that the watcher can ignore our own write.
        own_writes::record(target, text.as_bytes());
        Ok(Unfinished(file))
    }

    fn finish(self, target: &Path, directory: &Path) -> io::Result<()> {
        persist(self.0, target)?;
        sync_directory(directory)
    }
}

/// Only the holder of the lock writes here, so every other temporary file is abandoned.
fn clear_abandoned(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED_PREFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
