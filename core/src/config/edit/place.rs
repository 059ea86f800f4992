//! Owns the choice of the file to change.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::host_env::{HostEnv, WrittenHostEnv};

/// The possible names of our own file; the first one is used for a new file.
const NAMES: &[&str] = &["mcp.json", "mcp.jsonc", "mcp.yaml", "mcp.yml", "mcp.toml"];

/// The file to change.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// This file; its extension tells the format.
    pub file: Option<PathBuf>,
    /// Without a file: the scope.
    pub scope: EditScope,
    /// The directory that no link may leave; the project's file never leaves the project.
    pub within: Option<PathBuf>,
    /// The project's directory; the process's working directory when not set.
    pub cwd: Option<PathBuf>,
    /// Home, platform and environment.
    pub host_env: HostEnv,
}

/// The scope of a config file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditScope {
    /// The user's.
    #[default]
    User,
    /// The project's.
    Project,
}

impl Place {
    /// A file; its extension tells the format.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Place { file: Some(path.into()), ..Place::default() }
    }

    /// Reads `{"file": "…"}` or `{"scope": "user" or "project", "cwd": "…"}`.
    #[doc(hidden)]
    pub fn from_json(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            file: Option<PathBuf>,
            scope: Option<EditScope>,
            cwd: Option<PathBuf>,
            host_env: Option<WrittenHostEnv>,
        }
        let written: Written = crate::redact::from_json(text).map_err(|why| {
            let text = format!("The place of the config cannot be used: {why}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(Place {
            file: written.file,
            scope: written.scope.unwrap_or_default(),
            within: None,
            cwd: written.cwd,
            host_env: written.host_env.map(Into::into).unwrap_or_default(),
        })
    }

    /// The directory that the file must not leave through links; a file given by path may be anywhere.
    pub(super) fn confines(&self) -> Option<&Path> {
        let project = match (&self.file, self.scope) {
            (None, EditScope::Project) => Some(self.cwd.as_deref().unwrap_or(Path::new("."))),
            _ => None,
        };
        self.within.as_deref().or(project)
    }

    /// The file to change: the first existing one of our names.
    pub fn path(&self) -> Result<PathBuf> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let directory = match self.scope {
            EditScope::User => self.host_env.config_dir().ok_or_else(|| {
                Error::new(ErrorKind::ConfigIo, "There is no directory for the user's config")
                    .with_hint("set HOME or name a file")
            })?,
            EditScope::Project => match &self.cwd {
                Some(directory) => directory.join(".mcpool"),
                None => PathBuf::from(".mcpool"),
            },
        };
        let there = NAMES.iter().map(|name| directory.join(name)).find(|path| path.exists());
        Ok(there.unwrap_or_else(|| directory.join(NAMES[0])))
    }
}
