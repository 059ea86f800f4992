//! Takes typed values out of one server's JSON object.
//! Invariant: a wrongly typed switch or number is a warning and the default; a wrongly typed address or command is the
//! server's error.

use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;
use crate::similar::did_you_mean;

/// Whether a number of milliseconds was most likely meant in seconds: very few, or whole minutes of seconds.
pub(super) fn looks_like_seconds(ms: u64) -> bool {
    matches!(ms, 1..100) || matches!(ms, 1..1000) && ms.is_multiple_of(60)
}

pub(super) struct FieldReader<'a> {
    pub(super) name: &'a str,
    /// The path of the object inside the definition: empty, or `limits.`.
    path: String,
    object: Map<String, Value>,
    warnings: &'a mut Vec<String>,
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(
        name: &'a str,
        object: Map<String, Value>,
        warnings: &'a mut Vec<String>,
    ) -> Self {
        FieldReader { name, path: String::new(), object, warnings }
    }

    /// A reader of the object taken from `key`.
    pub(super) fn nested(&mut self, key: &str, object: Map<String, Value>) -> FieldReader<'_> {
        let path = format!("{}{key}.", self.path);
        FieldReader { name: self.name, path, object, warnings: self.warnings }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.object.keys().cloned().collect()
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.object.remove(key).filter(|value| !value.is_null())
    }

    /// Takes a value that is `false`.
    pub(super) fn take_false(&mut self, key: &str) -> bool {
        let is_false = self.object.get(key) == Some(&Value::Bool(false));
        is_false && self.object.shift_remove(key).is_some()
    }

    pub(super) fn error(&self, what: &str) -> Error {
        Error::new(ErrorKind::ConfigInvalid, format!("Server \"{}\": {what}", self.name))
            .naming_server(self.name)
    }

    pub(super) fn warn_of(&mut self, key: &str, what: &str) {
        self.warnings.push(format!("Server \"{}\": \"{}{key}\" {what}", self.name, self.path));
    }

    pub(super) fn warn_of_value(&mut self, what: &str, value: &str, problem: &str) {
        self.warnings.push(format!("Server \"{}\": {what} \"{value}\" {problem}", self.name));
    }

    pub(super) fn string(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.contains('\0') => {
                Err(self.error(&format!("\"{key}\" must not contain a NUL character")))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(&format!("\"{key}\" must be a string"))),
        }
    }

    pub(super) fn strings(&mut self, key: &str) -> Result<Vec<String>> {
        let wrong = format!("\"{key}\" must be a list of strings");
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| plain_text(item).ok_or_else(|| self.error(&wrong)))
                .collect(),
            Some(_) => Err(self.error(&wrong)),
        }
    }

    pub(super) fn secrets(&mut self, key: &str) -> Result<IndexMap<String, Secret>> {
        let wrong = format!("\"{key}\" must be an object of strings");
        match self.take(key) {
            None => Ok(IndexMap::new()),
            Some(Value::Object(entries)) => entries
                .into_iter()
                .map(|(name, value)| match plain_text(value) {
                    Some(text) => Ok((name, Secret::new(text))),
                    None => Err(self.error(&wrong)),
                })
                .collect(),
            Some(_) => Err(self.error(&wrong)),
        }
    }

    pub(super) fn switch(&mut self, key: &str, default: bool) -> bool {
        match self.take(key) {
            None => default,
            Some(Value::Bool(on)) => on,
            Some(_) => {
                self.warn_of(key, &format!("must be true or false; {default} is used"));
                default
            }
        }
    }

    /// A time above 0, with a warning if seconds were meant; `otherwise` describes the fallback.
    pub(super) fn millis(&mut self, key: &str, otherwise: &str) -> Option<Duration> {
        let millis = self.any_millis(key, otherwise)?;
        self.warn_of_seconds(key, Some(millis));
        Some(Duration::from_millis(millis))
    }

    /// A number of milliseconds above 0; `otherwise` describes the fallback.
    pub(super) fn any_millis(&mut self, key: &str, otherwise: &str) -> Option<u64> {
        let written = self.take(key)?;
        let millis = written.as_u64().filter(|&ms| ms > 0);
        if millis.is_none() {
            self.warn_of(key, &format!("must be a number of milliseconds above 0; {otherwise}"));
        }
        millis
    }

    /// Warns of a time that is so short that seconds were meant.
    pub(super) fn warn_of_seconds(&mut self, key: &str, millis: Option<u64>) {
        if let Some(ms) = millis.filter(|&ms| looks_like_seconds(ms)) {
            let seconds = if ms == 1 { "1 second".to_owned() } else { format!("{ms} seconds") };
            self.warn_of(
                key,
                &format!("is {ms} ms: times are in milliseconds; {seconds} are {ms}000"),
            );
        }
    }

    /// A whole number above 0; `otherwise` describes the fallback.
    pub(super) fn count(&mut self, key: &str, otherwise: &str) -> Option<usize> {
        let written = self.take(key)?;
        let count = written.as_u64().and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|&count| count > 0);
        if count.is_none() {
            self.warn_of(key, &format!("must be a whole number above 0; {otherwise}"));
        }
        count
    }

    pub(super) fn object(&mut self, key: &str) -> Option<Map<String, Value>> {
        match self.take(key)? {
            Value::Object(object) => Some(object),
            _ => {
                self.warn_of(key, "must be an object; the defaults are used");
                None
            }
        }
    }

    /// Warns of fields that were not taken; `known` are those that there are.
    pub(super) fn finish<'f>(mut self, known: impl Iterator<Item = &'f str> + Clone) {
        let left: Vec<String> = self.object.keys().cloned().collect();
        for key in left {
            let meant = did_you_mean(&key, known.clone());
            let guess = meant.map(|meant| format!("; did you mean \"{meant}\"?"));
            let no_field = "is no field of a server and has no effect";
            self.warn_of(&key, &format!("{no_field}{}", guess.unwrap_or_default()));
        }
    }
}

/// A string, or a number or boolean that was written without quotes.
fn plain_text(value: Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(on) => on.to_string(),
        _ => return None,
    };
    (!text.contains('\0')).then_some(text)
}
