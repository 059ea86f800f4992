//! Owns taking the fields out of an entry, so that what is left over is known.

use serde_json::{Map, Value};

/// An entry whose fields are taken one by one.
pub(super) struct Entry {
    fields: Map<String, Value>,
    pub(super) warnings: Vec<String>,
}

impl Entry {
    pub(super) fn new(fields: Map<String, Value>) -> Self {
        Entry { fields, warnings: Vec::new() }
    }

    /// The fields that nobody took.
    pub(super) fn left(self) -> (Map<String, Value>, Vec<String>) {
        let given = self.fields.into_iter().filter(|(_, value)| !is_nothing(value));
        (given.collect(), self.warnings)
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.fields.get(word).is_some_and(|value| !is_nothing(value))
    }

    pub(super) fn take(&mut self, word: &str) -> Option<Value> {
        self.fields.shift_remove(word).filter(|value| !is_nothing(value))
    }

    /// The field under the first of its names that is there; another name for something else has no effect.
    pub(super) fn first(&mut self, words: &[&str]) -> Option<Value> {
        let mut found: Option<(&str, Value)> = None;
        for word in words {
            let Some(value) = self.take(word) else { continue };
            match &found {
                None => found = Some((word, value)),
                Some((_, first)) if *first == value => {}
                Some((first, _)) => {
                    self.warnings.push(format!("\"{word}\" has no effect beside \"{first}\""));
                }
            }
        }
        found.map(|(_, value)| value)
    }

    /// The lists under all of these names as one; as `first` if one is no list.
    pub(super) fn merged(&mut self, words: &[&str]) -> Option<Value> {
        let given = || words.iter().filter_map(|word| self.fields.get(*word));
        if !given().filter(|value| !is_nothing(value)).all(Value::is_array) {
            return self.first(words);
        }
        let lists: Vec<Value> = words.iter().filter_map(|word| self.take(word)).collect();
        let is_there = !lists.is_empty();
        let items = lists.into_iter().flat_map(|list| match list {
            Value::Array(items) => items,
            other => vec![other],
        });
        let items: Vec<Value> = items.collect();
        is_there.then_some(Value::Array(items))
    }
}

/// Forms leave an empty text where nothing was entered.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value == ""
}
