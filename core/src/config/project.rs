//! Describes what a project's files say and the user may trust. `trust` decides whether it is trusted.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{ServerConfig, Source};

/// One subject of trust: something that a project's file says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The file, as displayed.
    pub path: String,
    /// The project's directory.
    pub project: PathBuf,
    /// The server; empty for the file's lists of names.
    pub server: String,
    /// A hash of everything from the project that decides what is run, reached or switched.
    pub fingerprint: String,
}

/// One entry of a project's file, or its lists of names: what the user may trust, and its effect if trusted. `Debug`
/// does not print the file's content.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProjectEntry {
    /// The server; empty for lists of names.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The definition, if it is usable.
    pub config: Option<ServerConfig>,
    /// What the file says, unmasked.
    pub definition: Value,
    /// What the user is asked to trust.
    pub subject: Arc<Subject>,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// Its effect on the user's servers, which needs trust.
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

/// An effect on the user's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBack {
    /// The kind of effect.
    pub effect: HeldBackEffect,
    /// The servers, each with its source.
    pub servers: Vec<(String, Source)>,
}

/// The kind of an effect on the user's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBackEffect {
    /// Another definition would replace them, or take their tools' names.
    Replace,
    /// They would be disabled.
    SwitchOff,
}
