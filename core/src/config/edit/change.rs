//! Owns what a change to a document is, independent of the format: it is applied to the value here and to the text by
//! the format's editor, and both must agree.

use serde_json::{Map, Value};

/// One step of a change; a path goes through objects by their keys.
#[derive(Clone, Debug)]
pub(super) enum DocumentChange {
    /// Sets a value, replacing an existing one or adding it after the other keys; missing parents are created.
    Set { path: Vec<String>, value: Value },
    /// Removes the value.
    Remove { path: Vec<String> },
    /// Appends an item to a list, which is created if it is missing.
    Push { path: Vec<String>, item: Value },
    /// Removes an item from a list.
    Pull { path: Vec<String>, item: Value },
}

/// Why a text cannot be edited in place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditRefusal(pub(super) &'static str);

impl EditRefusal {
    pub(super) const NOT_IN_PLACE: EditRefusal =
        EditRefusal("it is written in a way that cannot be changed in place");
}

impl DocumentChange {
    pub(super) fn set<const N: usize>(path: [&str; N], value: Value) -> DocumentChange {
        DocumentChange::Set { path: path.map(str::to_owned).into(), value }
    }

    pub(super) fn remove<const N: usize>(path: [&str; N]) -> DocumentChange {
        DocumentChange::Remove { path: path.map(str::to_owned).into() }
    }

    pub(super) fn push<const N: usize>(path: [&str; N], item: &str) -> DocumentChange {
        DocumentChange::Push { path: path.map(str::to_owned).into(), item: item.into() }
    }

    pub(super) fn pull<const N: usize>(path: [&str; N], item: &str) -> DocumentChange {
        DocumentChange::Pull { path: path.map(str::to_owned).into(), item: item.into() }
    }

    /// Applies it to the value.
    pub(super) fn apply(&self, document: &mut Value) {
        match self {
            DocumentChange::Set { path, value } => {
                if let Some((last, above)) = path.split_last()
                    && let Some(container) = object_at(document, above)
                {
                    container.insert(last.clone(), value.clone());
                }
            }
            DocumentChange::Remove { path } => {
                if let Some((last, above)) = path.split_last()
                    && let Some(container) = object_at(document, above)
                {
                    container.shift_remove(last);
                }
            }
            DocumentChange::Push { path, item } => {
                if let Some((last, above)) = path.split_last()
                    && let Some(container) = object_at(document, above)
                {
                    let list = container.entry(last.clone()).or_insert(Value::Null);
                    match list {
                        Value::Array(items) => items.push(item.clone()),
                        _ => *list = Value::Array(vec![item.clone()]),
                    }
                }
            }
            DocumentChange::Pull { path, item } => {
                let list = path.iter().try_fold(document, |at, name| at.get_mut(name));
                if let Some(Value::Array(items)) = list
                    && let Some(index) = items.iter().position(|it| it == item)
                {
                    items.remove(index);
                }
            }
        }
    }
}

/// The object at `path`, created if there is none.
fn object_at<'v>(document: &'v mut Value, path: &[String]) -> Option<&'v mut Map<String, Value>> {
    let mut at = document;
    for name in path {
        at = at.as_object_mut()?.entry(name.clone()).or_insert(Value::Null);
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
    }
    at.as_object_mut()
}
