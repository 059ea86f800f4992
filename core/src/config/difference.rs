//! Compares definitions: the identity, which decides what is started or dialled, the settings of the connection to it, and
//! what a manager decides for itself. Which field belongs where is declared with the field (`server`).
//! The scope is no part of the fingerprint, but where values depend on it, two scopes are two servers.
//! Invariant: order never matters where JSON has none, and a value left out equals its default.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::field::Class;
use super::server::identity_fields;
use super::{AuthConfig, InheritEnv, Level, Scope, ScopeTrust, ServerConfig, TransportConfig};
use crate::host_env::{HostEnv, Platform};
use crate::redact::Secret;

impl ServerConfig {
    /// A hash of what is started or dialled, as written: nothing is resolved, and no other setting counts.
    pub fn fingerprint(&self) -> String {
        let identity = serde_json::to_vec(&self.identity()).expect("text keys and JSON values");
        format!("{:x}", Sha256::digest(identity))
    }

    /// The fingerprint under which its tools are cached. Each caller's identity has its own tools.
    pub(crate) fn cache_fingerprint(&self) -> String {
        match &self.scope.identity {
            Some(identity) => {
                let both = format!("{}\n{identity}", self.fingerprint());
                format!("{:x}", Sha256::digest(both))
            }
            None => self.fingerprint(),
        }
    }

    /// The fields, as named in JSON, in which `other` is another server.
    pub(crate) fn identity_differences(&self, other: &Self) -> Vec<&'static str> {
        let (ours, theirs) = (self.identity(), other.identity());
        let mut fields: Vec<_> = identity_fields()
            .map(|field| field.name)
            .filter(|name| ours.get(name) != theirs.get(name))
            .collect();
        if self.scope != other.scope && self.scope_in_use() != other.scope_in_use() {
            fields.push("scope");
        }
        fields
    }

    /// The fields, as named in JSON, in which the connection to `other` is treated differently.
    pub(crate) fn setting_differences(&self, other: &Self) -> Vec<&'static str> {
        self.differences(other, Class::Setting)
    }

    /// The fields, as named in JSON, in which a manager treats the server differently.
    pub(crate) fn view_differences(&self, other: &Self) -> Vec<&'static str> {
        self.differences(other, Class::View)
    }

    /// Whether a value of it is the output of a command.
    pub(crate) fn has_commands(&self) -> bool {
        let is_command = |value: &Secret| value.expose().starts_with('!');
        self.transport.secrets().any(is_command) || self.headers_helper.is_some()
    }

    /// The part of the scope that decides what is started or dialled. It is estimated from the texts, and includes too
    /// much rather than too little.
    fn scope_in_use(&self) -> Scope {
        let scope = &self.scope;
        let is_stdio = self.transport.starts_program();
        let tls_paths: Vec<&str> = match &self.tls {
            Some(tls) if !is_stdio => tls.paths().collect(),
            _ => Vec::new(),
        };
        let mut plain = self.transport.plain_texts();
        plain.extend(&tls_paths);
        plain.extend(self.auth.iter().flat_map(AuthConfig::texts));
        let entries: Vec<&str> = self.transport.secrets().map(Secret::expose).collect();
        let any = |text: &str| plain.iter().chain(&entries).any(|value| value.contains(text));
        let refers = any("${");
        let has_commands = self.has_commands();
        let has_names = scope.bare_env_names && entries.iter().any(|value| is_bare(value));
        let is_project = scope.level == Level::Project;
        let has_relative_paths = match &self.transport {
            TransportConfig::Stdio { command, env_file, cwd, .. } => {
                (Platform::current().is_path(command) && is_relative(command))
                    || env_file.iter().chain(cwd).any(|path| is_relative(path))
                    || (is_project && cwd.is_none())
            }
            _ => false,
        };
        let has_relative_tls = tls_paths.iter().any(|path| is_relative(path));
        let by_directory = has_relative_paths || has_commands || any("${file:");
        let by_host_env = refers
            || has_commands
            || has_names
            || plain.iter().any(|path| path.starts_with('~'))
            || (is_stdio && self.inherit_env != InheritEnv::None);
        // A project's remote server may read less, and without trust it may also reach less; it says less about logins.
        let reaches_less =
            !is_stdio && (refers || has_commands || has_names || scope.is_restricted());
        let by_level = reaches_less || self.auth.is_some();
        let has_env_file =
            matches!(&self.transport, TransportConfig::Stdio { env_file: Some(_), .. });
        let brings_files = has_env_file || !tls_paths.is_empty() || is_stdio && refers;
        let directory = scope.directory.clone().or_else(|| std::env::current_dir().ok());
        Scope {
            level: if is_project && by_level { Level::Project } else { Level::Explicit },
            workspace: scope
                .workspace
                .clone()
                .or_else(|| directory.clone())
                .filter(|_| any("${workspaceFolder")),
            file_directory: scope
                .file_directory
                .clone()
                .or_else(|| directory.clone())
                .filter(|_| has_relative_tls),
            directory: directory.filter(|_| by_directory),
            variables: scope.variables.clone().filter(|_| refers || has_names),
            bare_env_names: has_names,
            identity: scope.identity.clone(),
            host_env: match by_host_env {
                true => scope.host_env.clone(),
                false => HostEnv::process(),
            },
            trusted: match is_project && (by_level || brings_files) {
                true => scope.trusted.clone(),
                false => ScopeTrust::No,
            },
        }
    }

    /// Defaults are left out, so that a field added later does not change the fingerprints of existing definitions.
    fn identity(&self) -> BTreeMap<&'static str, Value> {
        let mut written = self.write();
        let mut identity: BTreeMap<_, _> = identity_fields()
            .filter_map(|field| Some((field.name, written.remove(field.name)?)))
            .collect();
        // These two have always been part of every fingerprint.
        identity.insert("type", self.transport.name().into());
        identity.insert("inheritEnv", self.inherit_env.name().into());
        identity.values_mut().for_each(Value::sort_all_objects);
        identity
    }
}

