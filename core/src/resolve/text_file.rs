//! Reads the small text files that a definition names.
//! Invariant: nothing but a regular file of at most 1 MiB is read (`regular_file`).

use std::io;
use std::path::Path;

use crate::regular_file;

/// The largest file that is a value or a list of them.
pub(crate) const LIMIT: u64 = 1 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a file, or why there is none; the reason shows nothing of its content.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let bytes = regular_file::read(path, LIMIT)?;
    let text = String::from_utf8(bytes).map_err(|_| Problem::Odd("it is not UTF-8".to_owned()))?;
    if text.contains('\0') {
        return Err(Problem::Odd("it contains a NUL character".to_owned()));
    }
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text))
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

impl From<regular_file::Problem> for Problem {
    fn from(problem: regular_file::Problem) -> Self {
        match problem {
            regular_file::Problem::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                Problem::Missing
            }
            regular_file::Problem::Io(error) => Problem::Odd(error.to_string()),
            regular_file::Problem::Directory | regular_file::Problem::Special => {
                Problem::Odd("it is no regular file".to_owned())
            }
            regular_file::Problem::TooLarge => {
                Problem::Odd(format!("it is larger than {} KiB", LIMIT >> 10))
            }
        }
    }
}
