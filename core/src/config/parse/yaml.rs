//! Owns reading YAML, the core schema of 1.2: `yes` and `on` are strings, `<<` merges.
//! Invariant: values copied by aliases are counted, so that a short text cannot become a large value.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

use super::{DEEPEST, Parsed, Remark, Remarks, SyntaxError, empty, too_deep};

const MOST_COPIED_VALUES: usize = 100_000;
const MOST_COPIED_BYTES: usize = 8 << 20;

pub(super) fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    let mut events = Parser::new_from_str(text);
    let mut builder = Builder::default();
    let mut further_document = None;
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| at(*error.marker(), error.info()))?;
        match event {
            Event::StreamEnd => break,
            Event::DocumentStart(_) if builder.root.is_some() => {
                further_document = Some(at(span.start, "further documents are left aside"));
                break;
            }
            event => builder.take(event, span.start)?,
        }
    }
    let value = builder.root.take().filter(|root| !root.is_null()).unwrap_or_else(empty);
    let mut remarks = builder.remarks.finish();
    remarks.extend(further_document);
    Ok(Parsed { value, remarks })
}

fn at(mark: Marker, message: impl Into<String>) -> Remark {
    Remark { line: mark.line().max(1), column: mark.col() + 1, message: message.into() }
}

enum Frame {
    List { items: Vec<Value>, anchor: usize },
    Table { map: Map<String, Value>, key: Option<Key>, merged: Vec<Value>, anchor: usize },
}

enum Key {
    Name(String),
    /// `<<`
    Merge,
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    root: Option<Value>,
    anchors: HashMap<usize, Value>,
    copied: CopiedSize,
    remarks: Remarks,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, mark: Marker) -> Result<(), SyntaxError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(key) = self.open_key() {
                    let name = text.into_owned();
                    let is_merge = style == ScalarStyle::Plain && name == "<<";
                    *key = Some(if is_merge { Key::Merge } else { Key::Name(name.clone()) });
                    self.check_duplicate(mark);
                    self.remember(anchor, &Value::String(name), mark)
                } else {
                    let value = scalar(text, style, tag.as_deref());
                    self.finish(value, anchor, mark)
                }
            }
            Event::SequenceStart(anchor, _) => {
                self.open(Frame::List { items: Vec::new(), anchor }, mark)
            }
            Event::MappingStart(anchor, _) => {
                let (map, merged) = (Map::new(), Vec::new());
                self.open(Frame::Table { map, key: None, merged, anchor }, mark)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(Frame::List { items, anchor }) => {
                    self.finish(Value::Array(items), anchor, mark)
                }
                Some(Frame::Table { map, merged, anchor, .. }) => {
                    self.finish(Value::Object(merge(map, merged)), anchor, mark)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor, mark),
            _ => Ok(()),
        }
    }

    /// The place for the next key, if a key comes next.
    fn open_key(&mut self) -> Option<&mut Option<Key>> {
        match self.stack.last_mut() {
            Some(Frame::Table { key: key @ None, .. }) => Some(key),
            _ => None,
        }
    }

    fn check_duplicate(&mut self, mark: Marker) {
        if let Some(Frame::Table { map, key: Some(Key::Name(name)), .. }) = self.stack.last()
            && map.contains_key(name)
        {
            self.remarks.duplicate(name, || (mark.line().max(1), mark.col() + 1));
        }
    }

    fn open(&mut self, frame: Frame, mark: Marker) -> Result<(), SyntaxError> {
        if self.open_key().is_some() {
            return Err(at(mark, "a key must be a text"));
        }
        if self.stack.len() > DEEPEST {
            return Err(at(mark, too_deep()));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, mark: Marker) -> Result<(), SyntaxError> {
        let Some(value) = self.anchors.get(&anchor) else {
            return Err(at(mark, "an alias of something that it is itself a part of"));
        };
        let depth =
            self.copied.add(value).ok_or_else(|| at(mark, "too much is copied by aliases"))?;
        if self.stack.len() + depth > DEEPEST {
            return Err(at(mark, too_deep()));
        }
        let value = value.clone();
        if let Some(key) = self.open_key() {
            let Value::String(name) = value else {
                return Err(at(mark, "a key must be a text"));
            };
            *key = Some(Key::Name(name));
            self.check_duplicate(mark);
            return Ok(());
        }
        self.finish(value, 0, mark)
    }

    fn finish(&mut self, value: Value, anchor: usize, mark: Marker) -> Result<(), SyntaxError> {
        self.remember(anchor, &value, mark)?;
        match self.stack.last_mut() {
            None => self.root = Some(value),
            Some(Frame::List { items, .. }) => items.push(value),
            Some(Frame::Table { map, key, merged, .. }) => match key.take() {
                Some(Key::Name(name)) => {
                    map.insert(name, value);
                }
                Some(Key::Merge) => match value {
                    Value::Object(_) => merged.push(value),
                    Value::Array(items) if items.iter().all(Value::is_object) => {
                        merged.extend(items)
                    }
                    _ => return Err(at(mark, "<< must name a mapping")),
                },
                None => return Err(at(mark, "a key must be a text")),
            },
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, value: &Value, mark: Marker) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.copied.add(value).ok_or_else(|| at(mark, "too much is copied by aliases"))?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(())
    }
}

