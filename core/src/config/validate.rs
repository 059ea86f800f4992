//! Owns the rules of a server definition and their wording.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::fields::Fields;
use super::{
    HealthProbe, InheritEnv, Isolate, KeepAlive, Limits, Remote, RestartPolicy, ServerConfig,
    Transport,
};
use crate::error::{Error, ErrorKind, Result};

const CONNECT_TIMEOUT_MS: u64 = 30_000;
const TOOL_TIMEOUT_MS: u64 = 60_000;
const NAME_LIMIT: usize = 100;

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

/// Every spelling of a transport that is in use.
const TYPES: &[(&str, Type)] = &[
    ("stdio", Type::Stdio),
    ("local", Type::Stdio),
    ("http", Type::Http),
    ("streamable-http", Type::Http),
    ("streamable_http", Type::Http),
    ("streamableHttp", Type::Http),
    ("remote", Type::Http),
    ("url", Type::Http),
    ("sse", Type::Sse),
    ("ws", Type::WebSocket),
    ("websocket", Type::WebSocket),
];

/// Whether `name` may name a server.
pub fn check_name(name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "Server name cannot be empty".to_owned()
    } else if name.chars().count() > NAME_LIMIT {
        format!("Server name is too long (max {NAME_LIMIT} characters)")
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
        format!("Server name \"{name}\" may only contain letters, digits, \"_\", \".\" and \"-\"")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::ConfigInvalid, problem).with_server(name))
}

/// Turns one definition into a config, or into that server's error.
pub(super) fn server(
    name: &str,
    definition: Value,
    warnings: &mut Vec<String>,
) -> Result<ServerConfig> {
    check_name(name)?;
    let Value::Object(object) = definition else {
        let problem = format!("Server \"{name}\": the definition must be an object");
        return Err(Error::new(ErrorKind::ConfigInvalid, problem).with_server(name));
    };
    let mut fields = Fields::new(name, object, warnings);
    let transport = transport(&mut fields)?;
    let enabled = fields.switch("enabled", true) && !fields.switch("disabled", false);
    let timeout = fields.millis("timeout", CONNECT_TIMEOUT_MS);
    let tool_timeout = fields.millis("toolTimeout", TOOL_TIMEOUT_MS);
    // Read by the config as a whole, which wants it of invalid servers too; only its type is checked here.
    fields.switch("required", false);
    let shared = fields.switch("shared", true);
    let config = ServerConfig {
        transport,
        enabled,
        timeout,
        tool_timeout,
        inherit_env: fields.choice(
            "inheritEnv",
            &[InheritEnv::Safe, InheritEnv::All, InheritEnv::None].map(|it| (it.name(), it)),
        ),
        requires_approval: fields.switch("requiresApproval", true),
        lazy: fields.switch("lazy", false),
        shared,
        isolate: fields
            .choice("isolate", &[("none", Isolate::None), ("session", Isolate::Session)]),
        restart: RestartPolicy::take(&mut fields, if shared { "relentless" } else { "once" }),
        health_probe: fields.choice(
            "healthProbe",
            &[
                ("auto", HealthProbe::Auto),
                ("ping", HealthProbe::Ping),
                ("listTools", HealthProbe::ListTools),
            ],
        ),
        ping_interval: fields.optional_millis("pingInterval", "it is off"),
        keep_alive: keep_alive(&mut fields),
        idle_shutdown: fields.optional_millis("idleShutdown", "it is off"),
        limits: Limits::take(&mut fields),
    };
    fields.finish();
    Ok(config)
}

fn keep_alive(fields: &mut Fields<'_>) -> Option<KeepAlive> {
    let written = fields.take("keepAlive")?;
    if written == "always" {
        return Some(KeepAlive::Always);
    }
    let millis = written.as_u64();
    if millis.is_none() {
        fields.warn_of("keepAlive", "must be a number of milliseconds or always; it is left out");
    }
    millis.map(|ms| KeepAlive::For(Duration::from_millis(ms)))
}

