//! Writes a config in its canonical form: canonical names in a fixed order, defaults left out, secrets included.
//! Invariant: reading the output gives the same config again.

use serde_json::{Map, Value};

use super::document::{BARE_ENV_NAMES, SERVERS};
use super::enabled::REQUIRED;
use super::field::fields_of;
use super::{Config, Declared, ServerConfig};

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
    fn to_value(&self) -> Option<Value> {
        let mut written = self.config.as_ref().ok()?.write();
        if self.required {
            written.insert(REQUIRED.to_owned(), true.into());
        }
        let names = fields_of(ServerConfig::ROWS).map(|field| field.name);
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

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use serde_json::json;

    use super::*;

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
        let one = json!({"timeout": 5, "env": {"B": "1", "A": "2"}, "command": "x", "auth": {"z": 1, "a": 2}});
        let text = r#"{"command":"x","env":{"B":"1","A":"2"},"auth":{"z":1,"a":2},"timeout":5}"#;
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

    fn any_texts(rng: &mut Rng) -> Value {
        (0..rng.usize(0..4)).map(|_| Value::from(any_text(rng))).collect()
    }

    fn any_table(rng: &mut Rng) -> Value {
        (0..rng.usize(0..4))
            .map(|_| (any_text(rng), Value::from(any_text(rng))))
            .collect::<Map<_, _>>()
            .into()
    }

    fn one_of(rng: &mut Rng, values: &[Value]) -> Value {
        values[rng.usize(0..values.len())].clone()
    }

    fn any_definition(rng: &mut Rng) -> Value {
        let mut definition = if rng.bool() {
            json!({"command": format!("x{}", any_text(rng)), "args": any_texts(rng), "env": any_table(rng),
                   "cwd": one_of(rng, &[json!(null), json!("/"), json!("")]),
                   "envFile": one_of(rng, &[json!(null), json!(".env")])})
        } else {
            let (kind, url) =
                [("http", "https://h/é"), ("sse", "http://h/"), ("ws", "wss://h/${X}")]
                    [rng.usize(0..3)];
            json!({"type": kind, "url": url, "headers": any_table(rng)})
        };
        let switch = [json!(true), json!(false), json!(null)];
        let time = [
            json!(1),
            json!(30_000),
            json!(60_000),
            json!(u64::MAX),
            json!(-1),
            json!("x"),
            json!(null),
        ];
        let settings: Vec<(&str, Value)> = vec![
            ("enabled", one_of(rng, &switch)),
            ("disabled", one_of(rng, &switch)),
            ("required", one_of(rng, &switch)),
            ("requiresApproval", one_of(rng, &switch)),
            ("lazy", one_of(rng, &switch)),
            ("shared", one_of(rng, &switch)),
            ("timeout", one_of(rng, &time)),
            ("toolTimeout", one_of(rng, &time)),
            ("requestTimeout", one_of(rng, &time)),
            ("pingInterval", one_of(rng, &time)),
            ("idleShutdown", one_of(rng, &time)),
            ("keepAlive", one_of(rng, &[json!(0), json!(7), json!("always"), json!("x")])),
            ("isolate", one_of(rng, &[json!("none"), json!("session"), json!(1)])),
            ("inheritEnv", one_of(rng, &[json!("safe"), json!("all"), json!("none")])),
            ("healthProbe", one_of(rng, &[json!("auto"), json!("ping"), json!("listTools")])),
            ("protocol", one_of(rng, &[json!("auto"), json!("2025-11-25"), json!("1")])),
            ("maxConcurrency", one_of(rng, &[json!(1), json!(0), json!(9)])),
            ("maxResultChars", one_of(rng, &[json!(1), json!(50_000), json!("x")])),
            ("enabledTools", any_texts(rng)),
            ("disabled_tools", any_texts(rng)),
            ("tools", one_of(rng, &[json!({"a": {"enabled": false}}), json!(["x"]), json!(null)])),
            (
                "auth",
                one_of(rng, &[json!({}), json!({"type": "oauth", "n": [1, null]}), json!(null)]),
            ),
            (
                "restart",
                one_of(
                    rng,
                    &[json!("never"), json!("bounded"), json!({"delays": [250], "forever": true})],
                ),
            ),
            (
                "limits",
                one_of(
                    rng,
                    &[
                        json!({"jsonDepth": 3}),
                        json!({"replyBytes": 1 << 20, "messageBytes": 5}),
                        json!({"textBytes": 5, "toolBytes": 6, "toolListBytes": 7}),
                    ],
                ),
            ),
        ];
        for (field, value) in settings {
            if rng.u8(0..3) == 0 {
                definition[field] = value;
            }
        }
        definition
    }

    #[test]
    fn reading_what_was_written_gives_the_same_config() {
        let mut rng = Rng::with_seed(7);
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
        }
    }
}
