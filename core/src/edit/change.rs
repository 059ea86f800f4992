//! Owns what a change to a document is, independent of the format: it is applied to the value here and to the text by
//! the format's editor, and both must agree.

use serde_json::{Map, Value};

/// One part of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathPart {
    /// A key of an object.
    Key(String),
    /// An item of a list that exists.
    Item(usize),
}

impl From<&str> for PathPart {
    fn from(key: &str) -> Self {
        PathPart::Key(key.to_owned())
    }
}

/// A path, from the top of the document.
pub(super) type DocumentPath = Vec<PathPart>;

/// One step of a change.
#[derive(Clone, Debug)]
pub(super) enum DocumentChange {
    /// Sets a value, replacing an existing one or adding it after the other keys; missing objects above it are created.
    Set { path: DocumentPath, value: Value },
    /// Removes the value.
    Remove { path: DocumentPath },
    /// Appends an item to a list, which is created if it is missing.
    Push { path: DocumentPath, item: Value },
    /// Removes a text from a list.
    Pull { path: DocumentPath, item: Value },
}

/// Why a text cannot be edited in place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditRefusal(pub(super) &'static str);

impl EditRefusal {
    pub(super) const NOT_IN_PLACE: EditRefusal =
        EditRefusal("it is written in a way that cannot be changed in place");
}

/// The path of a field of the object at `path`.
pub(super) fn below(path: &[PathPart], key: &str) -> DocumentPath {
    path.iter().cloned().chain([key.into()]).collect()
}

/// The value at the end of `path`.
pub(super) fn value_at<'v>(document: &'v Value, path: &[PathPart]) -> Option<&'v Value> {
    path.iter().try_fold(document, |at, part| match part {
        PathPart::Key(key) => at.get(key),
        PathPart::Item(index) => at.get(index),
    })
}

impl DocumentChange {
    pub(super) fn set(path: DocumentPath, value: Value) -> DocumentChange {
        DocumentChange::Set { path, value }
    }

    pub(super) fn remove(path: DocumentPath) -> DocumentChange {
        DocumentChange::Remove { path }
    }

    pub(super) fn push(path: DocumentPath, item: impl Into<Value>) -> DocumentChange {
        DocumentChange::Push { path, item: item.into() }
    }

    pub(super) fn pull(path: DocumentPath, item: &str) -> DocumentChange {
        DocumentChange::Pull { path, item: item.into() }
    }

    /// Applies it to the value.
    pub(super) fn apply(&self, document: &mut Value) {
        match self {
            DocumentChange::Set { path, value } => {
                if let Some((last, above)) = path.split_last()
                    && let Some(container) = container_at(document, above)
                {
                    match (container, last) {
                        (Value::Object(object), PathPart::Key(key)) => {
                            object.insert(key.clone(), value.clone());
                        }
                        (Value::Array(items), PathPart::Item(index)) if *index < items.len() => {
                            items[*index] = value.clone();
                        }
                        _ => {}
                    }
                }
            }
            DocumentChange::Remove { path } => {
                if let Some((last, above)) = path.split_last()
                    && let Some(container) = container_at(document, above)
                {
                    match (container, last) {
                        (Value::Object(object), PathPart::Key(key)) => {
                            object.shift_remove(key);
                        }
                        (Value::Array(items), PathPart::Item(index)) if *index < items.len() => {
                            items.remove(*index);
                        }
                        _ => {}
                    }
                }
            }
            DocumentChange::Push { path, item } => {
                if let Some((PathPart::Key(last), above)) = path.split_last()
                    && let Some(Value::Object(container)) = container_at(document, above)
                {
                    let list = container.entry(last.clone()).or_insert(Value::Null);
                    match list {
                        Value::Array(items) => items.push(item.clone()),
                        _ => *list = Value::Array(vec![item.clone()]),
                    }
                }
            }
            DocumentChange::Pull { path, item } => {
                if let Some(Value::Array(items)) = container_at(document, path)
                    && let Some(index) = items.iter().position(|it| it == item)
                {
                    items.remove(index);
                }
            }
        }
    }
}

/// The same changes, but where an object replaces another, only the entries that differ are changed: what stands between
/// the others, such as comments, stays.
pub(super) fn in_parts(changes: &[DocumentChange], document: &Value) -> Vec<DocumentChange> {
    let mut document = document.clone();
    let mut parts = Vec::new();
    for change in changes {
        match change {
            DocumentChange::Set { path, value } => {
                add_differences(path, value_at(&document, path), value, &mut parts);
            }
            change => parts.push(change.clone()),
        }
        change.apply(&mut document);
    }
    parts
}

fn add_differences(
    path: &[PathPart],
    old: Option<&Value>,
    new: &Value,
    parts: &mut Vec<DocumentChange>,
) {
    match (old, new) {
        (Some(old), new) if old == new => {}
        (Some(Value::Object(old)), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
            for (key, value) in new {
                add_differences(&below(path, key), old.get(key), value, parts);
            }
            // Last, so that the object is never empty in between.
            let removed = old.keys().filter(|key| !new.contains_key(*key));
            parts.extend(removed.map(|key| DocumentChange::remove(below(path, key))));
        }
        _ => parts.push(DocumentChange::set(path.to_vec(), new.clone())),
    }
}

/// The object or list at `path`; a missing object is created.
fn container_at<'v>(document: &'v mut Value, path: &[PathPart]) -> Option<&'v mut Value> {
    let mut at = document;
    for part in path {
        at = match part {
            PathPart::Key(key) => at.as_object_mut()?.entry(key.clone()).or_insert(Value::Null),
            PathPart::Item(index) => at.get_mut(index)?,
        };
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
    }
    Some(at)
}
