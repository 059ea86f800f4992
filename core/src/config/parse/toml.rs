//! Owns reading TOML. A duplicate key is an error in TOML itself.

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, TableLike, TomlError, Value as Node};

use super::{DEEPEST, Parsed, SyntaxError, at, too_deep};

pub(super) fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    let document = Document::parse(text).map_err(|error: TomlError| {
        at(text, error.span().map_or(0, |span| span.start), error.message())
    })?;
    let value = table(document.as_table(), 0).ok_or_else(|| at(text, 0, too_deep()))?;
    Ok(Parsed { value, remarks: Vec::new() })
}

fn table(table: &dyn TableLike, depth: usize) -> Option<Value> {
    let entries = table.iter().map(|(key, item)| Some((key.to_owned(), of_item(item, depth + 1)?)));
    Some(Value::Object(entries.collect::<Option<Map<_, _>>>()?))
}

fn of_item(item: &Item, depth: usize) -> Option<Value> {
    match item {
        _ if depth > DEEPEST => None,
        Item::None => Some(Value::Null),
        Item::Value(value) => of_value(value, depth),
        Item::Table(nested) => table(nested, depth),
        Item::ArrayOfTables(tables) => Some(Value::Array(
            tables.iter().map(|each| table(each, depth + 1)).collect::<Option<_>>()?,
        )),
    }
}

fn of_value(value: &Node, depth: usize) -> Option<Value> {
    Some(match value {
        _ if depth > DEEPEST => return None,
        Node::String(text) => Value::String(text.value().clone()),
        Node::Integer(number) => Value::Number((*number.value()).into()),
        Node::Float(number) => match Number::from_f64(*number.value()) {
            Some(number) => Value::Number(number),
            None => Value::String(number.value().to_string().to_ascii_lowercase()),
        },
        Node::Boolean(on) => Value::Bool(*on.value()),
        Node::Datetime(time) => Value::String(time.value().to_string()),
        Node::Array(items) => {
            Value::Array(items.iter().map(|item| of_value(item, depth + 1)).collect::<Option<_>>()?)
        }
        Node::InlineTable(nested) => return table(nested, depth),
    })
}
