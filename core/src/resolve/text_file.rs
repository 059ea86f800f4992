//! Owns reading the small text files that a definition names.
//! Invariant: nothing but a regular file is read, and never more than a bound: a pipe or a device does not stall us.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest file that is a value or a list of them.
pub(crate) const LIMIT: u64 = 1 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a file, or why there is none; the reason shows nothing of its content.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    // Opening a pipe must not wait for its other end.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    // Looked at before, because opening a device may do something, and after, because it may be another by then.
    check_regular(std::fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    check_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(Problem::Odd(format!("it is larger than {} KiB", LIMIT >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| Problem::Odd("it is not UTF-8".to_owned()))?;
    if text.contains('\0') {
        return Err(Problem::Odd("it contains a NUL character".to_owned()));
    }
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text))
}

fn check_regular(file: Metadata) -> Result<(), Problem> {
    if file.is_file() { Ok(()) } else { Err(Problem::Odd("it is no regular file".to_owned())) }
}

#[derive(Clone)]
pub(crate) enum Problem {
    Missing,
    Odd(String),
}

impl Problem {
    pub(crate) fn text(&self) -> &str {
        match self {
            Problem::Missing => "it does not exist",
            Problem::Odd(text) => text,
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Problem::Missing,
            _ => Problem::Odd(error.to_string()),
        }
    }
}
