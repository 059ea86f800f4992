//! Owns configs that are handed over: a file that is opened by name, or a document given in code. They are read as
//! discovery reads them, in the form of the product that they belong to.
//! Invariant: what is handed over is explicit: no rule for projects applies to it.

use std::path::Path;

use serde_json::{Map, Value};

use super::locations::{Candidate, SearchRoots};
use super::reading::DocumentReader;
use super::{DiscoverOptions, Discovery, TrustView, choice, in_document, mistaken_path};
use crate::config::parse::{self, Format};
use crate::config::{
    Config, ServerConfig, Source, Subject, in_file, parse_document, physical, read_text,
};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::provider::{Provider, recognise, unread_containers};

impl Config {
    /// Reads a config file of ours or of any product that discovery knows, told by its path or its content: JSON with or
    /// without comments, YAML or TOML, by its extension.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Config> {
        let path = path.as_ref();
        let parsed = parse_document(path, &read_text(path)?)?;
        let mut warnings = parsed.warnings(path);
        let mut config = read(parsed.value, Some(path))?;
        warnings.append(&mut config.warnings);
        config.warnings = warnings;
        Ok(config)
    }

    /// Reads `{"mcpServers": {name: definition, …}}`, or the form of another product; comments and trailing commas are
    /// allowed.
    pub fn from_json(text: &str) -> Result<Config> {
        let parsed = parse::parse(text, Format::Json).map_err(|error| {
            let (line, column) = (error.line, error.column);
            let problem = format!("The config is {} (line {line}, column {column})", error.message);
            mistaken_path::refused(text).unwrap_or_else(|| invalid(&problem))
        })?;
        let mut config = Config::from_value(parsed.value)?;
        let warnings = parsed.remarks.iter().map(|remark| format!("The config:{remark}"));
        config.warnings = warnings.chain(std::mem::take(&mut config.warnings)).collect();
        Ok(config)
    }

    /// Reads an already parsed `{"mcpServers": {name: definition, …}}`, or the form of another product.
    pub fn from_value(document: Value) -> Result<Config> {
        read(document, None)
    }
}

fn read(document: Value, file: Option<&Path>) -> Result<Config> {
    let refused = |why: &str| match file {
        Some(file) => in_file(file, &invalid(why)),
        None => invalid(why),
    };
    let Value::Object(mut document) = document else {
        return Err(refused("The config must be an object with \"mcpServers\""));
    };
    let providers = recognise(file, &document);
    let physical = file.map(physical).unwrap_or_default();
    let candidate = Candidate::at(file.map(Path::to_owned).unwrap_or_default());
    let (project, host_env) = (std::env::current_dir().unwrap_or_default(), HostEnv::process());
    let roots = SearchRoots { project: &project, host_env: &host_env, system: Path::new("/etc") };
    let mut reader = DocumentReader::new(&roots, true);
    let names: Vec<&str> = providers.iter().map(|provider| provider.name).collect();
    for key in unread_containers(&document, &providers) {
        let text = format!(
            "the servers under \"{key}\" are left out: the document is read as one of {}",
            names.join(" and ")
        );
        reader.warnings.push(in_document(&candidate.display, &text));
    }
    for (at, provider) in providers.iter().enumerate() {
        check_container(provider, &document).map_err(|why| refused(&why))?;
        let is_last = at + 1 == providers.len();
        let document = if is_last { std::mem::take(&mut document) } else { document.clone() };
        let source = source(provider, file);
        let read = reader.extract(provider, document, source, &candidate, &physical);
        reader.documents.extend(read.map_err(|why| invalid(&why))?);
    }
    let mut discovery = Discovery::default();
    discovery.config.warnings = reader.warnings;
    let options = DiscoverOptions::default();
    choice::choose(reader.documents, &options, &NothingOfAProject, &mut discovery);
    let mut config = discovery.config;
    for declared in config.servers.values_mut() {
        declared.direct = None;
        if let Ok(server) = &mut declared.config {
            // Relative paths are those of the program that hands it over.
            server.scope.directory = None;
            server.scope.workspace = None;
            server.scope.file_directory = physical.parent().map(Path::to_owned);
        }
    }
    Ok(config)
}

/// The error is what is wrong with the place of the servers.
fn check_container(
    provider: &Provider,
    document: &Map<String, Value>,
) -> std::result::Result<(), String> {
    let (key, found) = provider.servers_in(document);
    match found {
        Some(Value::Array(_)) if provider.is_own => {
            Err(format!("\"{key}\" must be an object of servers by name"))
        }
        None if !provider.has_servers_by_project() => Err(format!("The config has no \"{key}\"")),
        _ => Ok(()),
    }
}

fn source(provider: &Provider, file: Option<&Path>) -> Source {
    match file {
        None => Source::code(),
        Some(file) if provider.is_own => Source::file(file),
        Some(file) => Source { provider: provider.name.to_owned(), ..Source::file(file) },
    }
}

/// The view of trust for documents that are no project's.
struct NothingOfAProject;

impl TrustView for NothingOfAProject {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        config.fingerprint()
    }

    fn trusts(&self, _: &Subject) -> bool {
        false
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::ConfigInvalid, message)
        .with_hint("write {\"mcpServers\": {\"name\": {\"command\": …} or {\"url\": …}}}")
}
