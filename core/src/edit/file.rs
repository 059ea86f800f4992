//! Owns a config file that is edited: whose form it has, where it keeps its servers, and where one of them is.

use std::path::Path;

use serde_json::{Map, Value};

use super::change::{DocumentChange, DocumentPath, PathPart, below, value_at};
use crate::discover::{legal_names, project_keys};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{ListEffect, NameList, Provider, Step, recognise};
use crate::similar::did_you_mean;

/// A config file that was read.
pub(super) struct FileToEdit<'a> {
    pub(super) path: &'a Path,
    pub(super) document: &'a Value,
    /// The product whose form it has.
    pub(super) provider: &'static Provider,
    /// Where the server is, or where it belongs.
    pub(super) container: DocumentPath,
    /// The notations of the project's directory.
    project: Vec<String>,
}

/// A server of the file.
pub(super) struct EntryAt<'a> {
    pub(super) path: DocumentPath,
    /// Its name in the file.
    pub(super) original: String,
    pub(super) fields: &'a Map<String, Value>,
}

impl<'a> FileToEdit<'a> {
    /// The file, for an edit of `name`.
    pub(super) fn new(
        path: &'a Path,
        document: &'a Value,
        project: Option<&Path>,
        name: &str,
    ) -> Result<Self> {
        let Value::Object(object) = document else {
            let text = format!("{}: it is not an object", path.display());
            return Err(Error::new(ErrorKind::ConfigInvalid, text));
        };
        let current = || std::env::current_dir().unwrap_or_default();
        let project = project.map_or_else(current, Path::to_owned);
        let project = project_keys(&project);
        let containers = |provider: &'static Provider| {
            let containers = provider.containers.iter();
            containers.filter_map(|steps| resolved(document, steps, &project))
        };
        let providers = recognise(Some(path), object);
        let places = providers
            .iter()
            .flat_map(|provider| containers(provider).map(move |container| (*provider, container)));
        let places: Vec<(&'static Provider, DocumentPath)> = places.collect();
        let is_there = |(_, container): &&(&'static Provider, DocumentPath)| {
            find(value_at(document, container), name).is_some()
        };
        // What is new does not go into a part for one project.
        let is_general = |(_, container): &&(&'static Provider, DocumentPath)| {
            !container.iter().any(|part| project.iter().any(|key| *part == PathPart::from(&**key)))
        };
        let is_used = |place: &&(&'static Provider, DocumentPath)| {
            is_general(place) && value_at(document, &place.1).is_some_and(|it| !it.is_null())
        };
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_first = |(provider, container): &&(&'static Provider, DocumentPath)| {
            let mut rules = provider.wording.first_container.iter();
            let rule = rules.find(|(name, _)| *name == file_name);
            rule.and_then(|(_, index)| resolved(document, provider.containers[*index], &project))
                .is_some_and(|first| first == *container)
        };
        let chosen = places.iter().find(is_there);
        let chosen = chosen.or_else(|| places.iter().find(is_used));
        let chosen = chosen.or_else(|| places.iter().find(is_first));
        let chosen = chosen.or_else(|| places.iter().find(is_general));
        let Some((provider, container)) = chosen.cloned() else {
            let text = format!("{}: it has no place for servers", path.display());
            return Err(Error::new(ErrorKind::ConfigInvalid, text));
        };
        let file = FileToEdit { path, document, provider, container, project };
        match file.servers() {
            None | Some(Value::Object(_)) => Ok(file),
            Some(Value::Array(_)) if !file.provider.is_own => Ok(file),
            Some(_) => {
                let key = shown(&file.container);
                let text =
                    format!("{}: \"{key}\" is not an object of servers by name", path.display());
                Err(Error::new(ErrorKind::ConfigInvalid, text))
            }
        }
    }

    pub(super) fn display_path(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// The servers, unless there is no place for them yet.
    pub(super) fn servers(&self) -> Option<&'a Value> {
        value_at(self.document, &self.container).filter(|servers| !servers.is_null())
    }

    pub(super) fn entry(&self, name: &str) -> Option<(PathPart, String, &'a Value)> {
        find(self.servers(), name)
    }

