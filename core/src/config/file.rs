//! Owns reading a config file from the disk; its errors say where in which file the mistake is.
//! Invariant: whatever stands at the path, reading it ends soon: nothing but a regular file of at most 4 MiB is opened.

use std::fs::File;
use std::io::{self, ErrorKind as Io, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::parse::{self, Format, Parsed, SyntaxError};
use super::{Config, Source};
use crate::error::{Error, ErrorKind, Result};

const LARGEST_FILE: u64 = 4 << 20;

impl Config {
    /// Reads a file with the servers under `mcpServers`: JSON with or without comments, YAML or TOML, by its ending.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Config> {
        let path = path.as_ref();
        let parsed = parse_document(path, &read_text(path)?)?;
        let mut warnings = parsed.warnings(path);
        let mut config = Config::from_document(parsed.value, &Source::file(path))
            .map_err(|error| in_file(path, &error))?;
        let shown = path.display();
        warnings.extend(config.warnings.iter().map(|warning| format!("{shown}: {warning}")));
        config.warnings = warnings;
        Ok(config)
    }
}

impl Parsed {
    /// What is odd about the text of `path`, one line each.
    pub(crate) fn warnings(&self, path: &Path) -> Vec<String> {
        self.remarks.iter().map(|remark| format!("{}:{remark}", path.display())).collect()
    }
}

/// Parses the text of a config file, whatever it is the config of.
pub(crate) fn parse_document(path: &Path, text: &str) -> Result<Parsed> {
    parse::parse(text, Format::of(path)).map_err(|error: SyntaxError| {
        Error::new(ErrorKind::ConfigInvalid, format!("{}:{error}", path.display()))
    })
}

/// The text of a config file, as it is.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let shown = path.display();
    let bytes = read_regular(path).map_err(|problem| match problem {
        Problem::Io(error) => {
            let text = format!("The config file {shown} {}", in_words(&error));
            Error::new(ErrorKind::ConfigIo, text).caused_by(&error)
        }
        Problem::NotAFile(what) => {
            let text = format!("The config file {shown} is {what}, not a file");
            Error::new(ErrorKind::ConfigIo, text)
        }
        Problem::TooLarge => {
            let text = format!("The config file {shown} is larger than {} MiB", LARGEST_FILE >> 20);
            Error::new(ErrorKind::ConfigInvalid, text)
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

/// The same error, with the file it is about.
pub(super) fn in_file(path: &Path, error: &Error) -> Error {
    let placed = Error::new(error.kind(), format!("{}: {}", path.display(), error.message()));
    match error.hint() {
        Some(hint) => placed.with_hint(hint),
        None => placed,
    }
}

enum Problem {
    Io(io::Error),
    NotAFile(&'static str),
    TooLarge,
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

fn read_regular(path: &Path) -> Result<Vec<u8>, Problem> {
    // Looked at before it is opened, because opening a device may do something; and after, because it may have
    // become another meanwhile. Opening never waits for the other end of a pipe.
    check_regular(&std::fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    if metadata.len() > LARGEST_FILE {
        return Err(Problem::TooLarge);
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE { Err(Problem::TooLarge) } else { Ok(bytes) }
}

fn check_regular(metadata: &std::fs::Metadata) -> Result<(), Problem> {
    match () {
        () if metadata.is_file() => Ok(()),
        () if metadata.is_dir() => Err(Problem::NotAFile("a directory")),
        () => Err(Problem::NotAFile("a pipe, a socket or a device")),
    }
}

pub(super) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        Io::NotFound | Io::NotADirectory => "does not exist".to_owned(),
        Io::PermissionDenied => "cannot be read: permission denied".to_owned(),
        _ if error.raw_os_error() == Some(libc::ELOOP) => {
            "cannot be read: its symbolic links go round in a loop".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    }
}
