//! Owns the rules of a server definition and their wording.

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use serde_json::Value;
use url::Url;

use super::fields::Fields;
use super::{
    HealthProbe, InheritEnv, Isolate, KeepAlive, Limits, Remote, RestartPolicy, Scope,
    ServerConfig, ToolFilter, Transport,
};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;

pub(super) const CONNECT_TIMEOUT_MS: u64 = 30_000;
pub(super) const TOOL_TIMEOUT_MS: u64 = 60_000;
pub(crate) const MAX_RESULT_CHARS: usize = 50_000;
pub(super) const NAME_LIMIT: usize = 100;

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

/// What `type` may say, for the schema.
pub(super) fn known_types() -> Vec<Option<&'static str>> {
    TYPES.iter().map(|(name, _)| Some(*name)).chain([None]).collect()
}

/// The least time for a request, which includes a call.
pub(super) fn least_request_timeout(tool_timeout: Duration) -> Duration {
    let half_more = tool_timeout.saturating_add(tool_timeout / 2);
    half_more.max(tool_timeout.saturating_add(Duration::from_secs(1)))
}

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
    fields.warn_of_what_comes_later();
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
        request_timeout: request_timeout(&mut fields, tool_timeout),
        inherit_env: fields.choice(
            "inheritEnv",
            &[InheritEnv::Safe, InheritEnv::All, InheritEnv::None].map(|it| (it.name(), it)),
        ),
        requires_approval: fields.switch("requiresApproval", true),
        lazy: fields.switch("lazy", false),
        shared,
        isolate: fields
            .choice("isolate", &[("none", Isolate::None), ("session", Isolate::Session)]),
        restart: RestartPolicy::take(&mut fields, RestartPolicy::default_of(shared)),
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
        auth: auth(&mut fields)?,
        max_concurrency: fields.optional_count("maxConcurrency", "there is no bound"),
        max_result_chars: fields.count("maxResultChars", MAX_RESULT_CHARS),
        protocol: protocol(&mut fields),
        tools: ToolFilter::take(&mut fields)?,
        scope: Scope::default(),
    };
    fields.finish();
    Ok(config)
}

fn request_timeout(fields: &mut Fields<'_>, tool_timeout: Duration) -> Duration {
    let least = least_request_timeout(tool_timeout);
    let otherwise = format!("{} is used", least.as_millis());
    match fields.optional_millis("requestTimeout", &otherwise) {
        Some(written) if written < least => {
            let why = format!("leaves a call of toolTimeout no room; {otherwise}");
            fields.warn_of("requestTimeout", &why);
            least
        }
        Some(written) => written,
        None => least,
    }
}

fn auth(fields: &mut Fields<'_>) -> Result<Option<Secret>> {
    match fields.take("auth") {
        None => Ok(None),
        Some(Value::Object(auth)) => Ok(Some(Secret::new(Value::Object(auth).to_string()))),
        Some(_) => Err(fields.error("\"auth\" must be an object")),
    }
}

fn protocol(fields: &mut Fields<'_>) -> Option<String> {
    let known = ProtocolVersion::KNOWN_VERSIONS;
    let written = fields.take("protocol").filter(|written| written != "auto")?;
    let version = written.as_str().filter(|it| known.iter().any(|known| known.as_str() == *it));
    if version.is_none() {
        let versions: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
        let why = format!("must be auto or one of {}; auto is used", versions.join(", "));
        fields.warn_of("protocol", &why);
    }
    version.map(str::to_owned)
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
    // An address with references is checked once they are known.
    let usable = url.contains("${")
        || Url::parse(&url)
            .is_ok_and(|parsed| schemes.contains(&parsed.scheme()) && parsed.has_host());
    if !usable {
        return Err(fields.error(&format!("\"url\" must be a {} URL", schemes.join("/"))));
    }
    Ok(Remote { url, headers: fields.secrets("headers")?, env: fields.secrets("env")? })
}

#[cfg(test)]
mod tests;