fn transport(fields: &mut Fields<'_>) -> Result<Transport> {
    if fields.has("command") && fields.has("url") {
        return Err(fields.error(
            "both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both",
        ));
    }
    let kind = match fields.string("type")? {
        Some(written) => match TYPES.iter().find(|(name, _)| *name == written) {
            Some((_, kind)) => *kind,
            None => return Err(fields.error(&format!("unknown server type \"{written}\""))),
        },
        None if fields.has("command") || !fields.has("url") => Type::Stdio,
        None => Type::Http,
    };
    match kind {
        Type::Stdio => stdio(fields),
        Type::Http => Ok(Transport::Http(remote(fields, "http", &["http", "https"])?)),
        Type::Sse => Ok(Transport::Sse(remote(fields, "sse", &["http", "https"])?)),
        Type::WebSocket => Ok(Transport::WebSocket(remote(fields, "websocket", &["ws", "wss"])?)),
    }
}

fn stdio(fields: &mut Fields<'_>) -> Result<Transport> {
    let Some(command) = fields.string("command")?.filter(|command| !command.is_empty()) else {
        return Err(fields.error("stdio server requires \"command\" field"));
    };
    Ok(Transport::Stdio {
        command,
        args: fields.strings("args")?,
        env: fields.secrets("env")?,
        env_file: fields.string("envFile")?,
        cwd: fields.string("cwd")?,
    })
}

