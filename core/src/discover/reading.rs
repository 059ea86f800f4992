//! Owns going through the table's files: which are there, what servers and lists of names they hold.
//! Invariant: a file counts once, however many ways lead to it, and one that cannot be used costs nothing but itself.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::FoundFile;
use super::names::legal_names;
use super::places::{Candidate, SearchRoots};
use super::providers::{Inner, List, PROVIDERS, Provider, Step};
use crate::config::{
    Level, Scope, ScopeTrust, Source, parse_document, read_text, warn_of_misspelt,
};
use crate::error::Error;

const LONGEST_ANSWER: usize = 256;

/// What one file says.
pub(super) struct Document {
    pub(super) provider: &'static Provider,
    pub(super) source: Source,
    pub(super) scope: Scope,
    /// The answers that are proposed for `${input:id}`.
    pub(super) inputs: HashMap<String, String>,
    pub(super) servers: Vec<Written>,
    /// Names of entries that are parts of the product.
    pub(super) inner: Vec<String>,
    pub(super) lists: Vec<(List, HashSet<String>)>,
}

impl Document {
    /// The file, as it is shown.
    pub(super) fn shown_path(&self) -> &str {
        self.source.path.as_deref().unwrap_or_default()
    }
}

/// A server as its product writes it.
pub(super) struct Written {
    pub(super) name: String,
    /// Its name in the file.
    pub(super) original: String,
    pub(super) definition: Value,
    /// Where its relative paths begin.
    pub(super) directory: PathBuf,
}

