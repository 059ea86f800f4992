//! The file system of Windows.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_CANT_RESOLVE_FILENAME, ERROR_FILE_NOT_FOUND,
    ERROR_SHARING_VIOLATION, ERROR_TOO_MANY_OPEN_FILES,
};

/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
const OPEN_LINK: u32 = 0x0020_0000;
/// `MAX_PATH`
const LONGEST_PLAIN_PATH: usize = 260;
/// `WSAEMFILE`
const NO_SOCKET_LEFT: i32 = 10024;

pub(crate) const NULL_DEVICE: &str = "NUL";
/// The code of a missing file.
pub(crate) const NOT_FOUND: i32 = ERROR_FILE_NOT_FOUND as i32;
/// The code of symbolic links that go round in a loop.
pub(crate) const LINK_LOOP: i32 = ERROR_CANT_RESOLVE_FILENAME as i32;
/// The codes of a process or a system without a free handle.
pub(crate) const DESCRIPTOR_SHORTAGE: &[i32] = &[ERROR_TOO_MANY_OPEN_FILES as i32, NO_SOCKET_LEFT];

/// How often, and how long in total at most, a file that another process has open is tried again: a virus scanner has it
/// open for a moment, and so has a process that replaces it.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
const LONGEST_OPENING: Duration = Duration::from_millis(100);
const LONGEST_REPLACING: Duration = Duration::from_secs(2);

/// Tries again while access is denied.
fn retry<T>(limit: Duration, mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match action() {
            Err(error) if is_in_use(&error) && begun.elapsed() < limit => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

/// Windows reports a file that another process has open in either way.
fn is_in_use(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION].iter().any(|it| code == Some(*it as i32))
}

/// The physical path, without links. In the form that programs know, unless it means another file: `cmd.exe` cannot work in
/// a directory that begins with the prefix.
pub(crate) fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let physical = std::fs::canonicalize(path)?;
    let is_of_drive = |rest: &&str| rest.as_bytes().get(1) == Some(&b':');
    let plain = physical.to_str().and_then(|it| it.strip_prefix(r"\\?\")).filter(is_of_drive);
    let plain = plain.map(PathBuf::from).filter(|plain| {
        plain.as_os_str().len() < LONGEST_PLAIN_PATH
            && std::path::absolute(plain).is_ok_and(|same| same == *plain)
    });
    Ok(plain.unwrap_or(physical))
}

/// Opens a file for reading.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    // Opening a named pipe does not wait: it connects at once, or fails.
    retry(LONGEST_OPENING, || File::open(path))
}

/// Opens a file that is not a symbolic link.
pub(crate) fn open_without_following(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OPEN_LINK).open(path)?;
    match file.metadata()?.is_symlink() {
        true => Err(io::Error::from_raw_os_error(LINK_LOOP)),
        false => Ok(file),
    }
}

/// Changes nothing: a new file inherits the access list of its directory, and that of a user's profile is private.
pub(crate) fn make_options_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opens a directory that is to be locked itself; `None` because only files can be locked here.
pub(crate) fn open_directory_to_lock(_directory: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Renames a temporary file over `target`.
pub(crate) fn persist(file: NamedTempFile, target: &Path) -> io::Result<()> {
    let mut left = Some(file);
    retry(LONGEST_REPLACING, || match left.take().map(|file| file.persist(target)) {
        Some(Err(failed)) => {
            left = Some(failed.file);
            Err(failed.error)
        }
        _ => Ok(()),
    })
}

/// Does nothing: a directory cannot be flushed here, and NTFS logs a rename.
pub(crate) fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Fails if the user must not write to the file.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    retry(LONGEST_OPENING, || File::options().write(true).open(path).map(drop))
}

/// Whether the user may create files in the directory. The access list is not read; a write shows it.
#[cfg(feature = "cli")]
pub(crate) fn can_create_files_in(directory: &Path) -> bool {
    directory.is_dir()
}

pub(crate) fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// Does nothing: the new file has the access list that it inherits from the directory.
pub(crate) fn take_after(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Another value after the file was replaced.
pub(crate) fn version(about: &Metadata) -> impl PartialEq + use<> {
    (about.creation_time(), about.last_write_time(), about.file_size())
}

/// Reserves this much room on the disk: NTFS allocates the whole length of a file that is not sparse.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}
