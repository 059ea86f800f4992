//! Owns the JSON Schema of a config file, made from the types of `model`. The file `core/schema/mcpool.schema.json`
//! ships it; a test compares the two.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value};

use super::model::Document;

const ID: &str = "urn:mcpool:schema:mcp";
const TITLE: &str = "mcpool config";

/// The JSON Schema of a config file.
pub fn schema() -> Value {
    // Draft 7 is what editors know best, and without references each field carries its own description.
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Document>();
    Plain.transform(&mut schema);
    schema.insert("$id".to_owned(), ID.into());
    schema.insert("title".to_owned(), TITLE.into());
    let Value::Object(mut fields) = schema.to_value() else { return Value::Null };
    let head = ["$schema", "$id", "title", "description"]
        .into_iter()
        .filter_map(|key| fields.remove_entry(key))
        .collect::<Vec<_>>();
    head.into_iter().chain(fields).collect::<Map<_, _>>().into()
}

/// Takes out what belongs to Rust: the widths of its numbers, the line ends of its comments.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("format");
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::Config;

    fn shipped() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/mcpool.schema.json")
    }

    fn definition() -> Value {
        schema()["properties"]["mcpServers"]["additionalProperties"].clone()
    }

    /// Fields of a server with a value that each takes.
    fn samples() -> Vec<(&'static str, Value)> {
        vec![
            ("type", json!("stdio")),
            ("command", json!("x")),
            ("args", json!(["a"])),
            ("env", json!({"A": "1"})),
            ("envFile", json!(".env")),
            ("cwd", json!("/")),
            ("url", json!("http://h/")),
            ("headers", json!({"A": "1"})),
            ("auth", json!({"type": "oauth"})),
            ("enabled", json!(true)),
            ("disabled", json!(false)),
            ("required", json!(true)),
            ("timeout", json!(1)),
            ("toolTimeout", json!(1)),
            ("requestTimeout", json!(1_000_000)),
            ("inheritEnv", json!("all")),
            ("requiresApproval", json!(false)),
            ("lazy", json!(true)),
            ("shared", json!(false)),
            ("isolate", json!("session")),
            ("restart", json!({"delays": [1], "forever": false})),
            ("healthProbe", json!("ping")),
            ("pingInterval", json!(1)),
            ("keepAlive", json!("always")),
            ("idleShutdown", json!(1)),
            ("maxConcurrency", json!(1)),
            ("maxResultChars", json!(1)),
            ("protocol", json!("2025-11-25")),
            ("enabledTools", json!(["a"])),
            ("disabledTools", json!(["a"])),
            ("enabled_tools", json!(["a"])),
            ("disabled_tools", json!(["a"])),
            ("tools", json!({"a": {"enabled": false}})),
            (
                "limits",
                json!({"messageBytes": 1, "jsonDepth": 1, "serverRequests": 1, "replyBytes": 1,
                    "textBytes": 1, "toolBytes": 1, "toolListBytes": 1}),
            ),
        ]
    }

    #[test]
    fn the_shipped_file_is_what_the_types_say() {
        let text = format!("{:#}\n", schema());
        if std::env::var_os("MCPOOL_WRITE_SCHEMA").is_some() {
            std::fs::create_dir_all(shipped().parent().unwrap()).unwrap();
            std::fs::write(shipped(), &text).unwrap();
        }
        let shipped = std::fs::read_to_string(shipped()).unwrap_or_default();
        assert!(shipped == text, "run the tests once with MCPOOL_WRITE_SCHEMA=1");
    }

    #[test]
    fn every_field_of_the_schema_is_read_and_every_field_that_is_read_is_in_the_schema() {
        let schema = definition();
        let properties = schema["properties"].as_object().unwrap();
        let (named, sampled): (BTreeSet<&str>, BTreeSet<&str>) = (
            properties.keys().map(String::as_str).collect(),
            samples().into_iter().map(|(field, _)| field).collect(),
        );
        assert_eq!(named, sampled);
        for (field, value) in samples() {
            let base = match field {
                "command" => json!({}),
                "url" => json!({}),
                "headers" => json!({"url": "http://h/"}),
                _ => json!({"command": "x"}),
            };
            let mut server = base;
            server[field] = value;
            let config = Config::from_value(json!({"mcpServers": {"n": server}})).unwrap();
            let known =
                config.warnings.iter().all(|it| it.ends_with("has no effect in this version"));
            assert!(known, "{:?}", config.warnings);
            config.servers["n"].config.as_ref().unwrap();
        }
        for (object, sample) in [("limits", &samples()[33].1), ("restart", &samples()[20].1)] {
            let text = properties[object].to_string();
            for part in sample.as_object().unwrap().keys() {
                assert!(text.contains(&format!("\"{part}\":{{")), "{object}.{part}");
            }
        }
    }

    #[test]
    fn the_source_of_the_validator_asks_for_no_field_that_the_schema_lacks() {
        let sources = [
            include_str!("validate.rs"),
            include_str!("limits.rs"),
            include_str!("restart.rs"),
            include_str!("tools.rs"),
        ];
        let schema = schema().to_string();
        let words =
            ["string", "strings", "secrets", "switch", "millis", "optional_millis", "count"];
        let words = words.into_iter().chain(["optional_count", "object", "choice", "take"]);
        for word in words {
            let call = format!("fields.{word}(");
            for source in sources {
                let code = source.split("#[cfg(test)]").next().unwrap();
                for place in code.split(call.as_str()).skip(1) {
                    let Some(rest) = place.trim_start().strip_prefix('"') else { continue };
                    let field = rest.split('"').next().unwrap();
                    assert!(schema.contains(&format!("\"{field}\":{{")), "{field}");
                }
            }
        }
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
