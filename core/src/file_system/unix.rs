//! The file system of Unix.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FallocateFlags, Gid, Mode, OFlags, Uid, access, fchown};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// What a file system says that cannot reserve room. macOS has two numbers for "not supported".
const CANNOT_RESERVE: [Errno; 4] = [Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS, Errno::INVAL];

pub(crate) const NULL_DEVICE: &str = "/dev/null";
/// The code of a missing file.
pub(crate) const NOT_FOUND: i32 = libc::ENOENT;
/// The code of symbolic links that go round in a loop.
pub(crate) const LINK_LOOP: i32 = libc::ELOOP;
/// The codes of a process or a system without a free descriptor.
pub(crate) const DESCRIPTOR_SHORTAGE: &[i32] = &[libc::EMFILE, libc::ENFILE];

/// The physical path, without links.
pub(crate) fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Opens a file for reading, without waiting for the other end of a named pipe.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a file that is not a symbolic link.
pub(crate) fn open_without_following(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// A file that is created with these options is accessible to the user only.
pub(crate) fn make_options_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Opens a directory that is to be locked itself; `None` if this system cannot do that.
pub(crate) fn open_directory_to_lock(directory: &Path) -> io::Result<Option<File>> {
    File::open(directory).map(Some)
}

/// Renames a temporary file over `target`.
pub(crate) fn persist(file: NamedTempFile, target: &Path) -> io::Result<()> {
    file.persist(target)?;
    Ok(())
}

/// Makes a rename in the directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Fails if the user must not write to the file.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

/// Whether the user may create files in the directory.
#[cfg(feature = "cli")]
pub(crate) fn can_create_files_in(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

pub(crate) fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Gives the file the owner and the mode of the one that it replaces.
pub(crate) fn take_after(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root can change the owner; others keep their own.
        let _ = fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
    }
    file.set_permissions(std::fs::Permissions::from_mode(old.mode() & 0o7777))
}

/// Another value after the file was replaced.
pub(crate) fn version(about: &Metadata) -> impl PartialEq + use<> {
    (about.ino(), about.mtime_nsec())
}

/// Reserves this much room on the disk, where the file system can do that.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(error) if CANNOT_RESERVE.contains(&error) => Ok(()),
        reserved => Ok(reserved?),
    }
}
