//! Owns what makes two definitions the same server: the identity, which decides what is started or dialled, and the
//! settings of the connection to it. What a manager decides for itself (`toolTimeout`, `requiresApproval`, `lazy`,
//! `enabled`, `required`) is in neither.
//! Invariant: order never matters where JSON has none, and a value left out equals its default.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ServerConfig, Transport};
use crate::redact::Secret;

const IDENTITY: &[&str] =
    &["type", "command", "args", "env", "envFile", "cwd", "url", "headers", "inheritEnv"];

impl ServerConfig {
    /// A hash of what is started or dialled, as written: nothing is looked up and no other setting counts.
    pub fn fingerprint(&self) -> String {
        let identity = serde_json::to_vec(&self.identity()).expect("text keys and JSON values");
        format!("{:x}", Sha256::digest(identity))
    }

    /// The fields, as named in JSON, in which `other` is another server.
    pub(crate) fn identity_differences(&self, other: &Self) -> Vec<&'static str> {
        let (ours, theirs) = (self.identity(), other.identity());
        IDENTITY.iter().copied().filter(|field| ours.get(field) != theirs.get(field)).collect()
    }

    /// The fields, as named in JSON, in which the connection to `other` is treated differently.
    pub(crate) fn setting_differences(&self, other: &Self) -> Vec<&'static str> {
        let same = [
            ("timeout", self.timeout == other.timeout),
            ("restart", self.restart == other.restart),
            ("healthProbe", self.health_probe == other.health_probe),
            ("pingInterval", self.ping_interval == other.ping_interval),
            ("keepAlive", self.keep_alive == other.keep_alive),
            ("idleShutdown", self.idle_shutdown == other.idle_shutdown),
            ("limits", self.limits == other.limits),
            ("shared", self.shared == other.shared),
            ("isolate", self.isolate == other.isolate),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
    }

    /// The fields, as named in JSON, in which a manager treats the server differently.
    pub(crate) fn view_differences(&self, other: &Self) -> Vec<&'static str> {
        let same = [
            ("toolTimeout", self.tool_timeout == other.tool_timeout),
            ("requiresApproval", self.requires_approval == other.requires_approval),
            ("lazy", self.lazy == other.lazy),
            ("enabled", self.enabled == other.enabled),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
    }

    /// What is empty is left out, so that a field added later leaves the fingerprints of today's definitions alone.
    fn identity(&self) -> BTreeMap<&'static str, Value> {
        let mut identity = BTreeMap::from([
            ("type", json!(self.transport.name())),
            ("inheritEnv", json!(self.inherit_env.name())),
        ]);
        match &self.transport {
            Transport::Stdio { command, args, env, env_file, cwd } => identity.extend([
                ("command", json!(command)),
                ("args", if args.is_empty() { Value::Null } else { json!(args) }),
                ("env", sorted(env)),
                ("envFile", json!(env_file)),
                ("cwd", json!(cwd)),
            ]),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) => {
                identity.extend([("url", json!(remote.url)), ("headers", sorted(&remote.headers))]);
            }
        }
        identity.retain(|_, value| !value.is_null());
        identity
    }
}

fn sorted(secrets: &IndexMap<String, Secret>) -> Value {
    let sorted: BTreeMap<&str, &str> =
        secrets.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    if sorted.is_empty() { Value::Null } else { json!(sorted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn server(definition: Value) -> ServerConfig {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        config.servers["n"].clone().unwrap()
    }

    fn with(mut definition: Value, field: &str, value: Value) -> ServerConfig {
        definition[field] = value;
        server(definition)
    }

    #[test]
    fn each_identity_field_is_another_server() {
        let stdio = json!({"command": "x", "args": ["a"], "env": {"A": "1"}});
        let changes = [
            ("command", json!("y")),
            ("args", json!(["a", "b"])),
            ("env", json!({"A": "2"})),
            ("envFile", json!(".env")),
            ("cwd", json!("/")),
            ("inheritEnv", json!("all")),
        ];
        let before = server(stdio.clone());
        for (field, value) in changes {
            let after = with(stdio.clone(), field, value);
            assert_eq!(before.identity_differences(&after), [field]);
            assert_ne!(before.fingerprint(), after.fingerprint(), "{field}");
            assert!(before.setting_differences(&after).is_empty(), "{field}");
        }
        let http = json!({"url": "http://h/"});
        let changes =
            [("url", json!("http://h/x")), ("headers", json!({"A": "1"})), ("type", json!("sse"))];
        let before = server(http.clone());
        for (field, value) in changes {
            let after = with(http.clone(), field, value);
            assert_eq!(before.identity_differences(&after), [field]);
            assert_ne!(before.fingerprint(), after.fingerprint(), "{field}");
        }
        assert_eq!(
            server(stdio).identity_differences(&server(http)),
            ["type", "command", "args", "env", "url"]
        );
    }

    #[test]
    fn each_setting_of_the_connection_is_named_and_leaves_the_identity_alone() {
        let before = server(json!({"command": "x", "restart": "bounded"}));
        let changes = [
            ("timeout", json!(1)),
            ("restart", json!("never")),
            ("healthProbe", json!("ping")),
            ("pingInterval", json!(1000)),
            ("keepAlive", json!("always")),
            ("idleShutdown", json!(1000)),
            ("limits", json!({"jsonDepth": 8})),
            ("shared", json!(false)),
            ("isolate", json!("session")),
        ];
        for (field, value) in changes {
            let after = with(json!({"command": "x", "restart": "bounded"}), field, value);
            assert_eq!(before.setting_differences(&after), [field]);
            assert!(before.identity_differences(&after).is_empty(), "{field}");
            assert_eq!(before.fingerprint(), after.fingerprint(), "{field}");
        }
    }

    #[test]
    fn a_managers_own_view_is_no_difference() {
        let before = server(json!({"command": "x"}));
        let after = server(json!({
            "command": "x", "toolTimeout": 5, "requiresApproval": false, "lazy": true, "enabled": false,
            "required": true,
        }));
        assert!(before.identity_differences(&after).is_empty());
        assert!(before.setting_differences(&after).is_empty());
        assert_eq!(before.fingerprint(), after.fingerprint());
    }

    #[test]
    fn order_spelling_and_written_defaults_do_not_matter() {
        let one =
            json!({"type": "stdio", "command": "x", "env": {"A": "1", "B": "2"}, "args": [80]});
        let other = json!({
            "env": {"B": "2", "A": "1"}, "args": ["80"], "command": "x", "type": "local", "inheritEnv": "safe",
        });
        let (one, other) = (server(one), server(other));
        assert!(one.identity_differences(&other).is_empty());
        assert_eq!(one.fingerprint(), other.fingerprint());
        let (bare, empty) =
            (json!({"command": "x"}), json!({"command": "x", "args": [], "env": {}}));
        assert_eq!(server(bare).fingerprint(), server(empty).fingerprint());
    }

    #[test]
    fn a_fingerprint_stays_the_same_from_release_to_release() {
        assert_eq!(
            server(json!({"command": "x"})).fingerprint(),
            format!(
                "{:x}",
                Sha256::digest(r#"{"command":"x","inheritEnv":"safe","type":"stdio"}"#)
            )
        );
    }

    #[test]
    fn where_one_value_ends_and_the_next_begins_matters() {
        let joined = server(json!({"command": "x", "args": ["a b"]}));
        let apart = server(json!({"command": "x", "args": ["a", "b"]}));
        assert_ne!(joined.fingerprint(), apart.fingerprint());
    }
}
