//! Owns the way from `--config FILE` to a config; its errors say where in the file the mistake is.

use std::io::ErrorKind as Io;
use std::path::PathBuf;

use clap::Args;

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Args)]
pub(super) struct ConfigFile {
    /// JSON file with the servers under "mcpServers"
    #[arg(long = "config", short = 'c', value_name = "FILE")]
    path: PathBuf,
}

impl ConfigFile {
    pub(super) fn read(&self) -> Result<Config> {
        let path = self.path.display();
        let bytes = std::fs::read(&self.path).map_err(|error| {
            let problem = match error.kind() {
                Io::NotFound => "does not exist".to_owned(),
                _ => format!("cannot be read: {error}"),
            };
            Error::new(ErrorKind::ConfigIo, format!("The config file {path} {problem}"))
        })?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let document = serde_json::from_slice(text).map_err(|error| {
            let (line, column, text) = (error.line(), error.column(), error.to_string());
            let place = format!(" at line {line} column {column}");
            let problem = text.strip_suffix(&place).unwrap_or(&text);
            let text = format!("{path}:{line}:{column}: not JSON: {problem}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Config::from_value(document).map_err(|error| {
            let placed = Error::new(error.kind(), format!("{path}: {}", error.message()));
            match error.hint() {
                Some(hint) => placed.with_hint(hint),
                None => placed,
            }
        })
    }
}
