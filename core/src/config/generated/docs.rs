//! Writes the table of fields for the docs: one row for each field, followed by the fields inside it.

use serde_json::Value;

use super::{Field, Object, ValueShape, current};
use crate::config::field::FieldDefault;

const HEAD: &str = "\
| field | value | meaning | default |
|---|---|---|---|
";

pub(super) fn table(object: &'static Object) -> String {
    HEAD.to_owned() + &rows("", object)
}

fn rows(prefix: &str, object: &'static Object) -> String {
    current(object).map(|field| row(prefix, field)).collect()
}

fn row(prefix: &str, field: &'static Field) -> String {
    let name = format!("{prefix}{}", field.name);
    let (value, inner) = match &field.shape {
        ValueShape::Object(inner) => ("object".to_owned(), rows(&format!("{name}."), inner)),
        shape => (value(shape), String::new()),
    };
    let (about, default) = (field.about(), default(field));
    let separator = if default.is_empty() { "" } else { " " };
    format!("| `{name}` | {value} | {about} |{separator}{default} |\n{inner}")
}

fn value(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Switch => "true or false".to_owned(),
        ValueShape::Text { .. } | ValueShape::LooseText => "text".to_owned(),
        ValueShape::Words(words) | ValueShape::Spellings { usual: words, .. } => quoted(words),
        ValueShape::Integer { .. } | ValueShape::Port => "number".to_owned(),
        ValueShape::List(_) => "list".to_owned(),
        ValueShape::ByName(_) => "object".to_owned(),
        ValueShape::Object(object) => {
            let names: Vec<_> = current(object).map(|field| field.name).collect();
            format!("`{{{}}}`", names.join(", "))
        }
        ValueShape::Either(shapes) => shapes.iter().map(value).collect::<Vec<_>>().join(", or "),
    }
}

fn quoted(words: &[&str]) -> String {
    format!("`{}`", words.join("`, `"))
}

fn default(field: &Field) -> String {
    match (field.default, field.default_value()) {
        (FieldDefault::Words(words), _) => words.to_owned(),
        (_, Some(Value::String(word))) => format!("`{word}`"),
        (_, Some(Value::Number(number))) => {
            let number = number.as_u64().unwrap_or_default();
            if field.name.ends_with("Bytes") { in_bytes(number) } else { grouped(number) }
        }
        (_, Some(value)) => value.to_string(),
        (_, None) => String::new(),
    }
}

fn in_bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => grouped(bytes),
    }
}

/// With a space before each group of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let places = digits.len();
    digits
        .chars()
        .enumerate()
        .flat_map(|(at, digit)| {
            let space = (at > 0 && (places - at).is_multiple_of(3)).then_some(' ');
            space.into_iter().chain([digit])
        })
        .collect()
}
