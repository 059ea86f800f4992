//! Owns where a definition comes from, and what follows from that.

use std::path::PathBuf;

use serde::Serialize;

use super::ServerConfig;
use crate::error::Result;
use crate::surroundings::Surroundings;

/// Whose word a definition is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Handed over by the program, or in a file that it named.
    #[default]
    Explicit,
    /// In the user's own files.
    User,
    /// In the files of a project, which others may have written.
    Project,
}

/// Where a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The product whose config it is; `file` for a file that was named, `code` for what was handed over.
    pub provider: String,
    /// The file.
    pub path: Option<String>,
    /// Whose word it is.
    pub level: Level,
}

impl Source {
    /// A definition that was handed over in code.
    pub fn code() -> Self {
        Source { provider: "code".to_owned(), path: None, level: Level::Explicit }
    }

    /// A definition in a file that was named.
    pub fn file(path: &std::path::Path) -> Self {
        let path = Some(path.display().to_string());
        Source { provider: "file".to_owned(), path, level: Level::Explicit }
    }
}

/// What the values of a definition may be looked up in, and where its relative paths begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Whose word it is.
    pub level: Level,
    /// `${workspaceFolder}`, and where relative paths begin; the working directory of the process when absent.
    pub directory: Option<PathBuf>,
    /// A file of `NAME=value` lines that is asked before the environment.
    pub variables: Option<PathBuf>,
    /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
    pub bare_env_names: bool,
    /// The environment.
    pub surroundings: Surroundings,
    /// Whether the user trusts the source; decided by each manager, by its own policy.
    pub trusted: bool,
}

/// A server as a source declares it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The definition, or what is wrong with it.
    pub config: Result<ServerConfig>,
    /// Whether its failure makes `connect_all` an error.
    pub required: bool,
    /// The source that won.
    pub source: Source,
    /// Sources further down that have the same name.
    pub shadows: Vec<Source>,
    /// The server that it only bridges to (`npx mcp-remote <url>`), reached directly.
    pub direct: Option<ServerConfig>,
}

impl Declared {
    pub(crate) fn new(config: Result<ServerConfig>, required: bool, source: Source) -> Self {
        Declared { config, required, source, shadows: Vec::new(), direct: None }
    }
}
