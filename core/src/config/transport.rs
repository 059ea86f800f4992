//! Declares, reads and writes how a server is reached: a program that is started, or an address that is dialled.
//! Finding the program and looking up the address is `resolve`'s work.
//! Invariant: `Debug` shows nothing that may be secret.

use std::fmt;

use indexmap::IndexMap;
use serde_json::{Map, Value};
use url::Url;

use super::field::{Field, FieldGroup};
use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;
use crate::redact::{self, Secret};
use crate::similar::did_you_mean;

/// How a server is reached. Printed without what may be secret.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum TransportConfig {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program, looked up on `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it alone.
        env: IndexMap<String, Secret>,
        /// A file of further `NAME=value` lines; `env` wins over it.
        env_file: Option<String>,
        /// Its working directory.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http(Remote),
    /// The older HTTP with server-sent events.
    Sse(Remote),
    /// WebSocket.
    WebSocket(Remote),
}

/// Address and headers of a server on the network. Printed without what may be secret.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Remote {
    /// Where it is, as written.
    pub url: String,
    /// Headers sent with each request.
    pub headers: IndexMap<String, Secret>,
    /// Variables for the references in its address and headers; they win over all others.
    pub env: IndexMap<String, Secret>,
}

impl TransportConfig {
    /// The name used in configs and in status.
    pub fn name(&self) -> &'static str {
        match self {
            TransportConfig::Stdio { .. } => STDIO,
            TransportConfig::Http(_) => HTTP,
            TransportConfig::Sse(_) => SSE,
            TransportConfig::WebSocket(_) => WEBSOCKET,
        }
    }

    /// Whether a program is started.
    pub(crate) fn starts_program(&self) -> bool {
        matches!(self, TransportConfig::Stdio { .. })
    }

    /// Whether each message is a request that can have headers of its own.
    pub(crate) fn takes_headers_per_call(&self) -> bool {
        matches!(self, TransportConfig::Http(_) | TransportConfig::Sse(_))
    }

    /// Address and headers of a server on the network.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match self {
            TransportConfig::Stdio { .. } => None,
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => Some(remote),
        }
    }

    pub(super) fn remote_mut(&mut self) -> Option<&mut Remote> {
        match self {
            TransportConfig::Stdio { .. } => None,
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => Some(remote),
        }
    }

    /// The server's own variables.
    pub(crate) fn env(&self) -> &IndexMap<String, Secret> {
        match self {
            TransportConfig::Stdio { env, .. } => env,
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => &remote.env,
        }
    }

    pub(super) fn env_mut(&mut self) -> &mut IndexMap<String, Secret> {
        match self {
            TransportConfig::Stdio { env, .. } => env,
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => &mut remote.env,
        }
    }

    /// The values of its headers and variables.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let headers = self.remote().into_iter().flat_map(|remote| remote.headers.values());
        headers.chain(self.env().values())
    }

    /// All other texts that may contain references.
    pub(crate) fn plain_texts(&self) -> Vec<&str> {
        match self {
            TransportConfig::Stdio { command, args, env: _, env_file, cwd } => {
                let texts = std::iter::once(command).chain(args).chain(env_file).chain(cwd);
                texts.map(String::as_str).collect()
            }
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => {
                vec![&remote.url]
            }
        }
    }
}

const STDIO: &str = "stdio";
const HTTP: &str = "http";
const SSE: &str = "sse";
const WEBSOCKET: &str = "websocket";

/// Every spelling of a transport that is in use, with its name.
const TYPES: &[(&str, &str)] = &[
    ("stdio", STDIO),
    ("local", STDIO),
    ("http", HTTP),
    ("streamable-http", HTTP),
    ("streamable_http", HTTP),
    ("streamableHttp", HTTP),
    ("remote", HTTP),
    ("url", HTTP),
    ("sse", SSE),
    ("ws", WEBSOCKET),
    ("websocket", WEBSOCKET),
];

/// The fields that decide what is started or dialled.
pub(super) struct TransportFields;

