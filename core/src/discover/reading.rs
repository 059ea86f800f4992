//! Owns reading the table's files: which exist, and which servers and lists of names they contain.
//! Invariant: a file counts once, even if several paths lead to it, and an unusable file affects nothing else.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::FoundFile;
use super::document::{Document, WrittenServer};
use super::in_document;
use super::locations::{Candidate, SearchRoots};
use super::names::legal_names;
use crate::config::{
    Level, Scope, ScopeTrust, Source, parse_document, read_text, take_bare_env_names,
    warn_of_misspelt,
};
use crate::error::Error;
use crate::file_system;
use crate::provider::{BuiltIn, Inputs, NameList, PROVIDERS, Provider, Step, ToolSwitches};

/// Reads the files of the requested providers, in order.
pub(super) struct DocumentReader<'a> {
    pub(super) roots: &'a SearchRoots<'a>,
    /// Whether the project's files are read.
    pub(super) project_files: bool,
    pub(super) documents: Vec<Document>,
    pub(super) files: Vec<FoundFile>,
    pub(super) warnings: Vec<String>,
    seen: HashSet<(PathBuf, &'static str)>,
    /// Files that an earlier product has read.
    listed: HashSet<PathBuf>,
    /// Containers that an earlier product has read.
    claimed: HashSet<(PathBuf, String)>,
    /// The physical paths of all user-level files of all products.
    users: OnceCell<HashSet<PathBuf>>,
}

impl<'a> DocumentReader<'a> {
    pub(super) fn new(roots: &'a SearchRoots<'a>, project_files: bool) -> Self {
        DocumentReader {
            roots,
            project_files,
            documents: Vec::new(),
            files: Vec::new(),
            warnings: Vec::new(),
            seen: HashSet::new(),
            listed: HashSet::new(),
            claimed: HashSet::new(),
            users: OnceCell::new(),
        }
    }

    pub(super) fn read(&mut self, provider: &'static Provider) {
        for location in provider.locations {
            for candidate in self.roots.candidates(location) {
                let physical = match file_system::canonicalize(&candidate.path) {
                    Ok(physical) => physical,
                    Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => {
                        continue;
                    }
                    // The read reports the error.
                    Err(_) => candidate.path.clone(),
                };
                // A user's file that a project links to stays the user's: it is read at its own path.
                let skipped = location.level == Level::Project
                    && (!self.project_files || self.is_users(&physical));
                if skipped || !self.seen.insert((physical.clone(), provider.name)) {
                    continue;
                }
                self.read_file(provider, candidate, &physical, location.level);
            }
        }
    }

    fn is_users(&self, physical: &Path) -> bool {
        let users = self.users.get_or_init(|| {
            let locations = PROVIDERS.iter().flat_map(|provider| provider.locations);
            let users = locations.filter(|location| location.level == Level::User);
            let files = users.flat_map(|location| self.roots.candidates(location));
            files.filter_map(|file| file_system::canonicalize(file.path).ok()).collect()
        });
        users.contains(physical)
    }

    fn read_file(
        &mut self,
        provider: &'static Provider,
        candidate: Candidate,
        physical: &Path,
        level: Level,
    ) {
        let source = Source {
            provider: provider.name.to_owned(),
            path: Some(candidate.display.clone()),
            level,
        };
        let warnings = self.warnings.len();
        let mut is_empty = false;
        let document = match self.parse(&candidate, &mut is_empty) {
            Ok(document) => self.extract(provider, document, source, &candidate, physical),
            Err(problem) => Err(problem),
        };
        let is_new = self.listed.insert(physical.to_owned());
        let (servers, problem) = match document {
            Ok(None) => {
                self.warnings.truncate(warnings);
                return;
            }
            // An editor's settings are those of several products: they are reported once.
            Ok(Some(document)) if !is_new && document.is_empty() => {
                self.warnings.truncate(warnings);
                return;
            }
            Err(problem) if self.warnings.contains(&problem) => return,
            Ok(Some(document)) => {
                let servers = document.servers.len();
                self.documents.push(document);
                (servers, None)
            }
            Err(problem) => {
                self.warnings.push(problem.clone());
                (0, Some(problem))
            }
        };
        let provider = provider.name.to_owned();
        let path = candidate.display;
        self.files.push(FoundFile { provider, path, level, servers, problem, is_empty });
    }

