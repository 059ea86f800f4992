//! Reads a config file from the disk; its errors have the file and the position of the mistake.
//! Invariant: only a regular file of at most 4 MiB is read (`regular_file`).

use std::io::{self, ErrorKind as Io};
use std::path::Path;

use super::parse::{self, Format, Parsed, SyntaxError};
use crate::error::{Error, ErrorKind, Message, Result};
use crate::file_system::LINK_LOOP;
use crate::regular_file::{self, Problem};

const LARGEST_FILE: u64 = 4 << 20;

impl Parsed {
    /// Warnings about the text of `path`, one per line.
    pub(crate) fn warnings(&self, path: &Path) -> Vec<String> {
        self.remarks.iter().map(|remark| format!("{}:{remark}", path.display())).collect()
    }
}

/// Parses the text of a config file of any product.
pub(crate) fn parse_document(path: &Path, text: &str) -> Result<Parsed> {
    parse::parse(text, Format::from_path(path)).map_err(|error: SyntaxError| {
        Error::new(ErrorKind::ConfigInvalid, format!("{}:{error}", path.display()))
    })
}

/// The text of a config file, unchanged.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let shown = path.display();
    let bytes = regular_file::read(path, LARGEST_FILE).map_err(|problem| {
        let error = |kind, what: &str| Error::new(kind, format!("The config file {shown} {what}"));
        match problem {
            Problem::Io(cause) => {
                let error =
                    error(ErrorKind::ConfigIo, &io_problem_in_words(&cause)).caused_by(&cause);
                match path.iter().any(|part| part == "~") {
                    true => error.with_hint("only a shell replaces \"~\": write the whole path"),
                    false => error,
                }
            }
            Problem::Directory => error(ErrorKind::ConfigIo, "is a directory, not a file"),
            Problem::Special => {
                error(ErrorKind::ConfigIo, "is a pipe, a socket or a device, not a file")
            }
            Problem::TooLarge => {
                let what = format!("is larger than {} MiB", LARGEST_FILE >> 20);
                error(ErrorKind::ConfigInvalid, &what)
            }
        }
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(&error.as_bytes()[..offset]);
        let (line, column) = parse::position(&valid, offset);
        let text = format!("{shown}:{line}:{column}: not UTF-8 (byte {offset})");
        Error::new(ErrorKind::ConfigInvalid, text).with_hint("save the file as UTF-8")
    })
}

/// The same error, with its file.
pub(crate) fn in_file(path: &Path, error: &Error) -> Error {
    let text = Message::default().path(&path.display().to_string());
    let placed = Error::new(error.kind(), text.text(": ").append(error.message_parts()));
    match error.hint() {
        Some(hint) => placed.with_hint(hint),
        None => placed,
    }
}

pub(crate) fn io_problem_in_words(error: &io::Error) -> String {
    match error.kind() {
        Io::NotFound | Io::NotADirectory => "does not exist".to_owned(),
        Io::PermissionDenied => "cannot be read: permission denied".to_owned(),
        _ if error.raw_os_error() == Some(LINK_LOOP) => {
            "cannot be read: its symbolic links go round in a loop".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    }
}