    /// The server in a changed document.
    pub(super) fn entry_in<'d>(
        &self,
        document: &'d Value,
        name: &str,
    ) -> Option<(PathPart, String, &'d Value)> {
        find(value_at(document, &self.container), name)
    }

    pub(super) fn existing(&self, name: &str) -> Result<EntryAt<'a>> {
        match self.entry(name) {
            Some((part, original, Value::Object(fields))) => {
                let path = self.container.iter().cloned().chain([part]).collect();
                Ok(EntryAt { path, original, fields })
            }
            Some(_) => {
                let text = format!(
                    "{}: the definition of \"{name}\" is not an object",
                    self.display_path()
                );
                Err(Error::new(ErrorKind::ConfigInvalid, text).naming_server(name))
            }
            None => {
                let text = format!("Server \"{name}\" not found in {}", self.display_path());
                let missing = Error::new(ErrorKind::ServerNotFound, text).naming_server(name);
                let names = names(self.servers());
                Err(match did_you_mean(name, names.iter().map(String::as_str)) {
                    Some(near) => missing.with_hint(format!("did you mean \"{near}\"?")),
                    None => missing,
                })
            }
        }
    }

    /// The lists of names that this document can have: the product's, and ours.
    pub(super) fn lists(&self) -> impl Iterator<Item = (NameList, DocumentPath)> {
        self.in_document(self.provider.all_lists())
    }

    /// The product's own lists of names that this document can have.
    pub(super) fn products_lists(&self) -> impl Iterator<Item = (NameList, DocumentPath)> {
        self.in_document(self.provider.lists.iter().copied())
    }

    fn in_document(
        &self,
        lists: impl Iterator<Item = NameList>,
    ) -> impl Iterator<Item = (NameList, DocumentPath)> {
        lists.filter_map(|list| Some((list, resolved(self.document, list.path, &self.project)?)))
    }

    pub(super) fn is_listed(&self, list: &[PathPart], name: &str) -> bool {
        let names = value_at(self.document, list).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|it| it == name))
    }

    /// The steps after which no list of the file switches the server off.
    pub(super) fn listed_on(&self, name: &str) -> Vec<DocumentChange> {
        let step = |(list, path): (NameList, DocumentPath)| {
            let is_listed = self.is_listed(&path, name);
            let is_list = value_at(self.document, &path).is_some_and(Value::is_array);
            match list.effect {
                ListEffect::Off if is_listed => Some(DocumentChange::pull(path, name)),
                ListEffect::Only if is_list && !is_listed => Some(DocumentChange::push(path, name)),
                ListEffect::Off | ListEffect::Only | ListEffect::On => None,
            }
        };
        self.lists().filter_map(step).collect()
    }

    /// An error if the changed document would be read as another product's: its words mean something else there.
    pub(super) fn check_recognised(&self, name: &str, changed: &Value) -> Result<()> {
        let object = changed.as_object().cloned().unwrap_or_default();
        let products = recognise(Some(self.path), &object);
        if products.iter().any(|product| product.name == self.provider.name) {
            return Ok(());
        }
        let text = format!(
            "{}: with this change to \"{name}\" it would no longer be known as a file of {}",
            self.display_path(),
            self.provider.name
        );
        Err(Error::new(ErrorKind::ConfigInvalid, text).naming_server(name))
    }

    /// An error unless lists about all servers belong into this file.
    pub(super) fn check_own(&self, list: &str) -> Result<()> {
        if self.provider.is_own {
            return Ok(());
        }
        let text = format!(
            "{}: \"{list}\" belongs into a file of mcpool, and this is one of {}",
            self.display_path(),
            self.provider.name
        );
        Err(Error::new(ErrorKind::ConfigInvalid, text))
    }
}

/// The path of `steps` in the document; `None` if it is about a project that the document does not have.
fn resolved(document: &Value, steps: &[Step], project: &[String]) -> Option<DocumentPath> {
    let mut path = DocumentPath::new();
    for step in steps {
        let key = match step {
            Step::Key(key) => key,
            Step::ProjectPath => {
                let projects = value_at(document, &path)?;
                project.iter().find(|key| projects.get(key).is_some())?.as_str()
            }
        };
        path = below(&path, key);
    }
    Some(path)
}

/// The server that `name` stands for: by its name in the file, or by its name with us.
fn find<'v>(servers: Option<&'v Value>, name: &str) -> Option<(PathPart, String, &'v Value)> {
    let originals = originals(servers);
    let by_original = originals.iter().position(|(_, original, _)| original == name);
    let index = by_original.or_else(|| names(servers).iter().position(|legal| legal == name))?;
    originals.into_iter().nth(index)
}

fn names(servers: Option<&Value>) -> Vec<String> {
    let originals = originals(servers);
    let originals: Vec<&str> = originals.iter().map(|(_, name, _)| name.as_str()).collect();
    legal_names(&originals)
}

fn originals(servers: Option<&Value>) -> Vec<(PathPart, String, &Value)> {
    match servers {
        Some(Value::Object(entries)) => {
            let entries = entries.iter();
            entries
                .map(|(name, entry)| (PathPart::Key(name.clone()), name.clone(), entry))
                .collect()
        }
        Some(Value::Array(items)) => {
            let named = items.iter().enumerate().filter_map(|(index, item)| {
                Some((PathPart::Item(index), item["name"].as_str()?.to_owned(), item))
            });
            named.collect()
        }
        _ => Vec::new(),
    }
}

fn shown(path: &[PathPart]) -> String {
    let parts = path.iter().map(|part| match part {
        PathPart::Key(key) => key.clone(),
        PathPart::Item(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}
