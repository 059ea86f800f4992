//! Owns parsing the text of a config file into one JSON value, for every format: JSON with or without comments, YAML,
//! TOML. `validate` interprets the value.
//! Invariant: no text makes it panic, hang, or use disproportionate memory; no error quotes the text, which may contain
//! a secret.

use std::path::Path;

use serde_json::{Map, Value};

mod json;
mod toml;
mod yaml;

pub(crate) use json::CHOSEN_SYNTAX;

/// Deeper than any config, and safe for every stack.
const DEEPEST: usize = 128;
const MOST_REMARKS: usize = 20;
const LONGEST_NAME: usize = 100;

/// The format of a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// With or without comments.
    Json,
    Yaml,
    Toml,
}

impl Format {
    /// By the file's extension; JSON if that is unknown.
    pub(crate) fn from_path(path: &Path) -> Format {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Format::Yaml,
            "toml" => Format::Toml,
            _ => Format::Json,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Yaml => "YAML",
            Format::Toml => "TOML",
        }
    }
}

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    /// Its value; an empty text is an empty object.
    pub(crate) value: Value,
    /// Warnings about it.
    pub(crate) remarks: Vec<Remark>,
}

/// A remark at a position in a text. Lines and columns start at 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Why a text cannot be read, and where.
pub(crate) type SyntaxError = Remark;

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Parses `text`; a leading byte order mark is ignored.
pub(crate) fn parse(text: &str, format: Format) -> Result<Parsed, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = match format {
        Format::Json => json::parse(text),
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text),
    };
    parsed.map_err(|mut error| {
        error.message = format!("not {}: {}", format.name(), error.message);
        error
    })
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// Line and column of a byte position in `text`.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

fn at(text: &str, offset: usize, message: impl Into<String>) -> Remark {
    let (line, column) = position(text, offset);
    Remark { line, column, message: message.into() }
}

fn too_deep() -> String {
    format!("nested more than {DEEPEST} levels deep")
}

/// The remarks about one text, limited to a readable number.
#[derive(Default)]
struct Remarks {
    told: Vec<Remark>,
    untold: usize,
}

impl Remarks {
    /// `place` is called only for reported remarks, because finding a line scans the text.
    fn duplicate(&mut self, key: &str, place: impl FnOnce() -> (usize, usize)) {
        if self.told.len() == MOST_REMARKS {
            self.untold += 1;
            return;
        }
        let key: String = key.chars().take(LONGEST_NAME).collect();
        let (line, column) = place();
        let message = format!("{key:?} is there twice; the last one counts");
        self.told.push(Remark { line, column, message });
    }

    fn finish(mut self) -> Vec<Remark> {
        if let Some(last) = self.told.last().filter(|_| self.untold > 0) {
            let message = format!("{} more keys are there twice", self.untold);
            let (line, column) = (last.line, last.column);
            self.told.push(Remark { line, column, message });
        }
        self.told
    }
}

#[cfg(test)]
mod tests;
