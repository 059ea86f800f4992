//! Reads files that others may have put there: config files, the files that a definition names, our own cache.
//! Invariant: reading ends soon, whatever stands at the path. Nothing but a regular file is opened, opening never waits for
//! the other end of a pipe, and no more than a bound is read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use crate::file_system::open_without_waiting;

/// Why there is no content.
pub(crate) enum Problem {
    Io(io::Error),
    Directory,
    /// A pipe, a socket or a device.
    Special,
    TooLarge,
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

/// The content of a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    // Checked before it is opened, because opening a device may do something; and after, because it may have been replaced
    // in between.
    check_regular(&std::fs::metadata(path)?)?;
    let file = open_without_waiting(path)?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    read_open(file, metadata.len(), limit)
}

/// The content of an open file of at most `limit` bytes; `length` is what its metadata says, which may change meanwhile.
pub(crate) fn read_open(file: File, length: u64, limit: u64) -> Result<Vec<u8>, Problem> {
    if length > limit {
        return Err(Problem::TooLarge);
    }
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(Problem::TooLarge) } else { Ok(bytes) }
}

fn check_regular(metadata: &Metadata) -> Result<(), Problem> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(Problem::Directory)
    } else {
        Err(Problem::Special)
    }
}
