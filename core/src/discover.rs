//! Owns discovery: reads every product's config files, in order of priority, into one model. It starts nothing;
//! `resolve` interprets values.
//! Invariant: a bad file is a warning that names it, and everything else loads.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::{
    Config, Declared, HeldBack, Level, ProjectEntry, ServerConfig, Source, Subject,
};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{PROVIDERS, Provider};
use crate::redact::{self, Secret};

mod bridge;
mod choice;
mod document;
mod explicit;
mod locations;
mod mistaken_path;
mod names;
mod native;
mod options;
mod reading;
#[cfg(test)]
mod tests;

use locations::SearchRoots;
pub(crate) use names::legal_names;
pub use options::{DiscoverOptions, McpRemote};
use reading::DocumentReader;
pub(crate) use reading::project_keys;

/// The file that is named when a project cannot be read at all.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";

/// The result of discovery.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Discovery {
    /// The servers, each with its source and what it shadows; and the warnings.
    pub config: Config,
    /// Keys of the servers that the host integrates itself, by the names it gave.
    pub native: IndexMap<String, Vec<Secret>>,
    /// Servers that were left out, and why.
    pub left_out: Vec<LeftOut>,
    /// Every file that exists, in order of priority.
    pub files: Vec<FoundFile>,
    /// Why nothing could be found at all.
    pub errors: Vec<DiscoveryError>,
}

/// A server that a file declares and that was left out.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The matching glob, or the native integration that replaces it.
    pub why: String,
    /// Where it is declared.
    pub source: Source,
}

/// A config file that exists.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FoundFile {
    /// The product it belongs to.
    pub provider: String,
    /// Where it is.
    pub path: String,
    /// Whether it belongs to the user, the project or the system.
    pub level: Level,
    /// How many servers it declares.
    pub servers: usize,
    /// Why it could not be used.
    pub problem: Option<String>,
    /// The file is empty.
    #[serde(skip)]
    pub(crate) is_empty: bool,
}

/// Why discovery found nothing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DiscoveryError {
    /// The file that represents the project.
    pub path: String,
    /// What went wrong.
    pub error: Error,
}

/// The names of all products that are searched, in order of priority.
pub fn providers() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

/// The prefix of the fingerprint of a file's server lists.
pub(crate) const LISTS: &str = "lists-";

/// Which entries of a project the user trusts; implemented by `crate::trust`.
pub(crate) trait TrustView {
    /// A hash of a definition and of the project's files that are part of it.
    fn fingerprint(&self, config: &ServerConfig) -> String;
    /// Whether the user trusts the subject.
    fn trusts(&self, subject: &Subject) -> bool;
}

/// Finds the servers configured on this machine. Reads files, starts nothing, never fails as a whole.
pub(crate) fn discover_with(options: &DiscoverOptions, trust: &dyn TrustView) -> Discovery {
    discover_under(options, trust, Path::new("/etc"))
}

fn discover_under(options: &DiscoverOptions, trust: &dyn TrustView, system: &Path) -> Discovery {
    let mut discovery = Discovery::default();
    let project = match project_directory(options.cwd.as_deref()) {
        Ok(project) => project,
        Err(error) => {
            discovery.errors.push(DiscoveryError { path: PROJECT_FILE.to_owned(), error });
            return discovery;
        }
    };
    let roots = SearchRoots { project: &project, host_env: &options.host_env, system };
    let mut reader = DocumentReader::new(&roots, options.project_config);
    let wanted = |name: &str| options.providers.iter().any(|wanted| wanted == name);
    for name in &options.providers {
        if !PROVIDERS.iter().any(|provider| provider.name == name) {
            reader.warnings.push(format!("The option \"providers\" has \"{name}\", which is none"));
        }
    }
    let mut order: Vec<&'static Provider> = PROVIDERS.iter().collect();
    order.sort_by_key(|provider| Reverse(provider.priority));
    for provider in order {
        if options.providers.is_empty() || wanted(provider.name) {
            reader.read(provider);
        }
    }
    discovery.files = reader.files;
    discovery.config.warnings = reader.warnings;
    choice::choose(reader.documents, options, trust, &mut discovery);
    discovery
}

