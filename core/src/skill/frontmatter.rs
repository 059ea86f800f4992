//! Owns reading the frontmatter of a `SKILL.md`, and comparing its values.
//! Invariant: what cannot be read without doubt is not frontmatter.

use serde_json::{Map, Value};

use crate::config::parse::{Format, parse};

/// The head of a file: YAML between two lines of `---`.
pub(super) struct FrontMatter {
    pub(super) fields: Map<String, Value>,
    /// Where the rest of the file begins.
    pub(super) end: usize,
}

impl FrontMatter {
    pub(super) fn read(text: &str) -> Option<FrontMatter> {
        let start = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = start.split_inclusive('\n').next()?;
        if !matches!(first, "---\n" | "---\r\n") {
            return None;
        }
        let begin = text.len() - start.len() + first.len();
        let mut at = begin;
        for line in text[begin..].split_inclusive('\n') {
            let after = at + line.len();
            if at > begin && is_end(line) {
                let parsed = parse(&text[begin..at], Format::Yaml).ok()?;
                // A key that is there twice, or a second document.
                let Value::Object(fields) = parsed.value else { return None };
                return parsed.remarks.is_empty().then_some(FrontMatter { fields, end: after });
            }
            at = after;
        }
        None
    }
}

fn is_end(line: &str) -> bool {
    let line = line.strip_suffix('\n').map_or(line, |it| it.strip_suffix('\r').unwrap_or(it));
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|c| matches!(c, b' ' | b'\t')))
}

/// Whether two values are the same. Languages write the number one as `1` or `1.0`.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}