fn remote(fields: &mut Fields<'_>, kind: &str, schemes: &[&str]) -> Result<Remote> {
    let Some(url) = fields.string("url")?.filter(|url| !url.is_empty()) else {
        return Err(fields.error(&format!("{kind} server requires \"url\" field")));
    };
    let usable = Url::parse(&url)
        .is_ok_and(|parsed| schemes.contains(&parsed.scheme()) && parsed.has_host());
    if !usable {
        return Err(fields.error(&format!("\"url\" must be a {} URL", schemes.join("/"))));
    }
    Ok(Remote { url, headers: fields.secrets("headers")? })
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use serde_json::json;

    fn problem(definition: Value) -> String {
        let error = server("n", definition, &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), "CONFIG_INVALID");
        error.message().to_owned()
    }

    #[test]
    fn structural_mistakes_have_the_contracts_texts() {
        assert_eq!(
            problem(json!({"command": "x", "url": "http://h"})),
            "Server \"n\": both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both"
        );
        assert_eq!(problem(json!({})), "Server \"n\": stdio server requires \"command\" field");
        for kind in ["http", "sse", "websocket"] {
            assert_eq!(
                problem(json!({"type": kind})),
                format!("Server \"n\": {kind} server requires \"url\" field")
            );
        }
        assert_eq!(
            problem(json!({"type": "x", "command": "c"})),
            "Server \"n\": unknown server type \"x\""
        );
        assert!(problem(json!({"url": "ftp://h/x"})).contains("http/https"));
        assert!(problem(json!({"type": "ws", "url": "http://h/x"})).contains("ws/wss"));
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(check_name("").unwrap_err().message(), "Server name cannot be empty");
        assert_eq!(
            check_name(&"a".repeat(101)).unwrap_err().message(),
            "Server name is too long (max 100 characters)"
        );
        assert_eq!(
            check_name("a b").unwrap_err().message(),
            "Server name \"a b\" may only contain letters, digits, \"_\", \".\" and \"-\""
        );
        check_name("A-z_0.9").unwrap();
    }

    #[test]
    fn a_wrong_switch_is_a_warning_and_the_default() {
        let config = Config::from_value(json!({"mcpServers": {
            "n": {"command": "x", "enabled": "yes", "timeout": "soon", "colour": 1}
        }}))
        .unwrap();
        let server = config.servers["n"].as_ref().unwrap();
        assert!(server.enabled);
        assert_eq!(server.timeout.as_millis(), 30_000);
        assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
    }

    #[test]
    fn settings_have_their_defaults() {
        let mut warnings = Vec::new();
        let server = server("n", json!({"command": "x", "restart": null}), &mut warnings).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(!server.lazy && server.shared);
        assert_eq!(server.isolate, Isolate::None);
        assert_eq!(server.health_probe, HealthProbe::Auto);
        assert_eq!((server.ping_interval, server.idle_shutdown), (None, None));
        assert_eq!(server.keep_alive, None);
        assert_eq!(server.limits, Limits::default());
    }

    #[test]
    fn settings_are_read_as_written() {
        let mut warnings = Vec::new();
        let definition = json!({
            "command": "x", "lazy": true, "shared": false, "isolate": "session", "healthProbe": "listTools",
            "pingInterval": 15_000, "keepAlive": 0, "idleShutdown": 60_000,
            "limits": {"messageBytes": 1000, "serverRequests": 1},
        });
        let server = server("n", definition, &mut warnings).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(server.lazy && !server.shared);
        assert_eq!(server.isolate, Isolate::Session);
        assert_eq!(server.health_probe, HealthProbe::ListTools);
        assert_eq!(server.ping_interval, Some(Duration::from_secs(15)));
        assert_eq!(server.keep_alive, Some(KeepAlive::For(Duration::ZERO)));
        assert_eq!(server.idle_shutdown, Some(Duration::from_secs(60)));
        let limits = Limits { message_bytes: 1000, server_requests: 1, ..Limits::default() };
        assert_eq!(server.limits, limits);
    }

    #[test]
    fn a_wrong_setting_is_a_warning_that_names_it_and_the_default() {
        let mistakes = [
            ("lazy", json!("yes")),
            ("shared", json!(0)),
            ("isolate", json!("process")),
            ("restart", json!(true)),
            ("healthProbe", json!("list_tools")),
            ("pingInterval", json!(0)),
            ("pingInterval", json!(-5)),
            ("keepAlive", json!("forever")),
            ("keepAlive", json!(-1)),
            ("idleShutdown", json!("10m")),
            ("limits", json!(7)),
            ("limits.messageBytes", json!({"messageBytes": 0})),
            ("limits.jsonDepth", json!({"jsonDepth": -1})),
            ("limits.serverRequests", json!({"serverRequests": 1.5})),
            ("limits.replyBytes", json!({"replyBytes": "1 MiB"})),
            ("limits.colour", json!({"colour": 1})),
        ];
        let plain = server("n", json!({"command": "x"}), &mut Vec::new()).unwrap();
        for (field, value) in mistakes {
            let mut definition = json!({"command": "x"});
            definition[field.split('.').next().unwrap()] = value;
            let mut warnings = Vec::new();
            let server = server("n", definition, &mut warnings).unwrap();
            assert_eq!(warnings.len(), 1, "{field}: {warnings:?}");
            assert!(
                warnings[0].starts_with(&format!("Server \"n\": \"{field}\" ")),
                "{warnings:?}"
            );
            assert!(plain.setting_differences(&server).is_empty(), "{field}");
            assert!(!server.lazy);
        }
    }

    #[test]
    fn one_servers_mistake_leaves_the_others() {
        let config = Config::from_json(
            r#"{"mcpServers": {"bad": 7, "good": {"command": "x", "args": ["-p", 80]}}}"#,
        )
        .unwrap();
        assert!(config.servers["bad"].is_err());
        assert!(config.servers["good"].is_ok());
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["bad", "good"]);
    }

    #[test]
    fn a_config_without_servers_is_an_error() {
        for text in ["[]", "{}", "{\"mcpServers\": []}", "nonsense"] {
            assert_eq!(Config::from_json(text).unwrap_err().code(), "CONFIG_INVALID");
        }
    }
}
