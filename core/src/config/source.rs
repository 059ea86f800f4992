//! Owns where a definition comes from, and what follows from that.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServerConfig;
use crate::error::Result;
use crate::host_env::HostEnv;

/// Whose word a definition is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Where relative paths begin; the working directory of the process when absent.
    pub directory: Option<PathBuf>,
    /// `${workspaceFolder}`; the working directory of the process when absent.
    pub workspace: Option<PathBuf>,
    /// A file of `NAME=value` lines that is asked before the environment.
    pub variables: Option<PathBuf>,
    /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
    pub bare_env_names: bool,
    /// The environment.
    pub host_env: HostEnv,
    /// Whether the user trusts the source; decided by each manager, by its own policy.
    pub trusted: ScopeTrust,
}

/// Whether a project's definition is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScopeTrust {
    /// It is not.
    #[default]
    No,
    /// While it, and the files that it brings, have this fingerprint.
    As(String),
    /// Whatever it brings.
    Always,
}

impl Scope {
    /// Whether the definition is a project's that the user has not trusted: it may read nothing of the user, run
    /// nothing, and reach public addresses only.
    pub(crate) fn is_restricted(&self) -> bool {
        self.level == Level::Project && self.trusted == ScopeTrust::No
    }
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
    /// What the user is asked to trust, for a definition of a project.
    pub subject: Option<Arc<Subject>>,
}

impl Declared {
    pub(crate) fn new(config: Result<ServerConfig>, required: bool, source: Source) -> Self {
        let (shadows, direct, subject) = (Vec::new(), None, None);
        Declared { config, required, source, shadows, direct, subject }
    }

    /// The user's source that this definition takes the place of, where a project declares it.
    pub(crate) fn replaced(&self) -> Option<&Source> {
        let of_project = self.source.level == Level::Project;
        self.shadows.iter().find(|shadow| of_project && shadow.level != Level::Project)
    }
}

/// One thing that a project's file says and the user may trust.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The file, as it is shown.
    pub path: String,
    /// The project's directory.
    pub project: PathBuf,
    /// The server; empty for the file's lists of names.
    pub server: String,
    /// A hash of all that the project brings and that decides what is run, reached, or switched.
    pub fingerprint: String,
}

/// One entry of a project's file, or its lists of names: what the user may trust, and what it would do if trusted. Printed
/// without what the file says.
#[derive(Clone)]
pub struct ProjectEntry {
    /// The server; empty for lists of names.
    pub name: String,
    /// Where it stands.
    pub source: Source,
    /// The definition, where it is one that can be used.
    pub config: Option<ServerConfig>,
    /// What the file says, unmasked.
    pub definition: Value,
    /// What the user is asked to trust.
    pub subject: Arc<Subject>,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// What it would do to servers of the user, and does not do before it is trusted.
    pub held_back: Option<HeldBack>,
}

impl fmt::Debug for ProjectEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectEntry")
            .field("subject", &self.subject)
            .field("trusted", &self.trusted)
            .field("held_back", &self.held_back)
            .finish_non_exhaustive()
    }
}

/// An effect on servers of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// What would happen to them.
    pub effect: Effect,
    /// The servers, each with its source.
    pub servers: Vec<(String, Source)>,
}

/// What would happen to servers of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Another definition would take their place, or their tools' names.
    Replace,
    /// They would be switched off.
    SwitchOff,
}
