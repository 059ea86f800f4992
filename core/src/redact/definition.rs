//! Owns how a definition is displayed, wherever it is printed, reported or asked about.
//! Invariant: of a value that may be secret, only references remain, which are names.

use std::ops::Range;

use serde_json::{Map, Value};

use super::STARS;
use super::find::{in_args, in_text, in_url};
use super::names::{is_scheme, is_secret_key};
use super::reference::{Piece, References, Suffix};

/// Redacts a canonical definition, as [`crate::ServerConfig::to_value`] returns it. References such as `${TOKEN}` stay.
pub(crate) fn definition(definition: Value) -> Value {
    let Value::Object(fields) = definition else { return value_of(definition) };
    Value::Object(fields.into_iter().map(field).collect())
}

fn field((key, value): (String, Value)) -> (String, Value) {
    let value = match (key.as_str(), value) {
        ("env" | "headers", Value::Object(entries)) => entries_starred(entries),
        ("auth", Value::Object(entries)) => {
            let kind = entries.get("type").filter(|kind| kind.is_string()).cloned();
            let mut entries: Map<_, _> =
                entries.into_iter().map(|(key, value)| (key, starred(value))).collect();
            if let Some(kind) = kind {
                entries.insert("type".to_owned(), kind);
            }
            Value::Object(entries)
        }
        ("env" | "headers" | "auth", value) => starred(value),
        ("args", Value::Array(items)) => args_value(items),
        ("url", Value::String(written)) => url(&written).into(),
        // People need to see paths; a hash in a path is not a key.
        ("cwd" | "envFile" | "type", value) => value,
        (_, value) => by_name(&key, value),
    };
    (key, value)
}

fn entries_starred(entries: Map<String, Value>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key, starred(value))).collect())
}

/// Arguments are redacted together: a flag decides about the next one.
fn args_value(items: Vec<Value>) -> Value {
    let texts: Vec<String> = items
        .iter()
        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
        .collect();
    let shown = args(&texts);
    let keep = |(item, (text, shown)): (Value, (&String, String))| {
        if *text == shown && !item.is_string() { item } else { shown.into() }
    };
    items.into_iter().zip(texts.iter().zip(shown)).map(keep).collect()
}

/// A field that is only known by its name.
fn by_name(key: &str, value: Value) -> Value {
    if is_secret_key(key) && !value.is_boolean() { starred(value) } else { value_of(value) }
}

fn value_of(value: Value) -> Value {
    match value {
        Value::String(written) => text(&written).into(),
        Value::Array(items) => items.into_iter().map(value_of).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| {
                    let shown = by_name(&key, value);
                    (key, shown)
                })
                .collect(),
        ),
        plain => plain,
    }
}

pub(super) fn starred(value: Value) -> Value {
    match value {
        Value::String(written) => secret(&written).into(),
        Value::Array(items) => items.into_iter().map(starred).collect(),
        Value::Object(entries) => entries_starred(entries),
        Value::Null => Value::Null,
        Value::Bool(_) | Value::Number(_) => STARS.into(),
    }
}

/// A secret value as written: stars, unless it consists of references and authentication schemes.
pub(crate) fn secret(written: &str) -> String {
    let only = |text: &str| text.split([' ', ':']).all(|word| word.is_empty() || is_scheme(word));
    let Some(references) = References::find(written) else { return STARS.to_owned() };
    let mut shown = String::new();
    let mut at = 0;
    for (range, piece) in references.pieces(written) {
        match piece {
            Piece::Literal(literal) if !only(literal) => return STARS.to_owned(),
            Piece::Reference { rest: Suffix::Default(default), .. } if !default.is_empty() => {
                shown.push_str(&written[at..default.start]);
                shown.push_str(&secret(&written[default.clone()]));
                at = default.end;
            }
            Piece::Reference { rest: Suffix::Message(message), .. } => {
                shown.push_str(&written[at..message.start]);
                shown.push_str(&text(&written[message.clone()]));
                at = message.end;
            }
            _ => {
                shown.push_str(&written[at..range.end]);
                at = range.end;
            }
        }
    }
    let references = references.ranges().next().is_some();
    if references || written.is_empty() { shown + &written[at..] } else { STARS.to_owned() }
}

/// Text that people wrote, such as a command line.
pub(crate) fn text(written: &str) -> String {
    star_ranges(written, &in_text(written))
}

/// A program's arguments.
pub(crate) fn args(written: &[String]) -> Vec<String> {
    let places = in_args(written.iter().map(String::as_str));
    written.iter().zip(places).map(|(arg, places)| star_ranges(arg, &places)).collect()
}

/// A URL without user-info, secret query values, and path segments that look like keys.
pub(crate) fn url(written: &str) -> String {
    star_ranges(written, &in_url(written))
}

fn star_ranges(written: &str, places: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(written.len());
    let mut at = 0;
    for place in places {
        shown.push_str(&written[at..place.start]);
        shown.push_str(&secret(&written[place.clone()]));
        at = place.end;
    }
    shown + &written[at..]
}

#[cfg(test)]
mod tests;
