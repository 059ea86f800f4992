//! Owns reading JSON: comments and trailing commas are allowed, everything else is as in the standard.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};
use serde_json::{Map, Number, Value};

use super::{DEEPEST, Parsed, Remarks, SyntaxError, at, empty, position, too_deep};

/// The extensions of JSON that every product with "JSON" files accepts.
pub(crate) const CHOSEN_SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    let tree = parse_to_ast(text, &CollectOptions::default(), &CHOSEN_SYNTAX)
        .map_err(|error| at(text, error.range().start, reason(&error)))?;
    let mut converter = AstConverter { text, remarks: Remarks::default() };
    let value = match tree.value {
        Some(node) => converter.value(node, 0)?,
        None => empty(),
    };
    Ok(Parsed { value, remarks: converter.remarks.finish() })
}

fn reason(error: &ParseError) -> String {
    match error.kind() {
        ParseErrorKind::NestingDepthExceeded => too_deep(),
        // The library's message quotes the text.
        ParseErrorKind::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => {
            "a \\u escape that is no character".to_owned()
        }
        kind => {
            let mut text = kind.to_string();
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            text
        }
    }
}

struct AstConverter<'a> {
    text: &'a str,
    remarks: Remarks,
}

impl AstConverter<'_> {
    fn value(&mut self, node: Node<'_>, depth: usize) -> Result<Value, SyntaxError> {
        if depth > DEEPEST {
            return Err(at(self.text, node.start(), too_deep()));
        }
        Ok(match node {
            Node::NullKeyword(_) => Value::Null,
            Node::BooleanLit(literal) => Value::Bool(literal.value),
            Node::StringLit(literal) => Value::String(literal.value.into_owned()),
            Node::NumberLit(literal) => number(literal.value),
            Node::Array(array) => {
                let items = array.elements.into_iter().map(|item| self.value(item, depth + 1));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Node::Object(object) => {
                let mut map = Map::with_capacity(object.properties.len());
                for property in object.properties {
                    let (start, key) = (property.range.start, property.name.into_string());
                    let value = self.value(property.value, depth + 1)?;
                    if map.contains_key(&key) {
                        self.remarks.duplicate(&key, || position(self.text, start));
                    }
                    map.insert(key, value);
                }
                Value::Object(map)
            }
        })
    }
}

/// A number out of range stays as written.
fn number(text: &str) -> Value {
    serde_json::from_str::<Number>(text).map_or_else(|_| Value::String(text.into()), Value::Number)
}