/// Explicit keys win over merged ones, earlier merges over later ones.
fn merge(mut map: Map<String, Value>, merged: Vec<Value>) -> Map<String, Value> {
    for source in merged {
        let Value::Object(source) = source else { continue };
        for (key, value) in source {
            map.entry(key).or_insert(value);
        }
    }
    map
}

#[derive(Default)]
struct CopiedSize {
    values: usize,
    bytes: usize,
}

impl CopiedSize {
    /// Counts `value` and returns its depth, or `None` if there is too much.
    fn add(&mut self, value: &Value) -> Option<usize> {
        self.values += 1;
        let depth = match value {
            Value::String(text) => {
                self.bytes += text.len();
                0
            }
            Value::Array(items) => {
                let mut deepest = 0;
                for item in items {
                    deepest = deepest.max(self.add(item)?);
                }
                1 + deepest
            }
            Value::Object(map) => {
                let mut deepest = 0;
                for (key, item) in map {
                    self.bytes += key.len();
                    deepest = deepest.max(self.add(item)?);
                }
                1 + deepest
            }
            _ => 0,
        };
        (self.values <= MOST_COPIED_VALUES && self.bytes <= MOST_COPIED_BYTES).then_some(depth)
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    // A tag outside of YAML belongs to some program; we do not guess its meaning.
    let plain = style == ScalarStyle::Plain
        && tag.is_none_or(|tag| tag.is_yaml_core_schema() && tag.suffix != "str");
    let resolved = if plain { resolve(&text) } else { None };
    resolved.unwrap_or_else(|| Value::String(text.into_owned()))
}

/// The value of a plain scalar that is not a string.
fn resolve(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+')) {
        return radix(digits, 16).map(Value::from);
    }
    if let Some(digits) = text.strip_prefix("0o").filter(|digits| !digits.starts_with('+')) {
        return radix(digits, 8).map(Value::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let looks_like_a_number = unsigned
        .starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit())
        && unsigned.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c));
    // 0123 is octal to some and a code with a leading zero to most; it stays as written.
    let is_a_code = unsigned.len() > 1
        && unsigned.starts_with('0')
        && unsigned[1..].starts_with(|next: char| next.is_ascii_digit());
    if !looks_like_a_number || is_a_code {
        return None;
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = plain.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = plain.parse::<u64>() {
        return Some(number.into());
    }
    let number = plain.parse::<f64>().ok()?;
    Number::from_f64(number).map(Value::Number)
}