    fn parse(
        &mut self,
        candidate: &Candidate,
        is_empty: &mut bool,
    ) -> Result<Map<String, Value>, String> {
        if let Some(problem) = &candidate.problem {
            return Err(problem.clone());
        }
        let display =
            |text: &str| text.replace(&*candidate.path.to_string_lossy(), &candidate.display);
        let to_text = |error: Error| display(&error.to_string());
        let text = read_text(&candidate.path).map_err(to_text)?;
        *is_empty = text.trim_start_matches('\u{feff}').trim().is_empty();
        let parsed = parse_document(&candidate.path, &text).map_err(to_text)?;
        self.warnings
            .extend(parsed.warnings(&candidate.path).iter().map(|warning| display(warning)));
        match parsed.value {
            Value::Object(document) => Ok(document),
            Value::Null => Ok(Map::new()),
            _ => Err(format!("{}: the file must hold an object", candidate.display)),
        }
    }

    /// The document's content; `None` if other products have read all of it already.
    pub(super) fn extract(
        &mut self,
        provider: &'static Provider,
        document: Map<String, Value>,
        source: Source,
        candidate: &Candidate,
        physical: &Path,
    ) -> Result<Option<Document>, String> {
        let display = &candidate.display;
        let mut document = Value::Object(document);
        let lists = self.lists(provider, &mut document, display);
        let switches = provider.tool_switches.and_then(|key| Some((key, document.get(key)?)));
        let tool_switches = switches.map(|(key, written)| {
            let mut warnings = Vec::new();
            let switches = ToolSwitches::read(key, written, &mut warnings);
            self.warnings.extend(warnings.iter().map(|warning| in_document(display, warning)));
            switches
        });
        let mut bare_env_names = provider.bare_env_names;
        if let Value::Object(document) = &mut document {
            let mut warnings = Vec::new();
            bare_env_names |= take_bare_env_names(document, &mut warnings);
            if provider.is_own {
                warn_of_misspelt(document, &mut warnings);
            }
            self.warnings.extend(warnings.iter().map(|warning| in_document(display, warning)));
        }
        let declared = provider.inputs.iter().filter_map(|steps| self.walk(&mut document, steps));
        let inputs = Inputs::from_declared(declared.map(|(_, declared)| declared));
        let project = self.roots.project;
        let own_directory = match source.level {
            Level::Project => project,
            Level::User | Level::Explicit => physical.parent().unwrap_or(project),
        };
        let scope = Scope {
            level: source.level,
            directory: None,
            file_directory: None,
            workspace: Some(project.to_owned()),
            variables: provider
                .variables
                .filter(|_| physical.is_absolute())
                .map(|file| physical.with_file_name(file))
                .filter(|file| file.exists()),
            bare_env_names,
            host_env: self.roots.host_env.clone(),
            identity: None,
            trusted: ScopeTrust::No,
        };
        let (mut servers, mut built_in, mut read_before) = (Vec::new(), Vec::new(), false);
        for steps in provider.containers {
            let Some((path, container)) = self.walk(&mut document, steps) else { continue };
            if !self.claimed.insert((physical.to_owned(), path.clone())) {
                read_before = true;
                continue;
            }
            let entries = self.entries(container, &path, display)?;
            let (parts, entries): (Vec<_>, Vec<_>) =
                entries.into_iter().partition(|(_, entry)| is_built_in(provider, entry));
            for (name, entry) in parts {
                let told = provider.built_in.iter().find_map(|part| told_sign(part, &entry));
                if let Some((field, value)) = told {
                    let text = format!(
                        "\"{name}\" is left out: with \"{field}\": \"{value}\" it is a part of {}, no MCP server",
                        provider.name
                    );
                    self.warnings.push(in_document(display, &text));
                }
                built_in.push(name);
            }
            let of_project = steps.iter().any(|step| matches!(step, Step::ProjectPath));
            let directory = if of_project { project } else { own_directory };
            servers.extend(self.name_servers(provider, entries, display, directory));
        }
        if read_before && servers.is_empty() {
            return Ok(None);
        }
        if let Some(tool_switches) = tool_switches {
            self.switch_tools(tool_switches, &mut servers, display);
        }
        Ok(Some(Document { provider, source, scope, inputs, servers, built_in, lists }))
    }

    fn switch_tools(
        &mut self,
        mut switches: ToolSwitches,
        servers: &mut [WrittenServer],
        display: &str,
    ) {
        let mut is_whole = true;
        for WrittenServer { original, definition, .. } in servers {
            if let Value::Object(definition) = definition {
                is_whole &= switches.apply(original, definition);
            }
        }
        if !is_whole {
            let text = "it switches too many tools off, so servers in it offer none";
            self.warnings.push(in_document(display, text));
        }
    }

