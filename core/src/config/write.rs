//! Writes a config in its canonical form: canonical names in a fixed order, defaults left out, secrets included.
//! Invariant: reading the output gives the same config again.

use serde_json::{Map, Value};

use super::document::{BARE_ENV_NAMES, SERVERS};
use super::enabled::REQUIRED;
use super::field::{fields_of, names_of};
use super::{Config, Declared, ServerConfig, validate};
use crate::error::Result;

const DISABLED: &str = "disabled";

impl Config {
    /// The config in its canonical form, secrets included. Servers with errors are not in it.
    pub fn to_value(&self) -> Value {
        let usable = || self.servers.values().filter_map(|declared| declared.config.as_ref().ok());
        let bare_env_names =
            usable().next().is_some() && usable().all(|server| server.scope.bare_env_names);
        let servers = self.servers.iter();
        let servers: Map<String, Value> = servers
            .filter_map(|(name, declared)| Some((name.clone(), declared.to_value()?)))
            .collect();
        let mut written = Map::from_iter([(SERVERS.to_owned(), servers.into())]);
        if bare_env_names {
            written.insert(BARE_ENV_NAMES.to_owned(), true.into());
        }
        Value::Object(written)
    }
}

impl Declared {
    /// The same of one server; none if it is invalid.
    pub(crate) fn to_value(&self) -> Option<Value> {
        let mut written = self.config.as_ref().ok()?.write();
        if self.required {
            written.insert(REQUIRED.to_owned(), true.into());
        }
        let names = names_of(ServerConfig::ROWS);
        let in_order: Map<String, Value> =
            names.filter_map(|name| written.remove_entry(name)).collect();
        Some(in_order.into())
    }
}

impl ServerConfig {
    /// The definition in its canonical form, secrets included.
    pub fn to_value(&self) -> Value {
        Value::Object(self.write())
    }
}

