//! Owns edits of another product's file: what is asked in our words is written in that product's.
//! Invariant: what was written is read, by the rules that discovery has, as what was asked for; otherwise the file stays
//! as it is. Fields that were not asked about stay as they are written.

use serde_json::{Map, Value};

use super::change::{DocumentChange, DocumentPath, below};
use super::file::{EntryAt, FileToEdit};
use super::{Plan, invalid};
use crate::config::parse::Format;
use crate::config::syntax::{Syntax, translate_definition, unify_references};
use crate::config::{canonical_definition, explicit_defaults, is_field};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{
    Denormalised, FieldWord, Inputs, KeptReferences, ListEffect, Step, TOOLS, Unsayable,
    denormalise, normalise, words_of, written_with,
};
use crate::variable_name::is_name;

mod settings_by_tool;

use settings_by_tool::SettingsByTool;

/// Our fields, and other spellings of them that an edit may use.
const SPELLINGS: &[(&str, &str)] =
    &[("enabled_tools", "enabledTools"), ("disabled_tools", "disabledTools")];

pub(super) fn add(file: &FileToEdit<'_>, name: &str, definition: &Value) -> Result<Plan> {
    let mut ours = definition.as_object().cloned().unwrap_or_default();
    translate_definition(&mut ours, Syntax::OURS);
    let mut warnings = Vec::new();
    let theirs = take_unknown(name, &mut ours, &mut warnings);
    let asked = asked(name, &ours, &mut warnings)?;
    check_bare_names(file, name, &Map::new(), &asked)?;
    let mut written = write(file, name, &asked, None)?;
    for (field, value) in theirs {
        written.entry.entry(field).or_insert(value);
    }
    warnings.append(&mut written.warnings);
    let mut steps = Vec::new();
    let is_new = file.document.as_object().is_some_and(Map::is_empty);
    for (key, text) in file.provider.wording.new_file.iter().filter(|_| is_new) {
        steps.push(DocumentChange::set(vec![(*key).into()], (*text).into()));
    }
    let is_list = match file.servers() {
        Some(servers) => servers.is_array(),
        None => file.provider.wording.is_list && Format::from_path(file.path) != Format::Json,
    };
    steps.push(match is_list {
        true => {
            let named = [("name".to_owned(), name.into())].into_iter().chain(written.entry);
            DocumentChange::push(file.container.clone(), Value::Object(named.collect()))
        }
        false => DocumentChange::set(below(&file.container, name), written.entry.into()),
    });
    if written.meaning.get("enabled") != Some(&Value::Bool(false)) {
        steps.extend(file.listed_on(name));
    }
    Ok(Plan { steps, warnings, meaning: Some(written.meaning) })
}

pub(super) fn update(
    file: &FileToEdit<'_>,
    name: &str,
    changes: &Map<String, Value>,
) -> Result<Plan> {
    let entry = file.existing(name)?;
    let mut before = read(file, name, entry.fields)?;
    before.retain(|field, _| is_field(field));
    let mut changes = in_our_names(changes);
    let mut warnings = Vec::new();
    let theirs = take_unknown(name, &mut changes, &mut warnings);
    let by_tool = SettingsByTool::take(file, &entry, &changes, &mut before);
    let mut after = before.clone();
    for (field, value) in &changes {
        let replaced = replaced_with(field, file, &entry, &before);
        let replaced = replaced.filter(|other| !changes.contains_key(*other));
        replaced.for_each(|other| drop(after.shift_remove(other)));
        match value {
            Value::Null => drop(after.shift_remove(field)),
            value => drop(after.insert(field.clone(), value.clone())),
        }
    }
    drop_contradicted_type(&mut after, &changes);
    let asked = asked(name, &after, &mut warnings)?;
    let was = asked_or_nothing(name, &before);
    let fields = was.keys().chain(asked.keys()).map(String::as_str);
    let mut touched: Vec<&str> =
        fields.filter(|field| was.get(*field) != asked.get(*field)).collect();
    let together: Vec<&str> =
        touched.iter().flat_map(|field| written_with(field, file.provider)).collect();
    touched.extend(together);
    touched.extend(changes.contains_key(TOOLS).then_some(TOOLS));
    check_bare_names(file, name, &was, &asked)?;
    let references = KeptReferences::find(entry.fields, &was, &asked);
    let mut written = write(file, name, &references.without(&asked), Some(&touched))?;
    references.add_to(&mut written.entry, &mut written.meaning);
    let says_type = ["type", "transport"].iter().any(|word| entry.fields.contains_key(*word));
    if transport_of(&was) == transport_of(&asked) && !says_type {
        written.entry.shift_remove(file.provider.wording.type_field);
    }
    by_tool.keep(&mut written, &touched);
    let mut steps = steps_of(file, &entry, &written, &touched);
    for (field, value) in &theirs {
        let new = Some(value).filter(|value| !value.is_null());
        steps.extend(step(below(&entry.path, field), entry.fields.get(field), new));
    }
    warnings.append(&mut written.warnings);
    Ok(Plan { steps, warnings, meaning: Some(written.meaning) })
}

