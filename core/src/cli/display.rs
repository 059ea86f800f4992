//! Owns how definitions and their sources are displayed, to people and as JSON.
//! Invariant: values that may be secret pass through `redact` first.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::table::Cell;
use super::terminal::Tint;
use crate::config::{Config, Declared, ProjectEntry, ServerConfig, Source};
use crate::error::Error;
use crate::host_env::HostEnv;
use crate::redact;
use crate::shell;
use crate::trust::{Permit, stored_permit};

/// A server as configured.
#[derive(Serialize)]
pub(super) struct ServerRow<'a> {
    pub(super) name: &'a str,
    pub(super) state: RowState,
    pub(super) transport: Option<&'static str>,
    /// Canonical and redacted.
    pub(super) definition: Option<Value>,
    pub(super) source: &'a Source,
    pub(super) shadows: &'a [Source],
    /// The user's servers that it would replace or disable if it were trusted.
    pub(super) replaces: Vec<&'a Source>,
    pub(super) error: Option<&'a Error>,
}

/// What `connect_all` would do with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowState {
    On,
    Off,
    Invalid,
    Untrusted,
}

impl<'a> ServerRow<'a> {
    /// All servers of the config, then a project's servers that are blocked because the user has one of the same name.
    pub(super) fn all(config: &'a Config) -> Vec<Self> {
        let servers = config.servers.iter();
        let rows = servers.map(|(name, declared)| ServerRow::new(name, declared, config));
        rows.chain(config.project.iter().filter_map(ServerRow::from_held_back)).collect()
    }

    fn from_held_back(entry: &'a ProjectEntry) -> Option<Self> {
        let held_back = entry.held_back.as_ref().filter(|_| !entry.name.is_empty())?;
        Some(ServerRow {
            name: &entry.name,
            state: RowState::Untrusted,
            transport: entry.config.as_ref().map(|config| config.transport.name()),
            definition: Some(redact::definition(entry.definition.clone())),
            source: &entry.source,
            shadows: &[],
            replaces: held_back.servers.iter().map(|(_, source)| source).collect(),
            error: None,
        })
    }

    fn new(name: &'a str, declared: &'a Declared, all: &Config) -> Self {
        let config = declared.config.as_ref();
        let permit = stored_permit(all, declared);
        ServerRow {
            name,
            state: match config {
                Err(_) => RowState::Invalid,
                Ok(config) if !config.enabled => RowState::Off,
                Ok(_) if permit == Permit::Refused => RowState::Untrusted,
                Ok(_) => RowState::On,
            },
            transport: config.ok().map(|config| config.transport.name()),
            definition: declared.to_value().map(redact::definition),
            source: &declared.source,
            shadows: &declared.shadows,
            replaces: Vec::new(),
            error: config.err(),
        }
    }

    /// The command or the URL; for an invalid definition, what is wrong with it.
    pub(super) fn command_or_url(&self) -> String {
        match (&self.definition, self.error) {
            (Some(definition), _) => command_or_url(definition),
            (None, Some(error)) => error.message().to_owned(),
            (None, None) => String::new(),
        }
    }
}

impl RowState {
    pub(super) fn cell(self) -> Cell {
        match self {
            RowState::On => Cell::new(Tint::Green, "on"),
            RowState::Off => Cell::new(Tint::Dim, "off"),
            RowState::Invalid => Cell::new(Tint::Red, "invalid"),
            RowState::Untrusted => Cell::new(Tint::Yellow, "untrusted"),
        }
    }
}

/// A redacted definition.
pub(super) fn definition(config: &ServerConfig) -> Value {
    redact::definition(config.to_value())
}

/// The command line or the URL of a redacted definition.
pub(super) fn command_or_url(definition: &Value) -> String {
    if let Some(url) = definition["url"].as_str() {
        return url.to_owned();
    }
    let args = definition["args"].as_array().map_or(&[][..], Vec::as_slice);
    let words = std::iter::once(&definition["command"]).chain(args).filter_map(Value::as_str);
    shell::join(words)
}

/// `~/.cursor/mcp.json (cursor)`, or the provider alone.
pub(super) fn source_text(source: &Source) -> String {
    match &source.path {
        Some(path) if source.provider == "file" => short_path(path),
        Some(path) => format!("{} ({})", short_path(path), source.provider),
        None => source.provider.clone(),
    }
}

/// A short path for people: relative to the current directory, or with `~` for the home directory.
pub(super) fn short_path(path: &str) -> String {
    let home = HostEnv::process().home();
    relative_to_cwd(path, home.as_deref())
        .or_else(|| relative_to(path, home.as_deref()?, "~"))
        .unwrap_or_else(|| path.to_owned())
}

/// A path quoted for a shell.
pub(super) fn quoted_path(path: &str) -> String {
    shell::path(&relative_to_cwd(path, None).unwrap_or_else(|| path.to_owned()))
}

/// The problem without the path that it begins with; line and column stay.
pub(super) fn without_path<'p>(problem: &'p str, path: &str) -> &'p str {
    problem.strip_prefix(path).map_or(problem, |rest| rest.trim_start_matches([':', ' ']))
}

/// The path relative to the current directory, unless that is the home directory.
fn relative_to_cwd(path: &str, home: Option<&Path>) -> Option<String> {
    let here = std::env::current_dir().ok().filter(|here| Some(here.as_path()) != home)?;
    let path = relative_to(path, &here, ".")?;
    // Hidden files are shown without `./`.
    Some(path.strip_prefix("./").filter(|path| path.starts_with('.')).unwrap_or(&path).to_owned())
}

fn relative_to(path: &str, directory: &Path, prefix: &str) -> Option<String> {
    let rest = Path::new(path).strip_prefix(directory).ok()?;
    let within = directory.components().count() > 1 && !rest.as_os_str().is_empty();
    within.then(|| format!("{prefix}/{}", rest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_shown_as_a_shell_would_take_it() {
        let shown = command_or_url(&json!({"command": "npx", "args": ["-y", "a b", "${X}"]}));
        assert_eq!(shown, "npx -y 'a b' '${X}'");
        assert_eq!(command_or_url(&json!({"url": "https://host/mcp"})), "https://host/mcp");
    }

    #[test]
    fn a_path_below_a_directory_is_shown_from_there_on() {
        let shown = |path: &str, directory: &str| relative_to(path, Path::new(directory), "~");
        assert_eq!(shown("/home/me/a/b", "/home/me/"), Some("~/a/b".to_owned()));
        assert_eq!(shown("/home/meter/a", "/home/me"), None);
        assert_eq!(shown("/home/me", "/home/me"), None);
        assert_eq!(shown("/etc/x", "/"), None);
    }
}
