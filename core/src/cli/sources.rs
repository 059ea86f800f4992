//! Owns which servers a command works with: those of one named file, or all that discovery finds.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::advice::no_such_server;
use super::screen::Screen;
use super::terminal::Tint;
use crate::config::Config;
use crate::discover::{DiscoverOptions, Discovery, providers};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::trust::discover;

/// Names the config file when `--config` is absent.
pub(super) const CONFIG_VARIABLE: &str = "MCPOOL_CONFIG";

/// More warnings than this are only counted: they concern other products' files and would repeat with every command.
const MAX_PRINTED_WARNINGS: usize = 3;

#[derive(Args)]
#[command(next_help_heading = "Which servers")]
pub(super) struct Sources {
    /// Only those of this file (JSON, JSONC, YAML or TOML); default $MCPOOL_CONFIG
    #[arg(
        long,
        short,
        value_name = "FILE",
        conflicts_with_all = ["project", "no_project", "providers"]
    )]
    config: Option<PathBuf>,
    #[command(flatten)]
    discovery_args: DiscoveryArgs,
}

/// Where to look for the servers that the user has.
#[derive(Args)]
#[command(next_help_heading = "Which servers")]
pub(super) struct DiscoveryArgs {
    /// Look for the project's files here, not in the current directory
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Leave out what the project's files declare
    #[arg(long)]
    no_project: bool,
    /// Only those of this product, such as cursor; may be repeated
    #[arg(
        long = "provider",
        value_name = "NAME",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(providers())
    )]
    providers: Vec<String>,
}

/// The servers to work with.
pub(super) struct FoundServers {
    pub(super) config: Config,
    /// `None` when a file was named.
    pub(super) discovery: Option<Discovery>,
    /// The file that was named.
    file: Option<PathBuf>,
}

impl Sources {
    pub(super) fn find(&self) -> Result<FoundServers> {
        let named = || named_file().filter(|_| !self.discovery_args.is_narrowed());
        if let Some(file) = self.config.clone().or_else(named) {
            let config = Config::from_file(&file)?;
            return Ok(FoundServers { config, discovery: None, file: Some(file) });
        }
        let discovery = self.discovery_args.discover()?;
        let config = discovery.config.clone();
        Ok(FoundServers { config, discovery: Some(discovery), file: None })
    }
}

impl DiscoveryArgs {
    pub(super) fn discover(&self) -> Result<Discovery> {
        Ok(discover(&DiscoverOptions {
            cwd: self.project.as_deref().map(existing_directory).transpose()?,
            project_config: !self.no_project,
            providers: self.providers.clone(),
            ..DiscoverOptions::default()
        }))
    }

    fn is_narrowed(&self) -> bool {
        self.project.is_some() || self.no_project || !self.providers.is_empty()
    }
}

impl FoundServers {
    /// Fails if no server has this name.
    pub(super) fn check_name(&self, name: &str) -> Result<()> {
        match self.config.servers.contains_key(name) {
            true => Ok(()),
            false => Err(no_such_server(name, &self.config.servers, self.file.as_deref())),
        }
    }

    /// Prints the warnings and errors about the config files.
    pub(super) fn print_warnings(&self, screen: &Screen) {
        let warnings = &self.config.warnings;
        let errors = self.discovery.iter().flat_map(|discovery| &discovery.errors);
        for failed in errors {
            screen.trouble(&format!("{}:", failed.path), &failed.error);
        }
        if self.discovery.is_some() && warnings.len() > MAX_PRINTED_WARNINGS {
            let text = format!("{} oddities in config files: mcpool discover", warnings.len());
            screen.note(Tint::Yellow, "Warning:", &text);
            return;
        }
        for warning in warnings {
            screen.note(Tint::Yellow, "Warning:", warning);
        }
    }

    /// Says why there are no servers.
    pub(super) fn print_no_servers(&self, screen: &Screen) {
        let text = match &self.discovery {
            None => "the config has no servers",
            Some(_) => "no servers were found; add one: mcpool add time -- uvx mcp-server-time",
        };
        screen.note(Tint::Dim, "Note:", text);
    }
}

/// The file that `MCPOOL_CONFIG` names.
pub(super) fn named_file() -> Option<PathBuf> {
    HostEnv::process().var(CONFIG_VARIABLE).filter(|file| !file.is_empty()).map(PathBuf::from)
}

pub(super) fn existing_directory(path: &Path) -> Result<PathBuf> {
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    let text = format!("{} is not a directory", path.display());
    Err(Error::new(ErrorKind::ConfigIo, text))
}
