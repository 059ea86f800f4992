//! Owns which config file a command edits: the named one, mcpool's own of the user or the project, or the one that
//! declares the server if it is mcpool's.
//! Invariant: a file of another product is edited only when it is named.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::advice::no_such_server;
use super::display::{quoted_path, source_text};
use super::sources::{existing_directory, named_file};
use crate::config::{Declared, Level};
use crate::discover::{DiscoverOptions, Discovery};
use crate::edit::{EditScope, EditTarget};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::shell;
use crate::trust::discover;

/// The provider name of mcpool's own files.
const OWN_PROVIDER: &str = "mcpool";

#[derive(Args)]
#[command(next_help_heading = "Which file")]
pub(super) struct EditTargetArgs {
    /// This one (JSON, JSONC, YAML or TOML); default $MCPOOL_CONFIG
    #[arg(long, short = 'c', visible_alias = "config", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// mcpool's own: yours, or the project's
    #[arg(long, value_enum, conflicts_with = "file")]
    pub(super) scope: Option<ScopeArg>,
    /// The project's directory, if not the current one
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    project: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ScopeArg {
    User,
    Project,
}

/// The file that declares a server which a command is to edit.
pub(super) enum DeclaringFile {
    /// One of mcpool's own files, or one that was named.
    Own(EditTarget),
    /// In a file of another product.
    Foreign(Box<Declared>),
}

impl EditTargetArgs {
    /// The file that the arguments select, if any.
    pub(super) fn selected(&self) -> Result<Option<EditTarget>> {
        let target = |file, scope| self.target(file, scope).map(Some);
        match (&self.file, self.scope) {
            (Some(file), _) => target(Some(file.clone()), EditScope::User),
            (None, Some(ScopeArg::User)) => target(None, EditScope::User),
            (None, Some(ScopeArg::Project)) => target(None, EditScope::Project),
            (None, None) => match named_file() {
                Some(file) => target(Some(file), EditScope::User),
                None => Ok(None),
            },
        }
    }

    /// The selected file, or the user's own.
    pub(super) fn selected_or_user_file(&self) -> Result<EditTarget> {
        match self.selected()? {
            Some(target) => Ok(target),
            None => self.user_file(),
        }
    }

    /// The user's own file.
    pub(super) fn user_file(&self) -> Result<EditTarget> {
        self.target(None, EditScope::User)
    }

    /// The selected file, or the file that declares the server.
    pub(super) fn declaring_file(&self, name: &str) -> Result<DeclaringFile> {
        if let Some(target) = self.selected()? {
            return Ok(DeclaringFile::Own(target));
        }
        let mut servers = self.discover_all()?.config.servers;
        let Some(declared) = servers.shift_remove(name) else {
            return Err(no_such_server(name, &servers, None));
        };
        match &declared.source.path {
            Some(path) if declared.source.provider == OWN_PROVIDER => {
                let mut target = self.target(Some(path.into()), EditScope::User)?;
                if declared.source.level == Level::Project {
                    // Found by discovery as `DIR/.mcpool/mcp.json`, not named by the user.
                    target.within = Path::new(path).ancestors().nth(2).map(Path::to_owned);
                }
                Ok(DeclaringFile::Own(target))
            }
            _ => Ok(DeclaringFile::Foreign(Box::new(declared))),
        }
    }

    /// The command to run after this definition was written to `target`, which is `path`.
    pub(super) fn next_step(
        &self,
        name: &str,
        definition: &Value,
        target: &EditTarget,
        path: &str,
    ) -> String {
        let is_named = self.file.is_some() || (self.scope.is_none() && named_file().is_some());
        let is_project = target.scope == EditScope::Project || target.within.is_some();
        if is_named {
            // Discovery does not read it.
            return shell::mcpool("test", name, &format!("--config {}", quoted_path(path)));
        }
        match is_project && definition["url"].is_null() {
            true => format!("mcpool trust {}", quoted_path(path)),
            false => shell::mcpool("test", name, ""),
        }
    }

    /// Whether any file disables the server.
    pub(super) fn is_disabled(&self, name: &str) -> Result<bool> {
        Ok(is_disabled(&self.discover_all()?, name))
    }

    /// The error for a server that another file keeps disabled: its setting is not overruled.
    pub(super) fn disabled_elsewhere(&self, name: &str) -> Result<Error> {
        let servers = self.discover_all()?.config.servers;
        let foreign = servers.get(name).filter(|declared| declared.source.provider != OWN_PROVIDER);
        if let Some(declared) = foreign
            && is_disabled(&self.discover_provider(&declared.source.provider)?, name)
        {
            let error = foreign_file_error(name, declared, "enable");
            let text = format!("{}, which switches it off", error.message());
            let hint = error.hint().unwrap_or_default();
            return Ok(Error::new(error.kind(), text).naming_server(name).with_hint(hint));
        }
        let text = format!("Server \"{name}\" is still switched off by another file");
        Ok(Error::new(ErrorKind::ServerDisabled, text)
            .naming_server(name)
            .with_hint("look for \"disabledServers\" and \"enabledServers\""))
    }

    fn discover_all(&self) -> Result<Discovery> {
        self.discover(Vec::new())
    }

    /// Discovery limited to one product's files; mcpool's own lists are not read.
    fn discover_provider(&self, provider: &str) -> Result<Discovery> {
        self.discover(vec![provider.to_owned()])
    }

    fn discover(&self, providers: Vec<String>) -> Result<Discovery> {
        let cwd = self.project.as_deref().map(existing_directory).transpose()?;
        Ok(discover(&DiscoverOptions { cwd, providers, ..DiscoverOptions::default() }))
    }

    fn target(&self, file: Option<PathBuf>, scope: EditScope) -> Result<EditTarget> {
        Ok(EditTarget {
            file,
            scope,
            within: None,
            cwd: self.project.as_deref().map(existing_directory).transpose()?,
            host_env: HostEnv::process(),
        })
    }
}

fn is_disabled(found: &Discovery, name: &str) -> bool {
    let declared = found.config.servers.get(name);
    declared.and_then(|it| it.config.as_ref().ok()).is_some_and(|config| !config.enabled)
}

/// The error for a server that is declared in another product's file, with the command that edits it there.
pub(super) fn foreign_file_error(name: &str, declared: &Declared, verb: &str) -> Error {
    let file = declared.source.path.as_deref().unwrap_or_default();
    let text = format!("Server \"{name}\" is declared in {}", source_text(&declared.source));
    let command = shell::mcpool(verb, name, &format!("--file {}", quoted_path(file)));
    Error::new(ErrorKind::ConfigInvalid, text)
        .naming_server(name)
        .with_hint(format!("to {verb} it there: {command}"))
}
