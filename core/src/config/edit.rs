//! Owns changing a config file: one server at a time, with everything else in the file unchanged. `json`, `toml` and
//! `yaml` edit the formats in place; `disk` replaces the file.
//! Invariant: a reader sees the old file or the new one, and concurrent writers never lose each other's changes. A file
//! that cannot be read is never written. A text is written only after it was parsed again and has exactly the intended
//! content.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::document::{DISABLED, ENABLED, SERVERS};
use super::file::parse_document;
use super::parse::{self, Format};
use super::{check_name, container, validate};
use crate::error::{Error, ErrorKind, Result};
use crate::similar::did_you_mean;
use change::{DocumentChange, EditRefusal};

mod change;
mod confine;
mod disk;
mod json;
mod request;
mod target;
mod toml;
mod yaml;

pub use request::EditRequest;
pub use target::{EditScope, EditTarget};

/// The outcome of a change.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Edited {
    /// The file that was changed.
    pub path: PathBuf,
    /// Warnings about the definition.
    pub warnings: Vec<String>,
}

/// Adds a server; the name must be new. Fields that are null are left out.
pub fn add(target: &EditTarget, name: &str, definition: Value) -> Result<Edited> {
    let definition = without_nulls(definition);
    check_name(name)?;
    let warnings = check(name, &definition)?;
    edit(target, warnings, |file| {
        if file.entry(name).is_some() {
            return Err(file
                .problem(&format!("Server \"{name}\" already exists in {}", file.display_path()))
                .with_server(name)
                .with_hint("update or remove it first"));
        }
        Ok(vec![DocumentChange::set([file.container, name], definition.clone())])
    })
}

/// Removes a server.
pub fn remove(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, Vec::new(), |file| {
        file.existing(name)?;
        Ok(vec![DocumentChange::remove([file.container, name])])
    })
}

/// Changes fields of a server; null removes a field.
pub fn update(target: &EditTarget, name: &str, changes: Value) -> Result<Edited> {
    let Value::Object(changes) = changes else {
        return Err(invalid("the changes must be an object"));
    };
    let mut warnings = Vec::new();
    let path = edit(target, Vec::new(), |file| {
        let mut definition = file.existing(name)?.clone();
        let mut steps = Vec::new();
        for (field, value) in &changes {
            match value {
                Value::Null if definition.contains_key(field) => {
                    steps.push(DocumentChange::remove([file.container, name, field]));
                    definition.shift_remove(field);
                }
                Value::Null => {}
                _ if definition.get(field) == Some(value) => {}
                _ => {
                    steps.push(DocumentChange::set([file.container, name, field], value.clone()));
                    definition.insert(field.clone(), value.clone());
                }
            }
        }
        warnings = check(name, &Value::Object(definition))?;
        Ok(steps)
    })?
    .path;
    Ok(Edited { path, warnings })
}

/// Enables a server: in its definition, and in the lists of the same file.
pub fn enable(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, Vec::new(), |file| {
        let definition = file.existing(name)?;
        let mut steps = Vec::new();
        if definition.get("disabled").is_some_and(|disabled| disabled != false) {
            steps.push(DocumentChange::set([file.container, name, "disabled"], false.into()));
        }
        if definition.get("enabled").is_some_and(|enabled| enabled != true) {
            steps.push(DocumentChange::remove([file.container, name, "enabled"]));
        }
        if file.lists(DISABLED, name) {
            steps.push(DocumentChange::pull([DISABLED], name));
        }
        if file.document[ENABLED].is_array() && !file.lists(ENABLED, name) {
            steps.push(DocumentChange::push([ENABLED], name));
        }
        Ok(steps)
    })
}

/// Disables a server.
pub fn disable(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, Vec::new(), |file| {
        let definition = file.existing(name)?;
        let (field, off) = match definition.contains_key("disabled") {
            true => ("disabled", Value::Bool(true)),
            false => ("enabled", Value::Bool(false)),
        };
        let is_off = definition.get(field) == Some(&off);
        Ok(if is_off {
            Vec::new()
        } else {
            vec![DocumentChange::set([file.container, name, field], off)]
        })
    })
}

/// Disables a server that another file defines: adds its name to `disabledServers` of this file.
pub fn hide(target: &EditTarget, name: &str) -> Result<Edited> {
    check_name(name)?;
    edit(target, Vec::new(), |file| {
        let mut steps = Vec::new();
        if !file.document[DISABLED].is_array() && !file.document[DISABLED].is_null() {
            return Err(
                file.problem(&format!("{}: \"{DISABLED}\" is not a list", file.display_path()))
            );
        }
        if file.document.get(file.container).is_none_or(Value::is_null) {
            steps.push(DocumentChange::set([file.container], Value::Object(Map::new())));
        }
        if !file.lists(DISABLED, name) {
            steps.push(DocumentChange::push([DISABLED], name));
        }
        Ok(steps)
    })
}

/// Removes a name from `disabledServers`.
pub fn unhide(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, Vec::new(), |file| {
        let listed = file.lists(DISABLED, name);
        Ok(if listed { vec![DocumentChange::pull([DISABLED], name)] } else { Vec::new() })
    })
}

/// A config file that was read.
struct FileToEdit<'a> {
    path: &'a Path,
    document: &'a Value,
    container: &'static str,
}