/// A definition in its canonical form, or what is wrong with it.
pub(crate) fn canonical_definition(
    name: &str,
    definition: &Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<Map<String, Value>> {
    let mut written = validate::server(name, Value::Object(definition.clone()), warnings)?.write();
    if definition.get(REQUIRED) == Some(&Value::Bool(true)) {
        written.insert(REQUIRED.to_owned(), true.into());
    }
    Ok(written)
}

/// The fields of a definition that say their defaults, which the canonical form leaves out.
pub(crate) fn explicit_defaults(definition: &Map<String, Value>) -> Map<String, Value> {
    let mut defaults: Map<String, Value> = definition
        .iter()
        .filter(|(field, value)| *field != DISABLED && is_default(field, value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    if definition.get(DISABLED) == Some(&Value::Bool(false)) {
        defaults.insert("enabled".to_owned(), true.into());
    }
    defaults
}

/// Whether the field means the same if it is left out.
pub(crate) fn is_default(field: &str, value: &Value) -> bool {
    let mut fields = fields_of(ServerConfig::ROWS).filter(|known| known.name == field);
    fields.any(|known| known.default_value().as_ref() == Some(value))
}

/// Whether a definition of ours can have the field, in any spelling.
pub(crate) fn is_field(name: &str) -> bool {
    fields_of(ServerConfig::ROWS).any(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use fastrand::Rng;
    use serde_json::json;

    use super::*;
    use crate::config::field::Field;
    use crate::config::server::field_names;
    use crate::config::shape::ValueShape;

    fn read(definition: &Value) -> (ServerConfig, bool) {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        let declared = &config.servers["n"];
        let server =
            declared.config.clone().unwrap_or_else(|error| panic!("{error}: {definition}"));
        (server, declared.required)
    }

    fn written(definition: Value) -> Value {
        read(&definition).0.to_value()
    }

    #[test]
    fn defaults_are_left_out_and_spellings_are_canonical() {
        let stdio = json!({
            "lazy": false, "type": "local", "enabled": true, "timeout": 30_000, "args": [80], "command": "x",
            "restart": "relentless", "limits": {}, "env": {}, "disabled": false, "requestTimeout": 90_000,
        });
        assert_eq!(written(stdio), json!({"command": "x", "args": ["80"]}));
        let remote = json!({"url": "http://h/", "type": "streamable-http", "headers": {"A": "1"}});
        assert_eq!(written(remote), json!({"url": "http://h/", "headers": {"A": "1"}}));
        let sse = json!({"url": "http://h/", "type": "sse", "disabled": true});
        assert_eq!(written(sse), json!({"type": "sse", "url": "http://h/", "enabled": false}));
        let tools = json!({
            "command": "x", "enabled_tools": ["a*"], "tools": {"b": {"enabled": false}, "c": {"enabled": true}},
        });
        let canonical = json!({"command": "x", "enabledTools": ["a*"], "disabledTools": ["b"]});
        assert_eq!(written(tools), canonical);
    }

    #[test]
    fn the_order_is_always_the_same() {
        let one = json!({"timeout": 5, "env": {"B": "1", "A": "2"}, "command": "x", "auth": {"clientId": "a", "token": "b"}});
        let text = r#"{"command":"x","env":{"B":"1","A":"2"},"auth":{"token":"b","clientId":"a"},"timeout":5}"#;
        assert_eq!(written(one).to_string(), text);
    }

    #[test]
    fn restart_is_written_by_name_where_it_has_one() {
        let cases = [
            (json!({"shared": false, "restart": "once"}), Value::Null),
            (json!({"shared": false, "restart": "relentless"}), json!("relentless")),
            (json!({"restart": "once"}), json!("once")),
            (json!({"restart": {"delays": []}}), json!("never")),
            (json!({"restart": {"delays": [2000, 5000, 15000]}}), json!("bounded")),
            (
                json!({"restart": {"delays": [1, 200], "forever": true}}),
                json!({"delays": [1, 200], "forever": true}),
            ),
        ];
        for (mut definition, restart) in cases {
            definition["command"] = json!("x");
            assert_eq!(written(definition)["restart"], restart);
        }
    }

    #[test]
    fn a_config_is_written_with_the_servers_that_are_right() {
        let document = json!({
            "mcpServers": {"b": {"command": "x", "required": true}, "bad": {}, "a": {"url": "http://h/"}},
            "disabledServers": ["a"], "bareEnvNames": true,
        });
        let config = Config::from_value(document).unwrap();
        let expected = json!({
            "mcpServers": {"b": {"command": "x", "required": true}, "a": {"url": "http://h/", "enabled": false}},
            "bareEnvNames": true,
        });
        assert_eq!(config.to_value(), expected);
        assert_eq!(Config::from_value(expected.clone()).unwrap().to_value(), expected);
        assert_eq!(Config::default().to_value(), json!({"mcpServers": {}}));
    }

    fn any_text(rng: &mut Rng) -> String {
        let letters = [
            "a", "Z", " ", "é", "\"", "\\", "${X}", "\n", "🦀", ":", "#", "-", "'", "0", "\t", "{",
            "$",
        ];
        (0..rng.usize(0..8)).map(|_| letters[rng.usize(0..letters.len())]).collect()
    }

    fn one_of<T: Clone>(rng: &mut Rng, values: &[T]) -> T {
        values[rng.usize(0..values.len())].clone()
    }

    /// A value of the shape. Wrong ones are only among switches, numbers and words, where they are warnings.
    fn any_value(rng: &mut Rng, shape: &ValueShape) -> Value {
        match shape {
            ValueShape::Switch => one_of(rng, &[json!(true), json!(false), json!("x")]),
            ValueShape::Text { least: 0 } => any_text(rng).into(),
            ValueShape::Text { .. } => format!("x{}", any_text(rng)).into(),
            ValueShape::LooseText => {
                let text = any_text(rng).into();
                one_of(rng, &[text, json!(80), json!(true)])
            }
            ValueShape::Words(words) | ValueShape::Spellings { usual: words, .. } => {
                words.get(rng.usize(0..=words.len())).map_or(json!(1), |word| json!(word))
            }
            ValueShape::Port => rng.u16(1..).into(),
            ValueShape::Integer { least } => {
                let below = least.saturating_sub(1);
                let numbers = [below, *least, 7, 30_000, 1 << 20, u64::MAX].map(Value::from);
                one_of(rng, &[&numbers[..], &[json!(-1), json!("x"), json!(null)]].concat())
            }
            ValueShape::List(item) => (0..rng.usize(0..4)).map(|_| any_value(rng, item)).collect(),
            ValueShape::ByName(value) => {
                (0..rng.usize(0..4)).map(|_| (any_text(rng), any_value(rng, value))).collect()
            }
            ValueShape::Object(object) => {
                let fields: Vec<_> =
                    fields_of(object.rows).filter(|it| it.is_required || rng.bool()).collect();
                fields.iter().map(|it| (it.name, any_value(rng, &it.shape))).collect()
            }
            ValueShape::Either(shapes) => {
                let shape = one_of(rng, shapes);
                any_value(rng, &shape)
            }
        }
    }

    /// A value of the shape, the default, null, or one that the shape alone does not lead to.
    fn any_value_of(rng: &mut Rng, field: &Field) -> Value {
        if rng.u8(0..4) != 0 {
            return any_value(rng, &field.shape);
        }
        let special = match field.name {
            "auth" => vec![json!({}), json!({"type": "oauth"})],
            "protocol" => vec![json!("2025-11-25")],
            "restart" => vec![json!({"delays": [250], "forever": true})],
            _ => vec![],
        };
        let values = special.into_iter().chain(field.default_value()).chain([Value::Null]);
        one_of(rng, &values.collect::<Vec<_>>())
    }

    /// Any of the declared fields; those that decide the transport fit together.
    fn any_definition(rng: &mut Rng) -> Value {
        let mut definition = if rng.bool() {
            json!({"command": format!("x{}", any_text(rng))})
        } else {
            let transports =
                [("http", "https://h/é"), ("sse", "http://h/"), ("ws", "wss://h/${X}")];
            let (kind, url) = one_of(rng, &transports);
            json!({"type": kind, "url": url})
        };
        for field in fields_of(ServerConfig::ROWS) {
            let decides_transport = ["type", "command", "url"].contains(&field.name);
            if !decides_transport && rng.u8(0..3) == 0 {
                definition[field.name] = any_value_of(rng, field);
            }
        }
        definition
    }

    #[test]
    fn reading_what_was_written_gives_the_same_config() {
        let mut rng = Rng::with_seed(7);
        let mut unwritten: HashSet<&str> = field_names().collect();
        for _ in 0..2000 {
            let definition = any_definition(&mut rng);
            let (first, _) = read(&definition);
            let canonical = first.to_value();
            let (second, _) = read(&canonical);
            assert!(first.identity_differences(&second).is_empty(), "{definition} → {canonical}");
            assert!(first.setting_differences(&second).is_empty(), "{definition} → {canonical}");
            assert!(first.view_differences(&second).is_empty(), "{definition} → {canonical}");
            assert_eq!(second.to_value(), canonical, "{definition}");
            assert_eq!(second.to_value().to_string(), canonical.to_string(), "the order");
            unwritten.retain(|name| canonical.get(name).is_none());
        }
        // `enabled`, `enabledTools` and `disabledTools` are written in their place, and `required` by `Declared`.
        assert_eq!(unwritten, HashSet::from(["disabled", "tools", REQUIRED]));
    }
}
