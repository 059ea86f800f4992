//! Owns what a definition's values may be resolved from. `resolve` resolves them.

use std::path::PathBuf;

use crate::caller::Identity;
use crate::host_env::HostEnv;
use crate::source::Level;

/// What a definition's values may be resolved from, and the base of its relative paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Who declares it.
    pub level: Level,
    /// The base of relative paths; the working directory of the process if absent.
    pub directory: Option<PathBuf>,
    /// The directory of a file that was opened by name, the base of relative `tls` paths; `directory` if absent.
    pub file_directory: Option<PathBuf>,
    /// `${workspaceFolder}`; the working directory of the process when absent.
    pub workspace: Option<PathBuf>,
    /// A file of `NAME=value` lines, read before the environment.
    pub variables: Option<PathBuf>,
    /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
    pub bare_env_names: bool,
    /// The environment.
    pub host_env: HostEnv,
    /// Whose connection it is; set by each manager.
    pub identity: Option<Identity>,
    /// Whether the user trusts the source; decided by each manager, by its own policy.
    pub trusted: ScopeTrust,
}

/// Whether a project's definition is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScopeTrust {
    /// It is not.
    #[default]
    No,
    /// While the definition and its files have this fingerprint.
    As(String),
    /// Whatever it contains.
    Always,
}

impl Scope {
    /// Whether the definition is an untrusted project's: it may not read anything of the user, may run nothing, and may
    /// reach public addresses only.
    pub(crate) fn is_restricted(&self) -> bool {
        self.level == Level::Project && self.trusted == ScopeTrust::No
    }
}
