//! Owns the choice of the file to change.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::own_file::{NAMES, PROJECT_DIRECTORY};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::options::{Language, Options, options, word_options};

options! {
    /// The file to change.
    #[derive(Clone, Debug)]
    pub struct EditTarget of "an edit" {
        ;
        /// Whose file is changed if none is named: the user's or the project's.
        scope: EditScope = EditScope::User,
        /// The file to change; its extension tells the format.
        file: Option<PathBuf> = None,
        /// The project's directory. The default is the process's working directory.
        cwd: Option<PathBuf> = None,
        /// Environment, home and platform in place of the process's own.
        host_env: HostEnv = HostEnv::process(),
        ;
        /// The directory that no link may leave; the project's file never leaves the project.
        within: Option<PathBuf> = None,
    }
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

word_options!(EditScope);

impl EditTarget {
    /// A file; its extension tells the format.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        EditTarget { file: Some(path.into()), ..EditTarget::default() }
    }

    /// Reads `{"file": "…"}` or `{"scope": "user" or "project", "cwd": "…"}`.
    #[doc(hidden)]
    pub fn from_json(text: &str, language: Language) -> Result<Self> {
        Self::read(text, language)
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
                Some(directory) => directory.join(PROJECT_DIRECTORY),
                None => PathBuf::from(PROJECT_DIRECTORY),
            },
        };
        let there = NAMES.iter().map(|name| directory.join(name)).find(|path| path.exists());
        Ok(there.unwrap_or_else(|| directory.join(NAMES[0])))
    }
}
