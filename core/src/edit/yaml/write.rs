//! Owns writing values as YAML: on their own lines, or in one line within brackets.

use serde_json::Value;

/// Words that some YAML readers do not take as plain strings.
const TAKEN: &[&str] =
    &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"];

/// The width of the sign before an item.
const DASH: usize = 2;

/// The lines of `key: value` at an indentation, each with its newline.
pub(super) fn entry(key: &str, value: &Value, indent: usize, step: usize, out: &mut String) {
    push_blanks(indent, out);
    out.push_str(&plain_or_quoted(key));
    out.push(':');
    after_colon(value, indent, step, out);
    out.push('\n');
}

/// The text after the colon of a key at `indent`, without the last newline.
pub(super) fn after_colon(value: &Value, indent: usize, step: usize, out: &mut String) {
    let mut lines = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                entry(key, value, indent + step, step, &mut lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for each in items {
                item(each, indent + step, step, &mut lines);
            }
        }
        _ => {
            out.push(' ');
            out.push_str(&scalar(value));
            return;
        }
    }
    out.push('\n');
    out.push_str(lines.trim_end_matches('\n'));
}

/// The lines of one item of a list.
pub(super) fn item(value: &Value, indent: usize, step: usize, out: &mut String) {
    push_blanks(indent, out);
    out.push_str("- ");
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut lines = String::new();
            for (key, value) in map {
                entry(key, value, indent + DASH, step, &mut lines);
            }
            out.push_str(lines.trim_start_matches(' '));
        }
        _ => {
            out.push_str(&scalar(value));
            out.push('\n');
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => plain_or_quoted(text),
        _ => in_brackets(value),
    }
}

/// In one line as JSON, which is also YAML.
pub(super) fn in_brackets(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_brackets).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", quoted(key), in_brackets(value))
            };
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

fn plain_or_quoted(text: &str) -> String {
    let starts_well =
        text.starts_with(|first: char| first.is_ascii_alphabetic() || "_/".contains(first));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./@+-=".contains(c);
    let without_scheme = text.replacen("://", "/", 1);
    let free = !TAKEN.contains(&text.to_ascii_lowercase().as_str());
    if starts_well && free && without_scheme.chars().all(plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Characters that YAML does not allow unescaped are escaped, in addition to those of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            _ => out.push(c),
        }
    }
    out
}

fn push_blanks(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}
