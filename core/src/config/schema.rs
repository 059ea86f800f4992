//! Makes the JSON Schema of a config file from the declared fields. The file `core/schema/mcpool.schema.json` ships it;
//! a test of `generated` compares the two.
//! Invariant: it is self-contained. Nothing is fetched, and each field has its own description.

use serde_json::{Map, Value, json};

use super::document::{DOCUMENT, SERVERS};
use super::field::{Field, fields_of};
use super::server::DEFINITION;
use super::shape::{Object, ValueShape};
use super::validate::NAME_LIMIT;

const ID: &str = "urn:mcpool:schema:mcp";
const TITLE: &str = "mcpool config";

/// The JSON Schema of a config file.
pub fn schema() -> Value {
    let mut properties = properties(fields_of(DOCUMENT.rows));
    let servers = &mut properties[SERVERS];
    servers["propertyNames"] = json!({"pattern": "^[a-zA-Z0-9_.-]+$", "maxLength": NAME_LIMIT});
    let definition = &mut servers["additionalProperties"];
    definition["description"] = DEFINITION.about.into();
    definition["oneOf"] = json!([{"required": ["command"]}, {"required": ["url"]}]);
    json!({
        // The version that editors support best.
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": TITLE,
        "description": DOCUMENT.about,
        "type": "object",
        "properties": properties,
        "required": [SERVERS],
    })
}

fn properties<'a>(fields: impl Iterator<Item = &'a Field>) -> Map<String, Value> {
    fields.map(|field| (field.name.to_owned(), field_schema(field).into())).collect()
}

fn object<'a>(fields: impl Iterator<Item = &'a Field> + Clone) -> Map<String, Value> {
    let required: Vec<&str> =
        fields.clone().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = Map::from_iter([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), properties(fields).into()),
        ("additionalProperties".to_owned(), false.into()),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

fn field_schema(field: &Field) -> Map<String, Value> {
    let shape = shape_schema(&field.shape);
    let shape = if field.is_required { shape } else { or_null(shape) };
    let mut schema = Map::from_iter([("description".to_owned(), plain(field.about()).into())]);
    schema.extend(shape);
    if let Some(default) = field.default_value() {
        schema.insert("default".to_owned(), default);
    }
    if field.is_deprecated {
        schema.insert("deprecated".to_owned(), true.into());
    }
    schema
}

/// Without Markdown marks, which editors do not render.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// A null means an absent field.
fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(kind) = schema.get_mut("type") else {
        let any_of = json!({"anyOf": [schema, {"type": "null"}]});
        return any_of.as_object().cloned().unwrap_or_default();
    };
    *kind = json!([kind, "null"]);
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

fn shape_schema(shape: &ValueShape) -> Map<String, Value> {
    let schema = match shape {
        ValueShape::Switch => json!({"type": "boolean"}),
        ValueShape::Text { least: 0 } => json!({"type": "string"}),
        ValueShape::Text { least } => json!({"type": "string", "minLength": least}),
        ValueShape::LooseText => json!({"type": ["string", "number", "boolean"]}),
        ValueShape::Words(words) => json!({"type": "string", "enum": words}),
        ValueShape::Spellings { all, .. } => json!({"type": "string", "enum": all()}),
        ValueShape::Integer { least } => json!({"type": "integer", "minimum": least}),
        ValueShape::Port => json!({"type": "integer", "minimum": 1, "maximum": u16::MAX}),
        ValueShape::List(item) => json!({"type": "array", "items": shape_schema(item)}),
        ValueShape::ByName(value) => {
            json!({"type": "object", "additionalProperties": shape_schema(value)})
        }
        ValueShape::Object(Object { is_open: true, .. }) => {
            json!({"type": "object", "additionalProperties": true})
        }
        ValueShape::Object(closed) => object(fields_of(closed.rows)).into(),
        ValueShape::Either(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(shape_schema).collect();
            json!({"anyOf": shapes})
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn definition() -> Value {
        schema()["properties"]["mcpServers"]["additionalProperties"].clone()
    }

    /// A value that the field takes.
    fn sample(field: &Field) -> Value {
        match field.name {
            "url" => json!("http://h/"),
            _ => field.default_value().unwrap_or_else(|| sample_of(&field.shape)),
        }
    }

    fn sample_of(shape: &ValueShape) -> Value {
        match shape {
            ValueShape::Switch => json!(true),
            ValueShape::Text { .. } | ValueShape::LooseText => json!("x"),
            ValueShape::Words(words) => json!(words[0]),
            ValueShape::Spellings { usual, .. } => json!(usual[0]),
            // The least time for a request is long.
            ValueShape::Integer { .. } => json!(1_000_000),
            ValueShape::Port => json!(8080),
            ValueShape::List(item) => json!([sample_of(item)]),
            ValueShape::ByName(value) => json!({"a": sample_of(value)}),
            ValueShape::Object(object) => fields_of(object.rows)
                .map(|field| (field.name.to_owned(), sample(field)))
                .collect::<Map<_, _>>()
                .into(),
            ValueShape::Either(shapes) => sample_of(&shapes[shapes.len() - 1]),
        }
    }

    fn base(field: &str) -> Value {
        match field {
            "command" | "url" => json!({}),
            "headers" | "tls" => json!({"url": "https://h/"}),
            _ => json!({"command": "x"}),
        }
    }

    #[test]
    fn every_field_of_the_schema_is_read() {
        for field in fields_of(DEFINITION.rows) {
            let mut server = base(field.name);
            server[field.name] = match field.name {
                "protocol" => json!("auto"),
                _ => sample(field),
            };
            let config = Config::from_value(json!({"mcpServers": {"n": server}})).unwrap();
            assert!(config.warnings.is_empty(), "{:?}", config.warnings);
            config.servers["n"].config.as_ref().unwrap();
        }
    }

    #[test]
    fn the_source_of_hand_written_reading_asks_for_no_field_that_the_schema_lacks() {
        let sources = [
            include_str!("enabled.rs"),
            include_str!("restart.rs"),
            include_str!("tools.rs"),
            include_str!("transport.rs"),
        ];
        let schema = schema().to_string();
        let words = ["string", "strings", "secrets", "switch", "millis", "count", "object", "take"];
        let mut asked = 0;
        for (word, source) in words.iter().flat_map(|word| sources.map(|source| (word, source))) {
            let code = source.split("#[cfg(test)]").next().unwrap();
            for place in code.split(&format!("reader.{word}(")).skip(1) {
                let Some(rest) = place.trim_start().strip_prefix('"') else { continue };
                let field = rest.split('"').next().unwrap();
                assert!(schema.contains(&format!("\"{field}\":{{")), "{field}");
                asked += 1;
            }
        }
        assert!(asked > 10, "{asked}");
    }

    #[test]
    fn every_field_has_a_description_and_nothing_is_fetched() {
        for (field, schema) in definition()["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{field}: {schema}");
        }
        let text = schema().to_string();
        assert!(!text.contains("$ref"), "all is in one place");
        assert_eq!(schema()["$id"], ID);
    }
}