pub(super) fn enable(file: &FileToEdit<'_>, name: &str) -> Result<Plan> {
    let entry = file.existing(name)?;
    if is_on(file, name, &entry) {
        return Ok(Plan::of(Vec::new()));
    }
    let on = if has_switch(file) { Value::Bool(true) } else { Value::Null };
    update(file, name, &Map::from_iter([("enabled".to_owned(), on)]))
}

pub(super) fn disable(file: &FileToEdit<'_>, name: &str) -> Result<Plan> {
    let entry = file.existing(name)?;
    let mut plan = Plan::of(Vec::new());
    let off_list = file.products_lists().find(|(list, _)| {
        let is_general = !list.path.iter().any(|step| matches!(step, Step::ProjectPath));
        list.effect == ListEffect::Off && is_general
    });
    match off_list.filter(|_| !has_switch(file)) {
        Some((_, path)) if file.is_listed(&path, &entry.original) => {}
        Some((_, path)) => plan.steps.push(DocumentChange::push(path, &*entry.original)),
        None if is_on(file, name, &entry) => {
            let off = Map::from_iter([("enabled".to_owned(), Value::Bool(false))]);
            plan = update(file, name, &off)?;
        }
        None => {}
    }
    let on_lists = file.lists().filter(|(list, _)| list.effect == ListEffect::On);
    let on_lists = on_lists.filter(|(_, path)| file.is_listed(path, &entry.original));
    plan.steps.extend(on_lists.map(|(_, path)| DocumentChange::pull(path, &entry.original)));
    Ok(plan)
}

/// Checks that the server is read as `meaning` from the changed document.
pub(super) fn check_meaning(
    file: &FileToEdit<'_>,
    name: &str,
    intended: &Value,
    meaning: &Map<String, Value>,
) -> Result<()> {
    let entry = file.entry_in(intended, name).and_then(|(_, _, entry)| entry.as_object());
    let unified = |definition: Map<String, Value>| {
        let mut canonical = canonical_definition(name, &definition, &mut Vec::new()).ok()?;
        unify_references(&mut canonical, file.provider.syntax);
        // The order of tools means nothing.
        for list in ["enabledTools", "disabledTools"] {
            if let Some(Value::Array(tools)) = canonical.get_mut(list) {
                tools.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                tools.dedup();
            }
        }
        Some(canonical)
    };
    let read = entry.and_then(|entry| unified(read(file, name, entry).ok()?)).unwrap_or_default();
    let wanted = unified(meaning.clone()).unwrap_or_default();
    let fields = wanted.keys().chain(read.keys());
    match fields.into_iter().find(|field| wanted.get(*field) != read.get(*field)) {
        None => Ok(()),
        Some(field) => {
            let why = "it would not be read as it is asked for".to_owned();
            Err(unsayable(file, name, &Unsayable { field: field.clone(), why }))
        }
    }
}

