//! Owns what is checked of files and directories of the user on Windows. Access lists are not read: ours are below the
//! user's profile, whose list new files inherit, and which other users can neither read nor write.
//! A symbolic link as the last component is never followed.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::open_without_following;

/// Creates the directory and its missing parents.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)
}

/// The name of a directory of ours in the system's temporary directory, which is the user's own.
pub(crate) fn temporary_directory_name() -> String {
    "mcpool".to_owned()
}

/// Whether only the user can read it; by its place in the profile, its access list is not read.
pub(crate) fn is_private(_about: &Metadata) -> bool {
    true
}

/// Whether others may read it; by its place in the profile, its access list is not read.
#[cfg(feature = "cli")]
pub(crate) fn is_readable_by_others(_about: &Metadata) -> bool {
    false
}

/// Whether it is our own file, which others can read but not write; the access list is not read.
#[cfg(feature = "cli")]
pub(crate) fn is_only_exposed(_path: &Path) -> bool {
    false
}

/// The user whose files are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct User;

/// A directory that was checked.
pub(crate) struct Directory(PathBuf);

impl User {
    /// The user this process runs as.
    pub(crate) fn current() -> Self {
        User
    }

    /// Opens the directory, unless it is a link.
    pub(crate) fn open_directory(self, path: &Path) -> io::Result<Directory> {
        match path.symlink_metadata()?.is_dir() {
            true => Ok(Directory(path.to_owned())),
            false => Err(path_error(path, "it is not a directory")),
        }
    }

    /// Opens a regular file of that directory.
    pub(crate) fn open_file(
        self,
        directory: &Directory,
        name: &Path,
    ) -> io::Result<(File, Metadata)> {
        let file = open_without_following(File::options().read(true), &directory.0.join(name))?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok((file, about))
    }

    /// Creates the directory, unless it exists.
    pub(crate) fn own_directory(self, path: &Path) -> io::Result<()> {
        make_private(path)?;
        self.open_directory(path).map(drop)
    }
}

fn path_error(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}