    /// Takes the value at the end of `steps`, with the keys that led there.
    fn walk(&self, document: &mut Value, steps: &[Step]) -> Option<(String, Value)> {
        let (mut at, mut path) = (document, String::new());
        for step in steps {
            let object = at.as_object_mut()?;
            let key = match step {
                Step::Key(key) => (*key).to_owned(),
                Step::ProjectPath => project_keys(self.roots.project)
                    .into_iter()
                    .find(|key| object.contains_key(key))?,
            };
            at = object.get_mut(&key)?;
            let separator = if path.is_empty() { "" } else { "." };
            path = format!("{path}{separator}{key}");
        }
        Some((path, at.take())).filter(|(_, found)| !found.is_null())
    }

    fn entries(
        &mut self,
        container: Value,
        path: &str,
        display: &str,
    ) -> Result<Vec<(String, Value)>, String> {
        match container {
            Value::Object(entries) => Ok(entries.into_iter().collect()),
            Value::Array(items) => {
                let (mut entries, mut names) = (Vec::new(), HashSet::new());
                for (at, item) in items.into_iter().enumerate() {
                    let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
                    match name {
                        Some(name) if names.insert(name.clone()) => entries.push((name, item)),
                        Some(name) => {
                            let twice =
                                format!("\"{path}\" has \"{name}\" twice; the first one counts");
                            self.warnings.push(in_document(display, &twice));
                        }
                        None => {
                            let at = at + 1;
                            let nameless =
                                format!("entry {at} of \"{path}\" has no name and is left aside");
                            self.warnings.push(in_document(display, &nameless));
                        }
                    }
                }
                Ok(entries)
            }
            _ => {
                let wrong = format!("\"{path}\" must be an object of servers by name");
                Err(in_document(display, &wrong))
            }
        }
    }

    fn name_servers(
        &mut self,
        provider: &Provider,
        entries: Vec<(String, Value)>,
        display: &str,
        directory: &Path,
    ) -> Vec<WrittenServer> {
        let originals: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        let names = match provider.is_own {
            true => originals.iter().map(|&name| name.to_owned()).collect(),
            false => legal_names(&originals),
        };
        for (original, name) in originals.iter().zip(&names).filter(|(one, other)| *one != other) {
            let renamed =
                format!("\"{original}\" cannot be the name of a server; it is called \"{name}\"");
            self.warnings.push(in_document(display, &renamed));
        }
        let servers = names.into_iter().zip(entries);
        servers
            .map(|(name, (original, definition))| {
                let directory = directory.to_owned();
                WrittenServer { name, original, definition, directory }
            })
            .collect()
    }

    fn lists(
        &mut self,
        provider: &Provider,
        document: &mut Value,
        display: &str,
    ) -> Vec<(NameList, HashSet<String>)> {
        let mut lists = Vec::new();
        for list in provider.all_lists() {
            let Some((path, found)) = self.walk(document, list.path) else { continue };
            match serde_json::from_value::<HashSet<String>>(found) {
                Ok(names) => lists.push((list, names)),
                Err(_) => {
                    let wrong = format!("\"{path}\" must be a list of names; it is left aside");
                    self.warnings.push(in_document(display, &wrong));
                }
            }
        }
        lists
    }
}

/// The project's directory in the notations that products use.
pub(crate) fn project_keys(project: &Path) -> Vec<String> {
    let physical = file_system::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let mut keys = Vec::new();
    for path in [project, &physical] {
        let written = path.display().to_string();
        keys.push(written.replace('\\', "/"));
        keys.push(written);
    }
    keys
}

fn is_built_in(provider: &Provider, entry: &Value) -> bool {
    provider.built_in.iter().any(|built_in| match built_in {
        BuiltIn::Is(field, value) | BuiltIn::Foreign(field, value) => entry[field] == *value,
        BuiltIn::Without(fields) => entry
            .as_object()
            .is_some_and(|entry| !fields.iter().any(|&field| entry.contains_key(field))),
    })
}

/// The field and value that tell what the entry is, if it must be told that it is left out.
fn told_sign(part: &BuiltIn, entry: &Value) -> Option<(&'static str, &'static str)> {
    match part {
        BuiltIn::Foreign(field, value) if entry[field] == *value => Some((field, value)),
        _ => None,
    }
}