/// Reads the files of the providers that are wanted, in order.
pub(super) struct Reader<'a> {
    pub(super) roots: &'a SearchRoots<'a>,
    /// Whether the project's files count.
    pub(super) project_files: bool,
    pub(super) documents: Vec<Document>,
    pub(super) files: Vec<FoundFile>,
    pub(super) warnings: Vec<String>,
    seen: HashSet<(PathBuf, &'static str)>,
    /// Containers that an earlier product has read.
    claimed: HashSet<(PathBuf, String)>,
    /// The physical paths of the user's own files, of all products.
    users: OnceCell<HashSet<PathBuf>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(roots: &'a SearchRoots<'a>, project_files: bool) -> Self {
        Reader {
            roots,
            project_files,
            documents: Vec::new(),
            files: Vec::new(),
            warnings: Vec::new(),
            seen: HashSet::new(),
            claimed: HashSet::new(),
            users: OnceCell::new(),
        }
    }

    pub(super) fn read(&mut self, provider: &'static Provider) {
        for place in provider.places {
            for candidate in self.roots.candidates(place) {
                let physical = match std::fs::canonicalize(&candidate.path) {
                    Ok(physical) => physical,
                    Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => {
                        continue;
                    }
                    // Reading it says what is wrong.
                    Err(_) => candidate.path.clone(),
                };
                // A file of the user is the user's, whoever links to it: it is read in its own place.
                let skipped = place.level == Level::Project
                    && (!self.project_files || self.is_users(&physical));
                if skipped || !self.seen.insert((physical.clone(), provider.name)) {
                    continue;
                }
                self.read_file(provider, candidate, &physical, place.level);
            }
        }
    }

    fn is_users(&self, physical: &Path) -> bool {
        let users = self.users.get_or_init(|| {
            let places = PROVIDERS.iter().flat_map(|provider| provider.places);
            let users = places.filter(|place| place.level == Level::User);
            let files = users.flat_map(|place| self.roots.candidates(place));
            files.filter_map(|file| std::fs::canonicalize(file.path).ok()).collect()
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
            path: Some(candidate.shown.clone()),
            level,
        };
        let warnings = self.warnings.len();
        let mut is_empty = false;
        let document = match self.parse(&candidate, &mut is_empty) {
            Ok(document) => self.understand(provider, document, source, &candidate, physical),
            Err(problem) => Err(problem),
        };
        let (servers, problem) = match document {
            Ok(None) => {
                self.warnings.truncate(warnings);
                return;
            }
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
        let path = candidate.shown;
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
        let shown = |text: &str| text.replace(&*candidate.path.to_string_lossy(), &candidate.shown);
        let told = |error: Error| shown(&error.to_string());
        let text = read_text(&candidate.path).map_err(told)?;
        *is_empty = text.trim_start_matches('\u{feff}').trim().is_empty();
        let parsed = parse_document(&candidate.path, &text).map_err(told)?;
        self.warnings.extend(parsed.warnings(&candidate.path).iter().map(|warning| shown(warning)));
        match parsed.value {
            Value::Object(document) => Ok(document),
            Value::Null => Ok(Map::new()),
            _ => Err(format!("{}: the file must hold an object", candidate.shown)),
        }
    }

    /// What the document holds; nothing when another product has read all of it already.
    fn understand(
        &mut self,
        provider: &'static Provider,
        document: Map<String, Value>,
        source: Source,
        candidate: &Candidate,
        physical: &Path,
    ) -> Result<Option<Document>, String> {
        let shown = &candidate.shown;
        let mut bare_env_names = provider.bare_env_names;
        if provider.own {
            bare_env_names = document.get("bareEnvNames") == Some(&Value::Bool(true));
            let mut misspelt = Vec::new();
            warn_of_misspelt(&document, &mut misspelt);
            self.warnings.extend(misspelt.iter().map(|warning| format!("{shown}: {warning}")));
        }
        let mut document = Value::Object(document);
        let lists = self.lists(provider, &mut document, shown);
        let inputs = provider.inputs.map(|key| inputs(&document[key])).unwrap_or_default();
        let project = self.roots.project;
        let own_directory = match source.level {
            Level::Project => project,
            Level::User | Level::Explicit => physical.parent().unwrap_or(project),
        };
        let scope = Scope {
            level: source.level,
            directory: None,
            workspace: Some(project.to_owned()),
            variables: provider
                .variables
                .map(|file| physical.with_file_name(file))
                .filter(|file| file.exists()),
            bare_env_names,
            host_env: self.roots.host_env.clone(),
            trusted: ScopeTrust::No,
        };
        let (mut servers, mut inner, mut read_before) = (Vec::new(), Vec::new(), false);
        for steps in provider.containers {
            let Some((path, container)) = self.walk(&mut document, steps) else { continue };
            if !self.claimed.insert((physical.to_owned(), path.clone())) {
                read_before = true;
                continue;
            }
            let entries = self.entries(container, &path, shown)?;
            let (parts, entries): (Vec<_>, Vec<_>) =
                entries.into_iter().partition(|(_, entry)| is_inner(provider, entry));
            inner.extend(parts.into_iter().map(|(name, _)| name));
            let of_project = steps.iter().any(|step| matches!(step, Step::ProjectPath));
            let directory = if of_project { project } else { own_directory };
            servers.extend(self.named(provider, entries, shown, directory));
        }
        if read_before && servers.is_empty() {
            return Ok(None);
        }
        Ok(Some(Document { provider, source, scope, inputs, servers, inner, lists }))
    }

    /// Takes what stands at the end of `steps`; the keys that led there come with it.
    fn walk(&self, document: &mut Value, steps: &[Step]) -> Option<(String, Value)> {
        let (mut at, mut path) = (document, String::new());
        for step in steps {
            let object = at.as_object_mut()?;
            let key = match step {
                Step::Key(key) => (*key).to_owned(),
                Step::ProjectPath => {
                    self.project_keys().into_iter().find(|key| object.contains_key(key))?
                }
            };
            at = object.get_mut(&key)?;
            let separator = if path.is_empty() { "" } else { "." };
            path = format!("{path}{separator}{key}");
        }
        Some((path, at.take())).filter(|(_, found)| !found.is_null())
    }

    /// The project's directory as products write it.
    fn project_keys(&self) -> Vec<String> {
        let project = self.roots.project;
        let physical = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        let mut keys = Vec::new();
        for path in [project, &physical] {
            let written = path.display().to_string();
            keys.push(written.replace('\\', "/"));
            keys.push(written);
        }
        keys
    }

    fn entries(
        &mut self,
        container: Value,
        path: &str,
        shown: &str,
    ) -> Result<Vec<(String, Value)>, String> {
        match container {
            Value::Object(entries) => Ok(entries.into_iter().collect()),
            Value::Array(items) => {
                let (mut entries, mut names) = (Vec::new(), HashSet::new());
                for (at, item) in items.into_iter().enumerate() {
                    let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
                    match name {
                        Some(name) if names.insert(name.clone()) => entries.push((name, item)),
                        Some(name) => self.warnings.push(format!(
                            "{shown}: \"{path}\" has \"{name}\" twice; the first one counts"
                        )),
                        None => self.warnings.push(format!(
                            "{shown}: entry {} of \"{path}\" has no name and is left aside",
                            at + 1
                        )),
                    }
                }
                Ok(entries)
            }
            _ => Err(format!("{shown}: \"{path}\" must be an object of servers by name")),
        }
    }

    fn named(
        &mut self,
        provider: &Provider,
        entries: Vec<(String, Value)>,
        shown: &str,
        directory: &Path,
    ) -> Vec<Written> {
        let originals: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        let names = match provider.own {
            true => originals.iter().map(|&name| name.to_owned()).collect(),
            false => legal_names(&originals),
        };
        for (original, name) in originals.iter().zip(&names).filter(|(one, other)| *one != other) {
            self.warnings.push(format!(
                "{shown}: \"{original}\" cannot be the name of a server; it is called \"{name}\""
            ));
        }
        let servers = names.into_iter().zip(entries);
        servers
            .map(|(name, (original, definition))| {
                let directory = directory.to_owned();
                Written { name, original, definition, directory }
            })
            .collect()
    }

    fn lists(
        &mut self,
        provider: &Provider,
        document: &mut Value,
        shown: &str,
    ) -> Vec<(List, HashSet<String>)> {
        let mut lists = Vec::new();
        for list in provider.lists {
            let Some((path, found)) = self.walk(document, list.path) else { continue };
            match serde_json::from_value::<HashSet<String>>(found) {
                Ok(names) => lists.push((*list, names)),
                Err(_) => self
                    .warnings
                    .push(format!("{shown}: \"{path}\" must be a list of names; it is left aside")),
            }
        }
        lists
    }
}

fn is_inner(provider: &Provider, entry: &Value) -> bool {
    provider.inner.iter().any(|inner| match inner {
        Inner::Is(field, value) => entry[field] == *value,
        Inner::Without(fields) => entry
            .as_object()
            .is_some_and(|entry| !fields.iter().any(|&field| entry.contains_key(field))),
    })
}

/// What is asked of the user, where an answer is proposed.
fn inputs(declared: &Value) -> HashMap<String, String> {
    let inputs = declared.as_array().into_iter().flatten();
    let proposed = inputs.filter_map(|input| {
        let (id, answer) = (input["id"].as_str()?, input["default"].as_str()?);
        Some((id.to_owned(), answer.to_owned()))
    });
    // Each place in the file may ask for it, so that a long one could fill the memory.
    proposed.filter(|(_, answer)| answer.len() <= LONGEST_ANSWER).collect()
}
