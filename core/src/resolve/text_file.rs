//! Reads the small text files that a definition names.
//! Invariant: nothing but a regular file of at most 1 MiB is read (`regular_file`).

use std::io;
use std::path::Path;

use crate::regular_file;

/// The largest file that is a value or a list of them.
pub(crate) const LIMIT: u64 = 1 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a file, or why there is none; the reason shows nothing of its content.
pub(crate) fn read(path: &Path) -> Result<String, TextFileError> {
    let bytes = regular_file::read(path, LIMIT)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| TextFileError::Unusable("it is not UTF-8".to_owned()))?;
    if text.contains('\0') {
        return Err(TextFileError::Unusable("it contains a NUL character".to_owned()));
    }
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text))
}

#[derive(Clone)]
pub(crate) enum TextFileError {
    Missing,
    Unusable(String),
}

impl TextFileError {
    pub(crate) fn text(&self) -> &str {
        match self {
            TextFileError::Missing => "it does not exist",
            TextFileError::Unusable(text) => text,
        }
    }
}

impl From<regular_file::Problem> for TextFileError {
    fn from(problem: regular_file::Problem) -> Self {
        match problem {
            regular_file::Problem::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                TextFileError::Missing
            }
            regular_file::Problem::Io(error) => TextFileError::Unusable(error.to_string()),
            regular_file::Problem::Directory | regular_file::Problem::Special => {
                TextFileError::Unusable("it is no regular file".to_owned())
            }
            regular_file::Problem::TooLarge => {
                TextFileError::Unusable(format!("it is larger than {} KiB", LIMIT >> 10))
            }
        }
    }
}
