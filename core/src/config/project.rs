//! Describes what the files of a project say and the user may trust. Whether it is trusted is for `trust` to say.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{ServerConfig, Source};

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
#[non_exhaustive]
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
#[non_exhaustive]
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