/// Whether the path may be relative to the scope's directory.
fn is_relative(path: &str) -> bool {
    let elsewhere = ["/", "~/", "${userHome}/", "${HOME}/", "${env:HOME}/"];
    !elsewhere.iter().any(|start| path.starts_with(start))
}

/// Whether the value could be the name of a variable.
fn is_bare(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Config;

    fn server(definition: Value) -> ServerConfig {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        config.servers["n"].config.clone().unwrap()
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
            ("timeout", json!(1000)),
            ("restart", json!("never")),
            ("healthProbe", json!("ping")),
            ("pingInterval", json!(1000)),
            ("keepAlive", json!("always")),
            ("idleShutdown", json!(1000)),
            ("limits", json!({"jsonDepth": 8})),
            ("shared", json!(false)),
            ("isolate", json!("session")),
            ("protocol", json!("2025-11-25")),
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
            "command": "x", "toolTimeout": 500, "requiresApproval": false, "lazy": true, "enabled": false,
            "required": true,
        }));
        assert!(before.identity_differences(&after).is_empty());
        assert!(before.setting_differences(&after).is_empty());
        assert_eq!(before.fingerprint(), after.fingerprint());
    }

    #[test]
    fn each_part_of_a_managers_view_is_named() {
        let read = |definition: Value| {
            let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
            config.servers["n"].config.clone().unwrap()
        };
        let before = read(json!({"command": "x"}));
        let changes = [
            ("requiresApproval", json!(false)),
            ("lazy", json!(true)),
            ("enabled", json!(false)),
            ("requestTimeout", json!(100_000)),
            ("maxResultChars", json!(1)),
            ("tools", json!({"a": {"enabled": false}})),
        ];
        for (field, value) in changes {
            let mut definition = json!({"command": "x"});
            definition[field] = value;
            let after = read(definition);
            assert_eq!(before.view_differences(&after), [field]);
            assert!(before.identity_differences(&after).is_empty(), "{field}");
            assert!(before.setting_differences(&after).is_empty(), "{field}");
        }
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

    #[test]
    fn another_scope_is_another_server_only_where_a_value_depends_on_it() {
        type ScopeChange = fn(&mut Scope);
        let elsewhere: ScopeChange = |scope| scope.directory = Some("/elsewhere".into());
        let file: ScopeChange = |scope| scope.file_directory = Some("/elsewhere".into());
        let variables: ScopeChange = |scope| scope.variables = Some("/v.env".into());
        let host_env: ScopeChange = |scope| {
            scope.host_env = HostEnv::new(Some(BTreeMap::new()), None, None);
        };
        let project: ScopeChange = |scope| scope.level = crate::config::Level::Project;
        let trusted: ScopeChange =
            |scope| (scope.level, scope.trusted) = (Level::Project, ScopeTrust::Always);
        let bare: ScopeChange = |scope| scope.bare_env_names = true;
        let stdio = json!({"command": "x"});
        let alone = json!({"command": "x", "inheritEnv": "none"});
        let refers = json!({"command": "x", "args": ["${A}"]});
        let url = json!({"url": "http://h/"});
        let header = json!({"url": "http://h/", "headers": {"A": "${A}"}});
        let command = json!({"url": "http://h/", "headers": {"A": "!id"}});
        let name = json!({"url": "http://h/", "headers": {"A": "TOKEN"}});
        let tls = |key: &str| json!({"url": "https://h/", "tls": {"cert": "/me.pem", "key": key}});
        let pinned = json!({"url": "https://h/", "auth": {"issuer": "https://i/"}});
        let given = json!({"command": "x", "auth": {"type": "oauth", "credentialId": "work"}});
        let cases = [
            (&pinned, trusted, true),
            (&given, trusted, true),
            (&url, trusted, false),
            (&tls("me.key"), elsewhere, true),
            (&tls("me.key"), file, true),
            (&tls("/me.key"), elsewhere, false),
            (&tls("/me.key"), file, false),
            (&json!({"command": "./x"}), file, false),
            (&tls("/me.key"), host_env, false),
            (&tls("/me.key"), project, true),
            (&tls("/me.key"), trusted, true),
            (&tls("/${ME}.key"), host_env, true),
            (&tls("/${ME}.key"), variables, true),
            (&tls("${workspaceFolder}/me.key"), elsewhere, true),
            (&tls("~/me.key"), elsewhere, false),
            (&tls("~/me.key"), host_env, true),
            (&json!({"command": "x", "cwd": "~/sub", "inheritEnv": "none"}), host_env, true),
            (&stdio, elsewhere, false),
            (&stdio, variables, false),
            (&stdio, host_env, true),
            (&stdio, bare, false),
            (&alone, host_env, false),
            (&refers, elsewhere, false),
            (&refers, variables, true),
            (&json!({"command": "./x"}), elsewhere, true),
            (&json!({"command": "x", "cwd": "sub"}), elsewhere, true),
            (&json!({"command": "x", "envFile": ".env"}), elsewhere, true),
            (&json!({"command": "x", "args": ["${workspaceFolder}"]}), elsewhere, true),
            (&json!({"command": "x", "cwd": "~/sub"}), elsewhere, false),
            (&stdio, project, true),
            (&json!({"command": "x", "cwd": "/"}), project, false),
            (&url, elsewhere, false),
            (&url, host_env, false),
            (&url, project, true),
            (&url, trusted, false),
            (&url, bare, false),
            (&header, elsewhere, false),
            (&header, host_env, true),
            (&header, project, true),
            (&header, trusted, true),
            (&command, project, true),
            (&command, elsewhere, true),
            (&name, project, true),
            (&name, trusted, false),
            (&name, bare, true),
        ];
        for (at, (definition, change, differs)) in cases.into_iter().enumerate() {
            let before = server(definition.clone());
            let mut after = before.clone();
            change(&mut after.scope);
            let differences = before.identity_differences(&after);
            assert_eq!(differences == ["scope"], differs, "{at}: {definition} {differences:?}");
            assert_eq!(before.fingerprint(), after.fingerprint());
        }
    }
}
