//! Says what the values of a definition may be looked up in. Looking them up is `resolve`'s work.

use std::path::PathBuf;

use crate::host_env::HostEnv;
use crate::source::Level;

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