impl FileToEdit<'_> {
    fn display_path(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    fn problem(&self, text: &str) -> Error {
        Error::new(ErrorKind::ConfigInvalid, text)
    }

    fn entry(&self, name: &str) -> Option<&Value> {
        self.document.get(self.container)?.get(name)
    }

    fn existing(&self, name: &str) -> Result<&Map<String, Value>> {
        match self.entry(name) {
            Some(Value::Object(definition)) => Ok(definition),
            Some(_) => {
                let text = format!(
                    "{}: the definition of \"{name}\" is not an object",
                    self.display_path()
                );
                Err(self.problem(&text).with_server(name))
            }
            None => {
                let text = format!("Server \"{name}\" not found in {}", self.display_path());
                let missing = Error::new(ErrorKind::ServerNotFound, text).with_server(name);
                let servers = self.document.get(self.container).and_then(Value::as_object);
                let names = servers.into_iter().flat_map(Map::keys).map(String::as_str);
                Err(match did_you_mean(name, names) {
                    Some(near) => missing.with_hint(format!("did you mean \"{near}\"?")),
                    None => missing,
                })
            }
        }
    }

    fn lists(&self, list: &str, name: &str) -> bool {
        self.document[list].as_array().is_some_and(|names| names.iter().any(|it| it == name))
    }
}

fn edit(
    target: &EditTarget,
    warnings: Vec<String>,
    mut steps: impl FnMut(&FileToEdit<'_>) -> Result<Vec<DocumentChange>>,
) -> Result<Edited> {
    let path = target.path()?;
    disk::change(&path, target.confines(), |old| {
        let text = old.unwrap_or_default();
        let document = parse_document(&path, text)?.value;
        let container = container_of(&path, &document)?;
        let steps = steps(&FileToEdit { path: &path, document: &document, container })?;
        if steps.is_empty() {
            return Ok(None);
        }
        rewritten(text, Format::from_path(&path), document, &steps).map(Some).map_err(|refusal| {
            let text =
                format!("The config file {} cannot be changed: {}", path.display(), refusal.0);
            Error::new(ErrorKind::ConfigInvalid, text).with_hint("change it by hand")
        })
    })?;
    Ok(Edited { path, warnings })
}

/// The text with the changes, parsed again.
fn rewritten(
    text: &str,
    format: Format,
    document: Value,
    changes: &[DocumentChange],
) -> Result<String, EditRefusal> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let newlines = bare.matches('\n').count();
    let is_crlf = newlines > 0 && bare.matches("\r\n").count() == newlines;
    let lines = if is_crlf { bare.replace("\r\n", "\n") } else { bare.to_owned() };
    let mut new = match format {
        Format::Json => json::apply(&lines, changes)?,
        Format::Yaml => yaml::apply(&lines, changes)?,
        Format::Toml => toml::apply(&lines, changes)?,
    };
    if bare.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    if is_crlf {
        new = new.replace('\n', "\r\n");
    }
    if bare.len() < text.len() {
        new.insert(0, '\u{feff}');
    }
    let mut intended = document;
    changes.iter().for_each(|change| change.apply(&mut intended));
    match parse::parse(&new, format) {
        Ok(parsed) if parsed.value == intended => Ok(new),
        _ => Err(EditRefusal::NOT_IN_PLACE),
    }
}

/// The key of the servers in this document, existing or new.
fn container_of(path: &Path, document: &Value) -> Result<&'static str> {
    let Value::Object(document) = document else {
        let text = format!("{}: it is not an object", path.display());
        return Err(Error::new(ErrorKind::ConfigInvalid, text));
    };
    let is_one = |name: &&&str| match document.get(**name) {
        Some(Value::Object(servers)) => {
            !container::AMBIGUOUS.contains(name) || servers.values().all(Value::is_object)
        }
        _ => false,
    };
    if let Some(found) = container::ALL.iter().find(is_one) {
        return Ok(found);
    }
    match document.get(SERVERS) {
        None | Some(Value::Null) => Ok(SERVERS),
        Some(_) => {
            let text =
                format!("{}: \"{SERVERS}\" is not an object of servers by name", path.display());
            Err(Error::new(ErrorKind::ConfigInvalid, text))
        }
    }
}

fn check(name: &str, definition: &Value) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    match validate::server(name, definition.clone(), &mut warnings) {
        Ok(_) => Ok(warnings),
        Err(error) => Err(invalid(error.message()).with_server(name)),
    }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::ConfigInvalid, format!("Invalid server config: {why}"))
}

fn without_nulls(mut definition: Value) -> Value {
    if let Value::Object(fields) = &mut definition {
        fields.retain(|_, value| !value.is_null());
    }
    definition
}

/// The text with this server, or without it; `None` if it cannot be edited.
#[cfg(any(test, fuzzing))]
pub(crate) fn edited(
    text: &str,
    format: Format,
    name: &str,
    definition: Option<Value>,
) -> Option<String> {
    let document = parse::parse(text, format).ok()?.value;
    let container = container_of(Path::new("x"), &document).ok()?;
    let change = match definition {
        Some(definition) => DocumentChange::set([container, name], definition),
        None => DocumentChange::remove([container, name]),
    };
    rewritten(text, format, document, &[change]).ok()
}

#[cfg(test)]
mod tests;