/// The entry in our words.
pub(super) fn read(
    file: &FileToEdit<'_>,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    match normalise(entry.clone(), file.provider, &Inputs::default()) {
        Ok(normal) => Ok(normal.definition),
        Err(why) => {
            let text = format!("{}: Server \"{name}\": {why}", file.display_path());
            Err(Error::new(ErrorKind::ConfigInvalid, text).naming_server(name))
        }
    }
}

/// The definition in canonical names, with the defaults that are written out.
fn asked(
    name: &str,
    definition: &Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<Map<String, Value>> {
    let mut asked = canonical_definition(name, definition, warnings).map_err(invalid)?;
    for (field, value) in explicit_defaults(definition) {
        asked.entry(field).or_insert(value);
    }
    Ok(asked)
}

/// The same of what is in the file, which may be invalid.
fn asked_or_nothing(name: &str, definition: &Map<String, Value>) -> Map<String, Value> {
    asked(name, definition, &mut Vec::new()).unwrap_or_default()
}

/// The definition, or `only` these fields of it, in the product's words.
fn write(
    file: &FileToEdit<'_>,
    name: &str,
    asked: &Map<String, Value>,
    only: Option<&[&str]>,
) -> Result<Denormalised> {
    let about = |text: String| format!("Server \"{name}\": {text}");
    let mut written =
        denormalise(name, asked, only, file.provider).map_err(|why| unsayable(file, name, &why))?;
    written.warnings = std::mem::take(&mut written.warnings).into_iter().map(about).collect();
    Ok(written)
}

/// Refuses a new value that is the name of a variable, where such a name stands for the variable.
fn check_bare_names(
    file: &FileToEdit<'_>,
    name: &str,
    was: &Map<String, Value>,
    asked: &Map<String, Value>,
) -> Result<()> {
    if !file.provider.bare_env_names {
        return Ok(());
    }
    for block in ["env", "headers"] {
        let values = asked.get(block).and_then(Value::as_object).into_iter().flatten();
        let is_old = |key: &str, value| was.get(block).and_then(|was| was.get(key)) == Some(value);
        let is_set = |value: &Value| {
            value.as_str().is_some_and(|text| is_name(text) && std::env::var_os(text).is_some())
        };
        if values.into_iter().any(|(key, value)| is_set(value) && !is_old(key, value)) {
            let why = "a part of it is plain text that such a file has for a reference".to_owned();
            return Err(unsayable(file, name, &Unsayable { field: block.to_owned(), why }));
        }
    }
    Ok(())
}

fn unsayable(file: &FileToEdit<'_>, name: &str, what: &Unsayable) -> Error {
    let (path, product) = (file.display_path(), file.provider.name);
    let text = format!(
        "Server \"{name}\": \"{}\" cannot be written to {path}, a file of {product}: {}",
        what.field, what.why
    );
    let hint = match file.provider.is_own {
        true => "change it by hand",
        false => "leave it out, or add the server to a file of mcpool",
    };
    Error::new(ErrorKind::ConfigInvalid, text).naming_server(name).with_hint(hint)
}

/// The steps that give every word for a touched field its new value.
fn steps_of(
    file: &FileToEdit<'_>,
    entry: &EntryAt<'_>,
    written: &Denormalised,
    touched: &[&str],
) -> Vec<DocumentChange> {
    let mut steps = Vec::new();
    let nested = file.provider.wording.fields.iter().filter_map(|(field, word)| match word {
        FieldWord::Below(above, word) if touched.contains(field) => Some((*above, *word)),
        _ => None,
    });
    for (above, word) in nested {
        let path = below(&below(&entry.path, above), word);
        let old = entry.fields.get(above).and_then(|above| above.get(word));
        let new = written.entry.get(above).and_then(|above| above.get(word));
        steps.extend(step(path, old, new));
    }
    for word in words_of(touched, file.provider) {
        steps.extend(step(
            below(&entry.path, word),
            entry.fields.get(word),
            written.entry.get(word),
        ));
    }
    steps
}

pub(super) fn step(
    path: DocumentPath,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Option<DocumentChange> {
    match (old, new) {
        (old, Some(new)) if old != Some(new) => Some(DocumentChange::set(path, new.clone())),
        (Some(_), None) => Some(DocumentChange::remove(path)),
        _ => None,
    }
}

/// Takes the fields that we do not know. They may be the product's, so they are written as they are.
fn take_unknown(
    name: &str,
    definition: &mut Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Map<String, Value> {
    let (known, unknown) =
        std::mem::take(definition).into_iter().partition(|(field, _)| is_field(field));
    *definition = known;
    let unknown: Map<String, Value> = unknown;
    let about = |field| {
        format!("Server \"{name}\": \"{field}\" is no field of mcpool and is written as it is")
    };
    warnings.extend(unknown.keys().map(about));
    unknown
}

/// Our fields that the file says together with `field`, so that a change of it replaces them.
fn replaced_with<'f>(
    field: &'f str,
    file: &'f FileToEdit<'_>,
    entry: &'f EntryAt<'_>,
    before: &'f Map<String, Value>,
) -> impl Iterator<Item = &'static str> + 'f {
    let times = file.provider.times;
    let in_one = times.iter().filter(move |time| time.sets.contains(&field));
    let in_one = in_one.flat_map(|time| time.sets).copied().filter(move |other| {
        let is_apart = !times.iter().any(|time| time.field == *other);
        let has_own_value = is_apart && entry.fields.contains_key(*other)
            || before.contains_key(*other) && before.get(*other) != before.get(field);
        *other != field && !has_own_value
    });
    let opposite = match field {
        "enabled" => Some("disabled"),
        "disabledTools" => Some(TOOLS),
        _ => None,
    };
    in_one.chain(opposite)
}

/// The changes under the names of our model.
pub(super) fn in_our_names(changes: &Map<String, Value>) -> Map<String, Value> {
    let mut named = Map::new();
    for (field, value) in changes {
        let spelling = SPELLINGS.iter().find(|(spelling, _)| spelling == field);
        match (field.as_str(), value, spelling) {
            ("disabled", Value::Bool(off), _) => named.insert("enabled".to_owned(), (!off).into()),
            ("disabled", Value::Null, _) => named.insert("enabled".to_owned(), Value::Null),
            (_, _, Some((_, ours))) => named.insert((*ours).to_owned(), value.clone()),
            _ => named.insert(field.clone(), value.clone()),
        };
    }
    translate_definition(&mut named, Syntax::OURS);
    named
}

/// A transport that the file says, or implies, gives way to a program or an address that does not fit it.
fn drop_contradicted_type(definition: &mut Map<String, Value>, changes: &Map<String, Value>) {
    let is_program = definition.contains_key("command");
    let says_program =
        definition.get("type").is_some_and(|kind| kind == "stdio" || kind == "local");
    if !changes.contains_key("type") && is_program != says_program {
        definition.shift_remove("type");
    }
}

/// The transport of a canonical definition.
fn transport_of(definition: &Map<String, Value>) -> &str {
    let implied = if definition.contains_key("command") { "stdio" } else { "http" };
    definition.get("type").and_then(Value::as_str).unwrap_or(implied)
}

/// Whether the product has a field that switches a server off.
fn has_switch(file: &FileToEdit<'_>) -> bool {
    file.provider.wording.fields.iter().any(|(field, _)| *field == "enabled")
}

/// Whether the entry itself is on.
fn is_on(file: &FileToEdit<'_>, name: &str, entry: &EntryAt<'_>) -> bool {
    let read = read(file, name, entry.fields).unwrap_or_default();
    let is = |field, value: bool| read.get(field) == Some(&Value::Bool(value));
    !is("enabled", false) && !is("disabled", true)
}

#[cfg(test)]
mod tests;
