//! Owns how definitions and their sources look to people and programs.
//! Invariant: what may be secret passes `redact` before it gets here.

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

/// A server as the config declares it.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) state: Standing,
    pub(super) transport: Option<&'static str>,
    /// Canonical, with stars.
    pub(super) definition: Option<Value>,
    pub(super) source: &'a Source,
    pub(super) shadows: &'a [Source],
    /// Servers of the user that it would replace or switch off if it were trusted.
    pub(super) replaces: Vec<&'a Source>,
    pub(super) error: Option<&'a Error>,
}

/// What becomes of a server when everything is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    On,
    Off,
    Invalid,
    Untrusted,
}

impl<'a> Row<'a> {
    /// Every server of the config; then those of a project that are blocked because the user has one of that name.
    pub(super) fn all(config: &'a Config) -> Vec<Self> {
        let servers = config.servers.iter();
        let rows = servers.map(|(name, declared)| Row::new(name, declared, config));
        rows.chain(config.project.iter().filter_map(Row::of_held_back)).collect()
    }

    fn of_held_back(entry: &'a ProjectEntry) -> Option<Self> {
        let held_back = entry.held_back.as_ref().filter(|_| !entry.name.is_empty())?;
        Some(Row {
            name: &entry.name,
            state: Standing::Untrusted,
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
        Row {
            name,
            state: match config {
                Err(_) => Standing::Invalid,
                Ok(config) if !config.enabled => Standing::Off,
                Ok(_) if permit == Permit::Refused => Standing::Untrusted,
                Ok(_) => Standing::On,
            },
            transport: config.ok().map(|config| config.transport.name()),
            definition: config.ok().map(definition),
            source: &declared.source,
            shadows: &declared.shadows,
            replaces: Vec::new(),
            error: config.err(),
        }
    }

    /// The command or the URL; of an invalid definition what is wrong.
    pub(super) fn reach(&self) -> String {
        match (&self.definition, self.error) {
            (Some(definition), _) => reach(definition),
            (None, Some(error)) => error.message().to_owned(),
            (None, None) => String::new(),
        }
    }
}

impl Standing {
    pub(super) fn cell(self) -> Cell {
        match self {
            Standing::On => Cell::new(Tint::Green, "on"),
            Standing::Off => Cell::new(Tint::Dim, "off"),
            Standing::Invalid => Cell::new(Tint::Red, "invalid"),
            Standing::Untrusted => Cell::new(Tint::Yellow, "untrusted"),
        }
    }
}

/// A definition fit to be shown.
pub(super) fn definition(config: &ServerConfig) -> Value {
    redact::definition(config.to_value())
}

/// The command line or the URL of a definition that is fit to be shown.
pub(super) fn reach(definition: &Value) -> String {
    if let Some(url) = definition["url"].as_str() {
        return url.to_owned();
    }
    let args = definition["args"].as_array().map_or(&[][..], Vec::as_slice);
    let words = std::iter::once(&definition["command"]).chain(args).filter_map(Value::as_str);
    shell::join(words)
}

/// `cursor ~/.cursor/mcp.json`, or who handed it over.
pub(super) fn origin(source: &Source) -> String {
    match &source.path {
        Some(path) if source.provider == "file" => short(path),
        Some(path) => format!("{} ({})", short(path), source.provider),
        None => source.provider.clone(),
    }
}

/// A path as people say it: from the current directory on, or with `~` for the user's home.
pub(super) fn short(path: &str) -> String {
    let home = HostEnv::process().home();
    from_here(path, home.as_deref())
        .or_else(|| below(path, home.as_deref()?, "~"))
        .unwrap_or_else(|| path.to_owned())
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &str) -> String {
    shell::path(&from_here(path, None).unwrap_or_else(|| path.to_owned()))
}

/// A file's problem beside its path: line and column stay.
pub(super) fn without_place<'p>(problem: &'p str, path: &str) -> &'p str {
    problem.strip_prefix(path).map_or(problem, |rest| rest.trim_start_matches([':', ' ']))
}

/// From the current directory on, unless that is the user's home.
fn from_here(path: &str, home: Option<&Path>) -> Option<String> {
    let here = std::env::current_dir().ok().filter(|here| Some(here.as_path()) != home)?;
    let path = below(path, &here, ".")?;
    // Hidden files need no sign that they are here.
    Some(path.strip_prefix("./").filter(|path| path.starts_with('.')).unwrap_or(&path).to_owned())
}

fn below(path: &str, directory: &Path, sign: &str) -> Option<String> {
    let rest = Path::new(path).strip_prefix(directory).ok()?;
    let within = directory.components().count() > 1 && !rest.as_os_str().is_empty();
    within.then(|| format!("{sign}/{}", rest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_shown_as_a_shell_would_take_it() {
        let shown = reach(&json!({"command": "npx", "args": ["-y", "a b", "${X}"]}));
        assert_eq!(shown, "npx -y 'a b' '${X}'");
        assert_eq!(reach(&json!({"url": "https://host/mcp"})), "https://host/mcp");
    }

    #[test]
    fn a_path_below_a_directory_is_shown_from_there_on() {
        let shown = |path: &str, directory: &str| below(path, Path::new(directory), "~");
        assert_eq!(shown("/home/me/a/b", "/home/me/"), Some("~/a/b".to_owned()));
        assert_eq!(shown("/home/meter/a", "/home/me"), None);
        assert_eq!(shown("/home/me", "/home/me"), None);
        assert_eq!(shown("/etc/x", "/"), None);
    }
}