/// Every file and directory that discovery would read if it existed.
pub(crate) fn candidates(options: &DiscoverOptions) -> Vec<PathBuf> {
    let Ok(project) = project_directory(options.cwd.as_deref()) else { return Vec::new() };
    let system = Path::new("/etc");
    let roots = SearchRoots { project: &project, host_env: &options.host_env, system };
    let wanted = |name: &str| {
        options.providers.is_empty() || options.providers.iter().any(|wanted| wanted == name)
    };
    let providers = PROVIDERS.iter().filter(|provider| wanted(provider.name));
    let locations = providers.flat_map(|provider| provider.locations.iter());
    let locations =
        locations.filter(|location| options.project_config || location.level != Level::Project);
    locations.flat_map(|location| roots.watched_paths(location)).collect()
}

/// The project's directory, absolute; an error if it cannot be read.
fn project_directory(cwd: Option<&Path>) -> Result<PathBuf> {
    let given = cwd.unwrap_or(Path::new("."));
    let absolute = match cwd {
        Some(cwd) => std::path::absolute(cwd),
        None => std::env::current_dir(),
    };
    let failed = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "it does not exist".to_owned(),
            kind => kind.to_string(),
        };
        let text = format!("The directory {} cannot be read: {why}", given.display());
        Error::new(ErrorKind::DiscoveryFailed, text)
    };
    let absolute = absolute.map_err(failed)?;
    std::fs::read_dir(&absolute).map_err(failed)?;
    Ok(absolute)
}

impl Discovery {
    /// The result as JSON, for programs and people. Secrets are redacted; keys of `native` are left out.
    pub fn report(&self) -> Value {
        let shown = |config: Option<&ServerConfig>| {
            config.map_or(Value::Null, |config| redact::definition(config.to_value()))
        };
        // Definitions are moved: `json!` would copy each once for every level.
        let server = |(name, declared): (&String, &Declared)| {
            let config = declared.config.as_ref();
            object([
                ("name", name.as_str().into()),
                ("config", shown(config.ok())),
                ("error", json!(config.err())),
                ("enabled", config.ok().map(|config| config.enabled).into()),
                ("source", json!(declared.source)),
                ("shadows", json!(declared.shadows)),
                ("direct", shown(declared.direct.as_ref())),
            ])
        };
        let blocked = |entry: &ProjectEntry| {
            let HeldBack { effect, servers } = entry.held_back.as_ref()?;
            let concerned = servers
                .iter()
                .map(|(name, source)| object([("name", json!(name)), ("source", json!(source))]));
            Some(object([
                ("name", json!(entry.name)),
                ("config", redact::definition(entry.definition.clone())),
                ("source", json!(entry.source)),
                ("effect", json!(effect)),
                ("servers", concerned.collect()),
            ]))
        };
        object([
            ("servers", self.config.servers.iter().map(server).collect()),
            ("blocked", self.config.project.iter().filter_map(blocked).collect()),
            ("warnings", json!(self.config.warnings)),
            ("files", json!(self.files)),
            ("left_out", json!(self.left_out)),
            ("errors", json!(self.errors)),
        ])
    }
}

impl Discovery {
    /// The report with the keys of natively integrated servers, for a host language that wraps them as secrets again.
    pub fn report_with_keys(&self) -> Value {
        let exposed = |keys: &Vec<Secret>| keys.iter().map(|key| json!(key.expose())).collect();
        let keys = self.native.iter().map(|(name, keys)| (name.clone(), exposed(keys)));
        let mut report = self.report();
        report["native"] = Value::Object(keys.collect());
        report
    }
}

/// A warning with the file that it is about, if there is one.
fn in_document(display: &str, warning: &str) -> String {
    if display.is_empty() { warning.to_owned() } else { format!("{display}: {warning}") }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// One entry, normalised with the product at this index of the table.
#[cfg(any(test, fuzzing))]
pub(crate) fn normalised(
    entry: serde_json::Map<String, Value>,
    which: usize,
) -> Option<serde_json::Map<String, Value>> {
    let provider = &PROVIDERS[which % PROVIDERS.len()];
    crate::provider::normalise(entry, provider, &Default::default())
        .ok()
        .map(|normal| normal.definition)
}
