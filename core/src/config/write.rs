//! Owns the canonical form of what was read: canonical names in one order, defaults left out, secrets included.
//! Invariant: reading what was written gives the same config again.

use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::model::{Bounds, Definition, Delays, Document, KeepAlive as WrittenKeepAlive, Restart};
use super::validate::{
    CONNECT_TIMEOUT_MS, MAX_RESULT_CHARS, TOOL_TIMEOUT_MS, least_request_timeout,
};
use super::{
    Config, HealthProbe, InheritEnv, Isolate, KeepAlive, Limits, RestartPolicy, ServerConfig,
    Transport,
};
use crate::redact::Secret;

impl Config {
    /// The config in its canonical form, secrets included. Servers with errors are not in it.
    pub fn to_value(&self) -> Value {
        let usable = self.servers.iter().filter_map(|(name, declared)| {
            let server = declared.config.as_ref().ok()?;
            Some((name, server, declared.required))
        });
        let bare_env_names = usable.clone().count() > 0
            && usable.clone().all(|(_, server, _)| server.scope.bare_env_names);
        let mcp_servers = usable
            .map(|(name, server, required)| {
                let definition = Definition { required: said(required, false), ..server.written() };
                (name.clone(), Value::Object(without_empty(&definition)))
            })
            .collect();
        let bare_env_names = said(bare_env_names, false);
        let document = Document { mcp_servers, bare_env_names, ..Document::default() };
        let servers = serde_json::to_value(&document.mcp_servers).unwrap_or_default();
        let mut written = without_empty(&document);
        // It is what makes it a config, also when there are none.
        written.entry("mcpServers").or_insert(servers);
        Value::Object(written)
    }
}

impl ServerConfig {
    /// The definition in its canonical form, secrets included.
    pub fn to_value(&self) -> Value {
        Value::Object(without_empty(&self.written()))
    }

    fn written(&self) -> Definition {
        let mut written = Definition {
            auth: self.auth.as_ref().and_then(|auth| serde_json::from_str(auth.expose()).ok()),
            enabled: said(self.enabled, true),
            timeout: said(millis(self.timeout), CONNECT_TIMEOUT_MS),
            tool_timeout: said(millis(self.tool_timeout), TOOL_TIMEOUT_MS),
            request_timeout: said(
                millis(self.request_timeout),
                millis(least_request_timeout(self.tool_timeout)),
            ),
            inherit_env: said(self.inherit_env, InheritEnv::Safe).map(InheritEnv::name),
            requires_approval: said(self.requires_approval, true),
            lazy: said(self.lazy, false),
            shared: said(self.shared, true),
            isolate: said(self.isolate, Isolate::None).map(|_| "session"),
            restart: restart(&self.restart, self.shared),
            health_probe: match self.health_probe {
                HealthProbe::Auto => None,
                HealthProbe::Ping => Some("ping"),
                HealthProbe::ListTools => Some("listTools"),
            },
            ping_interval: self.ping_interval.map(millis),
            keep_alive: self.keep_alive.map(|keep_alive| match keep_alive {
                KeepAlive::For(time) => WrittenKeepAlive::Millis(millis(time)),
                KeepAlive::Always => WrittenKeepAlive::Always("always"),
            }),
            idle_shutdown: self.idle_shutdown.map(millis),
            max_concurrency: self.max_concurrency,
            max_result_chars: said(self.max_result_chars, MAX_RESULT_CHARS),
            protocol: self.protocol.clone(),
            enabled_tools: self.tools.enabled.clone(),
            disabled_tools: self.tools.disabled.clone(),
            limits: said(self.limits, Limits::default()).map(bounds),
            ..Definition::default()
        };
        match &self.transport {
            Transport::Stdio { command, args, env, env_file, cwd } => {
                written.command = Some(command.clone());
                written.args = args.clone();
                written.env = exposed(env);
                written.env_file = env_file.clone();
                written.cwd = cwd.clone();
            }
            Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) => {
                written.kind = said(self.transport.name(), "http");
                written.url = Some(remote.url.clone());
                written.headers = exposed(&remote.headers);
                written.env = exposed(&remote.env);
            }
        }
        written
    }
}

/// The value, if it is worth saying.
fn said<T: PartialEq>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn exposed(secrets: &IndexMap<String, Secret>) -> IndexMap<String, String> {
    secrets.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
}

fn restart(policy: &RestartPolicy, shared: bool) -> Option<Restart> {
    let default = RestartPolicy::preset(RestartPolicy::default_of(shared));
    let policy = Some(policy).filter(|policy| default.as_ref() != Some(policy))?;
    let preset = RestartPolicy::PRESETS
        .iter()
        .find(|name| RestartPolicy::preset(name).is_some_and(|preset| preset == *policy));
    Some(match preset {
        Some(name) => Restart::Preset(name),
        None => Restart::Custom(Delays {
            delays: policy.delays.iter().copied().map(millis).collect(),
            forever: policy.forever,
        }),
    })
}

fn bounds(limits: Limits) -> Bounds {
    let default = Limits::default();
    Bounds {
        message_bytes: said(limits.message_bytes, default.message_bytes),
        json_depth: said(limits.json_depth, default.json_depth),
        server_requests: said(limits.server_requests, default.server_requests),
        reply_bytes: said(limits.reply_bytes, default.reply_bytes),
        text_bytes: said(limits.text_bytes, default.text_bytes),
        tool_bytes: said(limits.tool_bytes, default.tool_bytes),
        tool_list_bytes: said(limits.tool_list_bytes, default.tool_list_bytes),
    }
}

fn without_empty(shape: &impl serde::Serialize) -> Map<String, Value> {
    let Ok(Value::Object(mut written)) = serde_json::to_value(shape) else { return Map::new() };
    written.retain(|key, value| match value {
        Value::Null => false,
        Value::Array(items) => key == "enabledTools" || !items.is_empty(),
        Value::Object(fields) => key == "auth" || !fields.is_empty(),
        _ => true,
    });
    written
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
