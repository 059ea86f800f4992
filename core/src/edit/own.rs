//! Owns changes of a server in a file of our own form, where a field may have the word of any product.
//! Invariant: after a change no other word of the same field is left, so the reader sees what was asked for.

use serde_json::{Map, Value};

use super::change::below;
use super::file::{EntryAt, FileToEdit};
use super::foreign::{in_our_names, read, step};
use super::{Plan, check};
use crate::config::canonical_definition;
use crate::error::Result;
use crate::provider::{KeptReferences, TOOLS, own_words_of};

pub(super) fn update(
    file: &FileToEdit<'_>,
    name: &str,
    changes: &Map<String, Value>,
) -> Result<Plan> {
    let entry = file.existing(name)?;
    let before = read(file, name, entry.fields)?;
    let mut changes = changes.clone();
    split_program(&entry, &before, &mut changes);
    let named = in_our_names(&changes);
    let has_list = entry.fields.get(TOOLS).is_some_and(Value::is_array);
    let others = named.keys().flat_map(|field| own_words_of(field));
    let others = others.filter(|word| !changes.contains_key(*word));
    // Settings by tool are no other word for a list of tools.
    let others: Vec<&str> = others.filter(|word| *word != TOOLS || has_list).collect();
    let mut rest = entry.fields.clone();
    rest.retain(|word, _| !changes.contains_key(word) && !others.contains(&word.as_str()));
    let mut after = read(file, name, &rest)?;
    for (field, value) in named {
        match value {
            Value::Null => after.shift_remove(&field),
            value => after.insert(field, value),
        };
    }
    let warnings = check(name, &Value::Object(after.clone()))?;
    let canonical = |definition| canonical_definition(name, definition, &mut Vec::new());
    let was = canonical(&before).unwrap_or_default();
    let references = KeptReferences::find(entry.fields, &was, &canonical(&after)?);
    let mut new = references.without(&changes);
    references.add_to(&mut new, &mut after);
    let words = changes.keys().map(String::as_str).chain(others);
    let steps = words.filter_map(|word| {
        let new = new.get(word).filter(|value| !value.is_null());
        step(below(&entry.path, word), entry.fields.get(word), new)
    });
    Ok(Plan { steps: steps.collect(), warnings, meaning: Some(after) })
}

/// A program that is written in one field with its arguments is written apart if only one of them changes.
fn split_program(
    entry: &EntryAt<'_>,
    before: &Map<String, Value>,
    changes: &mut Map<String, Value>,
) {
    let is_apart = entry.fields.get("command").is_none_or(Value::is_string);
    let missing = match (changes.contains_key("command"), changes.contains_key("args")) {
        (true, false) => "args",
        (false, true) => "command",
        _ => return,
    };
    if let Some(value) = before.get(missing).filter(|_| !is_apart) {
        changes.insert(missing.to_owned(), value.clone());
    }
}
