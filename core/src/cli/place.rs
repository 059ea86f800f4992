//! Owns which file a change goes into: the one that is named, the user's or the project's own, or the one that
//! declares the server, if it is ours. Files of other products are changed only when they are named.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::advice::no_such_server;
use super::shown::{origin, quoted};
use super::sources::{existing_directory, named_file};
use crate::config::{Declared, EditScope, Level, Place};
use crate::discover::{DiscoverOptions, Discovery};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::shell;
use crate::trust::discover;

/// The provider whose files are ours.
const OURS: &str = "mcpool";

#[derive(Args)]
#[command(next_help_heading = "Which file")]
pub(super) struct PlaceArgs {
    /// This one (JSON, JSONC, YAML or TOML); default $MCPOOL_CONFIG
    #[arg(long, short = 'c', visible_alias = "config", value_name = "FILE")]
    file: Option<PathBuf>,
    /// mcpool's own: yours, or the project's
    #[arg(long, value_enum, conflicts_with = "file")]
    scope: Option<Whose>,
    /// The project's directory, if not the current one
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    project: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Whose {
    User,
    Project,
}

/// Where a server that is to be changed is declared.
pub(super) enum Home {
    /// In a file that we may change.
    Ours(Place),
    /// In a file of another product.
    Foreign(Box<Declared>),
}

impl PlaceArgs {
    /// The file that was chosen, if one was.
    pub(super) fn chosen(&self) -> Result<Option<Place>> {
        let place = |file, scope| self.place(file, scope).map(Some);
        match (&self.file, self.scope) {
            (Some(file), _) => place(Some(file.clone()), EditScope::User),
            (None, Some(Whose::User)) => place(None, EditScope::User),
            (None, Some(Whose::Project)) => place(None, EditScope::Project),
            (None, None) => match named_file() {
                Some(file) => place(Some(file), EditScope::User),
                None => Ok(None),
            },
        }
    }

    /// The file that was chosen, or the user's own.
    pub(super) fn chosen_or_own(&self) -> Result<Place> {
        match self.chosen()? {
            Some(place) => Ok(place),
            None => self.own(),
        }
    }

    /// The user's own.
    pub(super) fn own(&self) -> Result<Place> {
        self.place(None, EditScope::User)
    }

    /// The file that was chosen, or the one that declares the server.
    pub(super) fn home_of(&self, name: &str) -> Result<Home> {
        if let Some(place) = self.chosen()? {
            return Ok(Home::Ours(place));
        }
        let mut servers = self.discovery()?.config.servers;
        let Some(declared) = servers.shift_remove(name) else {
            return Err(no_such_server(name, &servers));
        };
        match &declared.source.path {
            Some(path) if declared.source.provider == OURS => {
                let mut place = self.place(Some(path.into()), EditScope::User)?;
                if declared.source.level == Level::Project {
                    // Nobody has named it: `DIR/.mcpool/mcp.json` was found.
                    place.within = Path::new(path).ancestors().nth(2).map(Path::to_owned);
                }
                Ok(Home::Ours(place))
            }
            _ => Ok(Home::Foreign(Box::new(declared))),
        }
    }

    /// Whether some file switches the server off.
    pub(super) fn is_off(&self, name: &str) -> Result<bool> {
        Ok(is_off(&self.discovery()?, name))
    }

    /// Why a server stays off: another file's own word is not overruled.
    pub(super) fn switched_off(&self, name: &str) -> Result<Error> {
        let servers = self.discovery()?.config.servers;
        let foreign = servers.get(name).filter(|declared| declared.source.provider != OURS);
        if let Some(declared) = foreign
            && is_off(&self.discovery_of(&declared.source.provider)?, name)
        {
            let error = not_ours(name, declared, "enable");
            let text = format!("{}, which switches it off", error.message());
            let hint = error.hint().unwrap_or_default();
            return Ok(Error::new(error.kind(), text).with_server(name).with_hint(hint));
        }
        let text = format!("Server \"{name}\" is still switched off by another file");
        Ok(Error::new(ErrorKind::ServerDisabled, text)
            .with_server(name)
            .with_hint("look for \"disabledServers\" and \"enabledServers\""))
    }

    fn discovery(&self) -> Result<Discovery> {
        self.look(Vec::new())
    }

    /// What a product's files say alone: no list of ours is read.
    fn discovery_of(&self, provider: &str) -> Result<Discovery> {
        self.look(vec![provider.to_owned()])
    }

    fn look(&self, providers: Vec<String>) -> Result<Discovery> {
        let cwd = self.project.as_deref().map(existing_directory).transpose()?;
        Ok(discover(&DiscoverOptions { cwd, providers, ..DiscoverOptions::default() }))
    }

    fn place(&self, file: Option<PathBuf>, scope: EditScope) -> Result<Place> {
        Ok(Place {
            file,
            scope,
            within: None,
            cwd: self.project.as_deref().map(existing_directory).transpose()?,
            host_env: HostEnv::process(),
        })
    }
}

fn is_off(found: &Discovery, name: &str) -> bool {
    let declared = found.config.servers.get(name);
    declared.and_then(|it| it.config.as_ref().ok()).is_some_and(|config| !config.enabled)
}

/// Why a server of another product's file is not changed, and how it can be.
pub(super) fn not_ours(name: &str, declared: &Declared, verb: &str) -> Error {
    let file = declared.source.path.as_deref().unwrap_or_default();
    let text = format!("Server \"{name}\" is declared in {}", origin(&declared.source));
    let command = shell::mcpool(verb, name, &format!("--file {}", quoted(file)));
    Error::new(ErrorKind::ConfigInvalid, text)
        .with_server(name)
        .with_hint(format!("to {verb} it there: {command}"))
}
