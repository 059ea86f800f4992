//! Owns changing a config file: one server at a time, with everything else in the file unchanged. `file` finds the server
//! in it, `own` changes a server of our own form, `foreign` writes in the words of another product, `json`, `toml` and `yaml` edit the formats in place, and
//! `disk` replaces the file.
//! Invariant: a reader sees the old file or the new one, and concurrent writers never lose each other's changes. A file
//! that cannot be read is never written. A text is written only after it was parsed again, has exactly the intended
//! content, and is read as the definition that was asked for.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::parse::{self, Format};
use crate::config::{check_definition, check_name, parse_document};
use crate::error::{Error, ErrorKind, Result};
use change::{DocumentChange, EditRefusal, below};
use file::FileToEdit;

mod change;
mod confine;
mod disk;
mod file;
mod foreign;
mod json;
mod own;
mod request;
mod target;
mod toml;
mod yaml;

pub use request::EditRequest;
pub use target::{EditScope, EditTarget};

const DISABLED_SERVERS: &str = "disabledServers";

/// The outcome of a change.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Edited {
    /// The file that was changed.
    pub path: PathBuf,
    /// Warnings about the definition.
    pub warnings: Vec<String>,
}

/// Adds a server; the name must be new. Fields that are null are left out. In another product's file it is written in
/// that product's words.
pub fn add(target: &EditTarget, name: &str, definition: Value) -> Result<Edited> {
    let definition = without_nulls(definition);
    edit(target, name, |file| plan_to_add(file, name, &definition))
}

fn plan_to_add(file: &FileToEdit<'_>, name: &str, definition: &Value) -> Result<Plan> {
    check_name(name)?;
    let warnings = check(name, definition)?;
    check_free(file, name)?;
    if !file.provider.is_own {
        return foreign::add(file, name, definition);
    }
    let change = DocumentChange::set(below(&file.container, name), definition.clone());
    Ok(Plan { warnings, ..Plan::of(vec![change]) })
}

/// What [`add`] would write for the server, in the words of the file; fails where [`add`] would, and writes nothing.
#[cfg(feature = "cli")]
pub(crate) fn preview_of_add(target: &EditTarget, name: &str, definition: Value) -> Result<Value> {
    let definition = without_nulls(definition);
    let path = target.path()?;
    let mut entry = Value::Null;
    disk::change(&path, target.confines(), |old| {
        let text = old.unwrap_or_default();
        let plan = |file: &FileToEdit<'_>| plan_to_add(file, name, &definition);
        entry = prepare(target, &path, text, name, plan)?.entry;
        Ok(None)
    })?;
    Ok(entry)
}

/// Fails if the file has a server of this name already, as [`add`] would.
#[cfg(feature = "cli")]
pub(crate) fn check_absent(target: &EditTarget, name: &str) -> Result<()> {
    let check = |file: &FileToEdit<'_>| check_free(file, name).map(|()| Plan::of(Vec::new()));
    edit(target, name, check).map(drop)
}

fn check_free(file: &FileToEdit<'_>, name: &str) -> Result<()> {
    if file.entry(name).is_none() {
        return Ok(());
    }
    let text = format!("Server \"{name}\" already exists in {}", file.display_path());
    Err(Error::new(ErrorKind::ConfigInvalid, text)
        .naming_server(name)
        .with_hint("update or remove it first"))
}

/// Removes a server.
pub fn remove(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, name, |file| {
        let entry = file.existing(name)?;
        Ok(Plan::of(vec![DocumentChange::remove(entry.path)]))
    })
}

/// Changes fields of a server; null removes a field. The fields are mcpool's, in another product's file too.
pub fn update(target: &EditTarget, name: &str, changes: Value) -> Result<Edited> {
    let Value::Object(changes) = changes else {
        let text = "the changes must be an object";
        return Err(invalid(Error::new(ErrorKind::ConfigInvalid, text)));
    };
    edit(target, name, |file| {
        if !file.provider.is_own {
            return foreign::update(file, name, &changes);
        }
        own::update(file, name, &changes)
    })
}

