//! Owns the rules of a server definition and their wording.

use serde_json::Value;
use url::Url;

use super::fields::Fields;
use super::{InheritEnv, Remote, ServerConfig, Transport};
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
    let config = ServerConfig {
        transport,
        enabled,
        timeout,
        tool_timeout,
        inherit_env: fields.choice(
            "inheritEnv",
            &[("safe", InheritEnv::Safe), ("all", InheritEnv::All), ("none", InheritEnv::None)],
        ),
        requires_approval: fields.switch("requiresApproval", true),
    };
    fields.finish();
    Ok(config)
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
