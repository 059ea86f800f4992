//! Owns checking that files and directories on disk are the user's own: nobody else could have written or replaced
//! them. A symbolic link as the last component is never followed.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

const ROOT: u32 = 0;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Creates the directory and its missing parents, accessible to the user only.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// The name of a directory of ours in the system's temporary directory, which all users share.
pub(crate) fn temporary_directory_name() -> String {
    format!("mcpool-{}", User::current().0)
}

/// Whether only the user can read it.
pub(crate) fn is_private(about: &Metadata) -> bool {
    about.mode() & 0o077 == 0
}

/// Whether others may read it.
#[cfg(feature = "cli")]
pub(crate) fn is_readable_by_others(about: &Metadata) -> bool {
    about.mode() & 0o044 != 0
}

/// Whether it is our own file, which others can read but not write.
#[cfg(feature = "cli")]
pub(crate) fn is_only_exposed(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| {
        let is_ours = about.is_file() && about.uid() == User::current().0;
        is_ours && about.mode() & WRITABLE_BY_OTHERS == 0 && is_readable_by_others(&about)
    })
}

/// The user whose files are accepted; root's are too, since root could change them anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct User(u32);

impl User {
    /// The user this process runs as.
    pub(crate) fn current() -> Self {
        User(rustix::process::geteuid().as_raw())
    }

    #[cfg(test)]
    pub(crate) fn with_id(id: u32) -> Self {
        User(id)
    }

    /// Opens the directory if nobody else can create files in our name there. Each file must still be checked.
    pub(crate) fn open_directory(self, path: &Path) -> io::Result<File> {
        if let Some(above) = path.parent() {
            self.check(&std::fs::metadata(above)?).map_err(|why| path_error(above, why))?;
        }
        let directory = open(path)?;
        self.check(&directory.metadata()?).map_err(|why| path_error(path, why))?;
        Ok(directory)
    }

    /// Opens a regular file of that directory if nobody else can have written it. Does not block on a named pipe.
    pub(crate) fn open_file(self, directory: &File, name: &Path) -> io::Result<(File, Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        self.check(&about).map_err(io::Error::other)?;
        Ok((file, about))
    }

    /// Creates the directory, or makes the existing one private.
    pub(crate) fn own_directory(self, path: &Path) -> io::Result<()> {
        if let Some(above) = path.parent() {
            make_private(above)?;
            self.check(&std::fs::metadata(above)?).map_err(|why| path_error(above, why))?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let directory = open(path)?;
        let about = directory.metadata()?;
        if about.uid() != self.0 {
            return Err(path_error(path, "it belongs to another user"));
        }
        if about.mode() & 0o077 != 0 {
            directory.set_permissions(Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn check(self, about: &Metadata) -> Result<(), &'static str> {
        match rejection(self.0, about.uid(), about.mode(), about.is_dir()) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

/// Why a file or directory with this owner and mode is not accepted for `user`.
fn rejection(user: u32, owner: u32, mode: u32, is_directory: bool) -> Option<&'static str> {
    // In a sticky directory others can add their own files, but cannot change ours.
    let is_guarded = is_directory && mode & STICKY != 0;
    if owner != user && owner != ROOT {
        Some("it belongs to another user")
    } else if mode & WRITABLE_BY_OTHERS != 0 && !is_guarded {
        Some("other users may write to it")
    } else {
        None
    }
}

fn open(directory: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(directory, flags, Mode::empty())?))
}

fn path_error(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_user_and_root_are_accepted() {
        const US: u32 = 1000;
        let theirs = Some("it belongs to another user");
        for (owner, believed) in [(US, None), (ROOT, None), (1001, theirs), (65534, theirs)] {
            assert_eq!(rejection(US, owner, 0o100_600, false), believed, "{owner}");
            assert_eq!(rejection(US, owner, 0o040_755, true), believed, "{owner}");
        }
        assert_eq!(rejection(ROOT, US, 0o100_600, false), theirs, "root believes no other either");
    }

    #[test]
    fn files_that_others_may_write_are_rejected() {
        let open = Some("other users may write to it");
        for (mode, is_directory, believed) in [
            (0o100_644, false, None),
            (0o100_664, false, open),
            (0o100_602, false, open),
            (0o101_666, false, open),
            (0o040_775, true, open),
            (0o040_777, true, open),
            (0o041_777, true, None),
        ] {
            assert_eq!(rejection(1000, 1000, mode, is_directory), believed, "{mode:o}");
            assert_eq!(rejection(1000, ROOT, mode, is_directory), believed, "{mode:o}");
        }
    }
}