/// A server as it is in a file.
#[cfg(feature = "cli")]
pub(crate) struct CurrentServer {
    /// The fields as they are written.
    pub(crate) written: Map<String, Value>,
    /// The definition in canonical form, with its references, or what is wrong with it.
    pub(crate) definition: Result<Map<String, Value>>,
}

/// The server as it is in the file, if it is there.
#[cfg(feature = "cli")]
pub(crate) fn current(target: &EditTarget, name: &str) -> Result<Option<CurrentServer>> {
    let path = target.path()?;
    let text = crate::config::read_text(&path)?;
    let document = parse_document(&path, &text)?.value;
    let file = FileToEdit::new(&path, &document, target.cwd.as_deref(), name)?;
    let Some((_, _, Value::Object(written))) = file.entry(name) else { return Ok(None) };
    let definition = foreign::read(&file, name, written)
        .and_then(|read| crate::config::canonical_definition(name, &read, &mut Vec::new()));
    Ok(Some(CurrentServer { written: written.clone(), definition }))
}

/// Enables a server: in its definition, and in the lists of the same file.
pub fn enable(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, name, |file| {
        let entry = file.existing(name)?;
        let mut plan = match file.provider.is_own {
            true => Plan::of(enabled(&entry)),
            false => foreign::enable(file, name)?,
        };
        plan.steps.extend(file.listed_on(&entry.original));
        Ok(plan)
    })
}

/// Disables a server.
pub fn disable(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, name, |file| {
        if !file.provider.is_own {
            return foreign::disable(file, name);
        }
        let entry = file.existing(name)?;
        let (field, off) = match entry.fields.contains_key("disabled") {
            true => ("disabled", Value::Bool(true)),
            false => ("enabled", Value::Bool(false)),
        };
        let is_off = entry.fields.get(field) == Some(&off);
        let change = DocumentChange::set(below(&entry.path, field), off);
        Ok(Plan::of(if is_off { Vec::new() } else { vec![change] }))
    })
}

/// Disables a server that another file defines: adds its name to `disabledServers` of this file.
pub fn hide(target: &EditTarget, name: &str) -> Result<Edited> {
    check_name(name)?;
    edit(target, name, |file| {
        file.check_own("disabledServers")?;
        let mut steps = Vec::new();
        if !file.document[DISABLED_SERVERS].is_array() && !file.document[DISABLED_SERVERS].is_null()
        {
            let text = format!("{}: \"{DISABLED_SERVERS}\" is not a list", file.display_path());
            return Err(Error::new(ErrorKind::ConfigInvalid, text));
        }
        if file.servers().is_none() {
            let none = Value::Object(Map::new());
            steps.push(DocumentChange::set(file.container.clone(), none));
        }
        if !hides(file, name) {
            steps.push(DocumentChange::push(vec![DISABLED_SERVERS.into()], name));
        }
        Ok(Plan::of(steps))
    })
}

/// Removes a name from `disabledServers`.
pub fn unhide(target: &EditTarget, name: &str) -> Result<Edited> {
    edit(target, name, |file| {
        let pull = DocumentChange::pull(vec![DISABLED_SERVERS.into()], name);
        Ok(Plan::of(if hides(file, name) { vec![pull] } else { Vec::new() }))
    })
}

fn hides(file: &FileToEdit<'_>, name: &str) -> bool {
    let names = file.document[DISABLED_SERVERS].as_array();
    names.is_some_and(|names| names.iter().any(|it| it == name))
}

/// The steps that enable an entry of our own.
fn enabled(entry: &file::EntryAt<'_>) -> Vec<DocumentChange> {
    let mut steps = Vec::new();
    if entry.fields.get("disabled").is_some_and(|disabled| disabled != false) {
        steps.push(DocumentChange::set(below(&entry.path, "disabled"), false.into()));
    }
    if entry.fields.get("enabled").is_some_and(|enabled| enabled != true) {
        steps.push(DocumentChange::remove(below(&entry.path, "enabled")));
    }
    steps
}