impl FieldGroup for TransportFields {
    type Value = TransportConfig;
    const FIELDS: &'static [Field] = &[
        Field::new(
            "type",
            ValueShape::Spellings {
                usual: &[STDIO, HTTP, SSE, WEBSOCKET],
                all: || TYPES.iter().map(|(spelling, _)| *spelling).collect(),
            },
            "How it is reached: `stdio` for a program, `http` (Streamable HTTP), `sse` (the older HTTP) or `websocket` \
             for an address. Without it, a `command` means `stdio` and a `url` means `http`.",
        ),
        Field::new(
            "command",
            ValueShape::Text { least: 1 },
            "The program to start, looked up on `PATH`.",
        ),
        Field::new("args", ValueShape::List(&ValueShape::LooseText), "Its arguments."),
        Field::new(
            "env",
            ValueShape::ByName(&ValueShape::LooseText),
            "Variables set for it alone.",
        ),
        Field::new(
            "envFile",
            ValueShape::TEXT,
            "A file of further `NAME=value` lines; `env` wins over it.",
        ),
        Field::new("cwd", ValueShape::TEXT, "Its working directory."),
        Field::new("url", ValueShape::Text { least: 1 }, "Its address."),
        Field::new(
            "headers",
            ValueShape::ByName(&ValueShape::LooseText),
            "Headers sent with each request.",
        ),
    ];

    fn read(reader: &mut FieldReader<'_>) -> Result<TransportConfig> {
        if reader.has("command") && reader.has("url") {
            return Err(reader.error(
                "both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both",
            ));
        }
        let name = match reader.string("type")? {
            Some(written) => match TYPES.iter().find(|(spelling, _)| *spelling == written) {
                Some((_, name)) => *name,
                None => {
                    let error = reader.error(&format!("unknown server type \"{written}\""));
                    let known = TYPES.iter().map(|(spelling, _)| *spelling);
                    return Err(match did_you_mean(&written, known) {
                        Some(meant) => error.with_hint(format!("did you mean \"{meant}\"?")),
                        None => error.with_hint("the types are stdio, http, sse and websocket"),
                    });
                }
            },
            None if reader.has("command") || !reader.has("url") => STDIO,
            None => HTTP,
        };
        match name {
            HTTP => Ok(TransportConfig::Http(remote(reader, name, &["http", "https"])?)),
            SSE => Ok(TransportConfig::Sse(remote(reader, name, &["http", "https"])?)),
            WEBSOCKET => Ok(TransportConfig::WebSocket(remote(reader, name, &["ws", "wss"])?)),
            _ => stdio(reader),
        }
    }

    fn write(transport: &TransportConfig, object: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        match transport {
            TransportConfig::Stdio { command, args, env, env_file, cwd } => {
                put("command", command.as_str().into());
                if !args.is_empty() {
                    put("args", args.as_slice().into());
                }
                put_secrets(&mut put, "env", env);
                for (key, path) in [("envFile", env_file), ("cwd", cwd)] {
                    path.iter().for_each(|path| put(key, path.as_str().into()));
                }
            }
            TransportConfig::Http(remote)
            | TransportConfig::Sse(remote)
            | TransportConfig::WebSocket(remote) => {
                if transport.name() != HTTP {
                    put("type", transport.name().into());
                }
                put_secrets(&mut put, "env", &remote.env);
                put("url", remote.url.as_str().into());
                put_secrets(&mut put, "headers", &remote.headers);
            }
        }
    }
}

fn put_secrets(put: &mut impl FnMut(&str, Value), key: &str, secrets: &IndexMap<String, Secret>) {
    if !secrets.is_empty() {
        let exposed = |(name, value): (&String, &Secret)| (name.clone(), value.expose().into());
        put(key, Value::Object(secrets.iter().map(exposed).collect()));
    }
}

fn stdio(reader: &mut FieldReader<'_>) -> Result<TransportConfig> {
    let Some(command) = reader.string("command")?.filter(|command| !command.is_empty()) else {
        return Err(reader.error("stdio server requires \"command\" field"));
    };
    Ok(TransportConfig::Stdio {
        command,
        args: reader.strings("args")?,
        env: reader.secrets("env")?,
        env_file: reader.string("envFile")?,
        cwd: reader.string("cwd")?,
    })
}

fn remote(reader: &mut FieldReader<'_>, kind: &str, schemes: &[&str]) -> Result<Remote> {
    let Some(url) = reader.string("url")?.filter(|url| !url.is_empty()) else {
        return Err(reader.error(&format!("{kind} server requires \"url\" field")));
    };
    // An address with references is checked once they are known.
    let usable = url.contains("${")
        || Url::parse(&url)
            .is_ok_and(|parsed| schemes.contains(&parsed.scheme()) && parsed.has_host());
    if !usable {
        return Err(reader.error(&format!("\"url\" must be a {} URL", schemes.join("/"))));
    }
    Ok(Remote { url, headers: reader.secrets("headers")?, env: reader.secrets("env")? })
}

impl fmt::Debug for TransportConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportConfig::Stdio { command, args, env, env_file, cwd } => f
                .debug_struct("Stdio")
                .field("command", &redact::text(command))
                .field("args", &redact::args(args))
                .field("env", env)
                .field("env_file", env_file)
                .field("cwd", cwd)
                .finish(),
            TransportConfig::Http(remote) => f.debug_tuple("Http").field(remote).finish(),
            TransportConfig::Sse(remote) => f.debug_tuple("Sse").field(remote).finish(),
            TransportConfig::WebSocket(remote) => f.debug_tuple("WebSocket").field(remote).finish(),
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("url", &redact::url(&self.url))
            .field("headers", &self.headers)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Config;

    #[test]
    fn no_definition_is_printed_with_its_secrets() {
        let config = Config::from_value(json!({"mcpServers": {
            "a": {"command": "x", "args": ["--key", "hunter2"], "env": {"A": "hunter2"}},
            "b": {"url": "https://me:hunter2@h/?token=hunter2", "headers": {"A": "hunter2"}},
        }}))
        .unwrap();
        let printed = format!("{config:?} {config:#?}");
        assert!(!printed.contains("hunter2") && printed.contains("--key"), "{printed}");
    }
}
