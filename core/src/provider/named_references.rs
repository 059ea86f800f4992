//! Owns variables and headers that a product takes from its environment by name.

use serde_json::{Map, Value, json};

use super::entry::Entry;
use crate::variable_name::is_name;

/// Lists of variables that are passed on under their own names.
pub(super) const PASSED_VARIABLES: &[&str] = &["env_vars", "env_keys"];
pub(super) const HEADERS: &str = "env_http_headers";
pub(super) const BEARER: &str = "bearer_token_env_var";
const AUTHORIZATION: &str = "Authorization";

/// Adds them as references of ours.
pub(super) fn add_named_references(entry: &mut Entry, definition: &mut Map<String, Value>) {
    for &field in PASSED_VARIABLES {
        match entry.take(field) {
            None => {}
            Some(Value::Array(names)) => {
                for name in names {
                    let name = name.as_str().or_else(|| name.get("name")?.as_str());
                    let name = name.unwrap_or_default();
                    add_reference(entry, definition, field, ["env", name, "", name]);
                }
            }
            Some(_) => {
                let wrong = format!("\"{field}\" must be a list of names and has no effect");
                entry.warnings.push(wrong);
            }
        }
    }
    match entry.take(HEADERS) {
        None => {}
        Some(Value::Object(headers)) => {
            for (header, name) in &headers {
                let name = name.as_str().unwrap_or_default();
                add_reference(entry, definition, HEADERS, ["headers", header, "", name]);
            }
        }
        Some(_) => {
            let wrong = format!("\"{HEADERS}\" must be an object of names and has no effect");
            entry.warnings.push(wrong);
        }
    }
    if let Some(name) = entry.take(BEARER) {
        let headers = definition.get("headers").and_then(Value::as_object).into_iter().flatten();
        if headers.into_iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION)) {
            let twice = format!("\"{BEARER}\" has no effect beside \"headers.{AUTHORIZATION}\"");
            entry.warnings.push(twice);
            return;
        }
        let name = name.as_str().unwrap_or_default();
        add_reference(entry, definition, BEARER, ["headers", AUTHORIZATION, "Bearer ", name]);
    }
}

fn add_reference(
    entry: &mut Entry,
    definition: &mut Map<String, Value>,
    field: &str,
    [block, key, before, name]: [&str; 4],
) {
    if !is_name(name) {
        let wrong = format!("\"{field}\" has something that is no name of a variable");
        if entry.warnings.last() != Some(&wrong) {
            entry.warnings.push(wrong);
        }
        return;
    }
    let entries = definition.entry(block).or_insert_with(|| json!({}));
    if let Value::Object(entries) = entries {
        let reference = format!("{before}${{{name}}}");
        entries.entry(key).or_insert(Value::String(reference));
    }
}

/// What stays of an entry's references by name when its variables or headers are changed.
#[derive(Default)]
pub(crate) struct KeptReferences {
    /// The fields, with the items that stay.
    fields: Map<String, Value>,
    /// The block, the key and the text of each reference that is in force.
    references: Vec<(&'static str, String, String)>,
}

impl KeptReferences {
    /// `was` and `asked` are the definition before and after the change. An item stays if the change is not about it.
    pub(crate) fn find(
        entry: &Map<String, Value>,
        was: &Map<String, Value>,
        asked: &Map<String, Value>,
    ) -> KeptReferences {
        let mut kept = KeptReferences::default();
        for &field in PASSED_VARIABLES {
            let Some(Value::Array(items)) = entry.get(field) else { continue };
            let stays = |item: &&Value| {
                let name = item.as_str().or_else(|| item.get("name")?.as_str());
                let name = name.unwrap_or_default();
                kept.stays(was, asked, ["env", name, "", name])
            };
            let items: Vec<Value> = items.iter().filter(stays).cloned().collect();
            kept.fields.insert(field.to_owned(), items.into());
        }
        if let Some(Value::Object(headers)) = entry.get(HEADERS) {
            let stays = |(header, name): &(&String, &Value)| {
                let name = name.as_str().unwrap_or_default();
                kept.stays(was, asked, ["headers", header, "", name])
            };
            let headers: Vec<_> = headers.iter().filter(stays).collect();
            let headers = headers.into_iter().map(|(name, value)| (name.clone(), value.clone()));
            kept.fields.insert(HEADERS.to_owned(), Value::Object(headers.collect()));
        }
        if let Some(Value::String(name)) = entry.get(BEARER)
            && kept.stays(was, asked, ["headers", AUTHORIZATION, "Bearer ", name])
        {
            kept.fields.insert(BEARER.to_owned(), name.as_str().into());
        }
        kept.fields.retain(|_, items| !is_empty(items));
        kept
    }

    fn stays(
        &mut self,
        was: &Map<String, Value>,
        asked: &Map<String, Value>,
        [block, key, before, name]: [&'_ str; 4],
    ) -> bool {
        if !is_name(name) {
            return true;
        }
        let block = if block == "env" { "env" } else { "headers" };
        let text = format!("{before}${{{name}}}");
        let value = |definition: &Map<String, Value>| definition.get(block)?.get(key).cloned();
        match value(asked) {
            Some(asked) if asked == *text => {
                self.references.push((block, key.to_owned(), text));
                true
            }
            // Another value wins over it, now as before.
            Some(asked) => value(was) == Some(asked),
            None => false,
        }
    }

    /// The definition without the references that stay.
    pub(crate) fn without(&self, definition: &Map<String, Value>) -> Map<String, Value> {
        let mut rest = definition.clone();
        for (block, key, _) in &self.references {
            if let Some(Value::Object(entries)) = rest.get_mut(*block) {
                entries.shift_remove(key);
                if entries.is_empty() {
                    rest.shift_remove(*block);
                }
            }
        }
        rest
    }

    /// Adds them to an entry that is written without them, and to what it means.
    pub(crate) fn add_to(self, entry: &mut Map<String, Value>, meaning: &mut Map<String, Value>) {
        for (field, kept) in self.fields {
            let all = match (kept, entry.shift_remove(&field)) {
                (Value::Array(kept), Some(Value::Array(new))) => [kept, new].concat().into(),
                (Value::Object(kept), Some(Value::Object(new))) => {
                    Value::Object(kept.into_iter().chain(new).collect())
                }
                (_, Some(new)) => new,
                (kept, None) => kept,
            };
            entry.insert(field, all);
        }
        for (block, key, text) in self.references {
            let entries = meaning.entry(block).or_insert_with(|| json!({}));
            if let Value::Object(entries) = entries {
                entries.insert(key, text.into());
            }
        }
    }
}

fn is_empty(items: &Value) -> bool {
    items.as_array().is_some_and(Vec::is_empty) || items.as_object().is_some_and(Map::is_empty)
}