/// What is done to a file.
struct Plan {
    steps: Vec<DocumentChange>,
    warnings: Vec<String>,
    /// What the server must be read as.
    meaning: Option<Map<String, Value>>,
}

impl Plan {
    fn of(steps: Vec<DocumentChange>) -> Plan {
        Plan { steps, warnings: Vec::new(), meaning: None }
    }
}

fn edit(
    target: &EditTarget,
    name: &str,
    mut plan: impl FnMut(&FileToEdit<'_>) -> Result<Plan>,
) -> Result<Edited> {
    let path = target.path()?;
    let mut warnings = Vec::new();
    disk::change(&path, target.confines(), |old| {
        let prepared = prepare(target, &path, old.unwrap_or_default(), name, &mut plan)?;
        warnings = prepared.warnings;
        Ok(prepared.text)
    })?;
    Ok(Edited { path, warnings })
}

/// A change that is checked and not written yet.
struct Prepared {
    /// The new text, if anything changes.
    text: Option<String>,
    warnings: Vec<String>,
    /// The server as it will be written; null if it will not be there.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "only a person asks for it"))]
    entry: Value,
}

fn prepare(
    target: &EditTarget,
    path: &Path,
    text: &str,
    name: &str,
    plan: impl FnOnce(&FileToEdit<'_>) -> Result<Plan>,
) -> Result<Prepared> {
    let document = parse_document(path, text)?.value;
    let file = FileToEdit::new(path, &document, target.cwd.as_deref(), name)?;
    let plan = plan(&file)?;
    let mut intended = document.clone();
    plan.steps.iter().for_each(|step| step.apply(&mut intended));
    let entry = file.entry_in(&intended, name).map(|(_, _, entry)| entry.clone());
    let mut prepared =
        Prepared { text: None, warnings: plan.warnings, entry: entry.unwrap_or_default() };
    if let Some(meaning) = &plan.meaning {
        foreign::check_meaning(&file, name, &intended, meaning)?;
    }
    if plan.steps.is_empty() {
        return Ok(prepared);
    }
    file.check_recognised(name, &intended)?;
    let format = Format::from_path(path);
    let in_parts = change::in_parts(&plan.steps, &document);
    let new = rewritten(text, format, &intended, &in_parts)
        .or_else(|_| rewritten(text, format, &intended, &plan.steps));
    prepared.text = Some(new.map_err(|refusal| {
        let text = format!("The config file {} cannot be changed: {}", path.display(), refusal.0);
        Error::new(ErrorKind::ConfigInvalid, text).with_hint("change it by hand")
    })?);
    Ok(prepared)
}

/// The text with the changes, parsed again.
fn rewritten(
    text: &str,
    format: Format,
    intended: &Value,
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
    match parse::parse(&new, format) {
        Ok(parsed) if parsed.value == *intended => Ok(new),
        _ => Err(EditRefusal::NOT_IN_PLACE),
    }
}

fn check(name: &str, definition: &Value) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    match check_definition(name, definition.clone(), &mut warnings) {
        Ok(_) => Ok(warnings),
        Err(error) => Err(invalid(error)),
    }
}

fn invalid(error: Error) -> Error {
    error.with_message_before("Invalid server config: ")
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
    let mut document = parse::parse(text, format).ok()?.value;
    let container =
        FileToEdit::new(std::path::Path::new("x"), &document, None, name).ok()?.container;
    let path = below(&container, name);
    let change = match definition {
        Some(definition) => DocumentChange::set(path, definition),
        None => DocumentChange::remove(path),
    };
    change.apply(&mut document);
    rewritten(text, format, &document, &[change]).ok()
}

#[cfg(test)]
mod tests;
