//! Owns reading a config file; its errors say where in the file the mistake is.

use std::io::ErrorKind as Io;
use std::path::Path;

use super::Config;
use crate::error::{Error, ErrorKind, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Config {
    /// Reads a JSON file with the servers under `mcpServers`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Config> {
        let path = path.as_ref();
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            let problem = match error.kind() {
                Io::NotFound => "does not exist".to_owned(),
                _ => format!("cannot be read: {error}"),
            };
            Error::new(ErrorKind::ConfigIo, format!("The config file {shown} {problem}"))
        })?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let document = serde_json::from_slice(text).map_err(|error| {
            let (line, column, text) = (error.line(), error.column(), error.to_string());
            let place = format!(" at line {line} column {column}");
            let problem = text.strip_suffix(&place).unwrap_or(&text);
            let text = format!("{shown}:{line}:{column}: not JSON: {problem}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Config::from_value(document).map_err(|error| {
            let placed = Error::new(error.kind(), format!("{shown}: {}", error.message()));
            match error.hint() {
                Some(hint) => placed.with_hint(hint),
                None => placed,
            }
        })
    }
}
