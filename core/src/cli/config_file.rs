//! Owns the way from `--config FILE` to a config.

use std::path::PathBuf;

use clap::Args;

use crate::config::Config;
use crate::error::Result;

#[derive(Args)]
pub(super) struct ConfigFile {
    /// JSON file with the servers under "mcpServers"
    #[arg(long = "config", short = 'c', value_name = "FILE")]
    path: PathBuf,
}

impl ConfigFile {
    pub(super) fn read(&self) -> Result<Config> {
        Config::from_file(&self.path)
    }
}
