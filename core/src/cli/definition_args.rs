//! Owns the arguments that describe a server, for `add` and `update`. Leaves the check of what they say to `config`.
//! Invariant: arguments that contradict each other are refused, none is ignored.

use clap::{Args, ValueEnum, value_parser};
use serde_json::{Map, Value, json};

const ENV: &str = "env";
const HEADERS: &str = "headers";
/// The fields of a program, which a server on the network has no use for.
const OF_PROGRAMS: [&str; 5] = ["command", "args", ENV, "cwd", "envFile"];
/// The fields of a server on the network, which a program has no use for.
const OF_NETWORK: [&str; 5] = ["type", "url", HEADERS, "headersHelper", "tls"];

#[derive(Args, Default)]
pub(super) struct DefinitionArgs {
    /// Reach it over the network
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// How it is reached; by default http for a URL, websocket for a ws:// URL
    #[arg(long, value_enum)]
    pub(super) transport: Option<TransportArg>,
    /// A header of each request; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(super) headers: Vec<String>,
    /// Sent as "Authorization: Bearer TOKEN"
    #[arg(long)]
    pub(super) token: Option<String>,
    /// A variable of the command; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// The directory that the command runs in
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<String>,
    /// Limit for connecting, in milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u32).range(1..))]
    pub(super) timeout: Option<u32>,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(super) enum TransportArg {
    Stdio,
    Http,
    Sse,
    #[value(alias = "ws")]
    Websocket,
}

impl TransportArg {
    pub(super) fn name(self) -> &'static str {
        match self {
            TransportArg::Stdio => "stdio",
            TransportArg::Http => "http",
            TransportArg::Sse => "sse",
            TransportArg::Websocket => "websocket",
        }
    }
}

impl DefinitionArgs {
    /// The definition of a new server, or what is wrong with the arguments.
    pub(super) fn definition(&self) -> Result<Map<String, Value>, String> {
        if self.url.is_none() && self.command.is_empty() && self.token.is_none() {
            return Err("Use either --url or -- <command...>.".to_owned());
        }
        let mut fields = self.changes(&Map::new())?;
        fields.retain(|_, value| !value.is_null());
        Ok(fields)
    }

    /// What the arguments change in `current`, a definition in canonical form; null removes a field.
    pub(super) fn changes(
        &self,
        current: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let mut fields = Map::new();
        match (&self.url, self.command.split_first()) {
            (Some(_), Some(_)) => {
                return Err("Use either --url or -- <command...>, not both.".to_owned());
            }
            (Some(url), None) => self.remote_fields(Some(url), current, &mut fields)?,
            (None, None) if current.contains_key("url") => {
                self.remote_fields(None, current, &mut fields)?;
            }
            (None, _) if self.token.is_some() => {
                return Err("--token requires --url (HTTP/SSE transport).".to_owned());
            }
            (None, program) => self.stdio_fields(program, current, &mut fields)?,
        }
        if let Some(timeout) = self.timeout {
            fields.insert("timeout".to_owned(), json!(timeout));
        }
        Ok(fields)
    }

    fn remote_fields(
        &self,
        url: Option<&String>,
        current: &Map<String, Value>,
        fields: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if !self.env.is_empty() || self.cwd.is_some() {
            return Err("--env and --cwd are for -- <command...>, not for --url.".to_owned());
        }
        if self.transport == Some(TransportArg::Stdio) {
            return Err("--transport stdio requires -- <command...>.".to_owned());
        }
        if !current.contains_key("url") {
            remove(fields, &OF_PROGRAMS);
        }
        let is_socket = url.is_some_and(|url| is_socket(url));
        let kind = match self.transport {
            Some(kind) => Some(kind),
            None if is_socket => Some(TransportArg::Websocket),
            None if current.contains_key("url") => None,
            None => Some(TransportArg::Http),
        };
        if let Some(kind) = kind {
            fields.insert("type".to_owned(), json!(kind.name()));
        }
        if let Some(url) = url {
            fields.insert("url".to_owned(), json!(url));
        }
        let mut headers = Map::new();
        for header in &self.headers {
            let pair = header.split_once(':').filter(|(name, _)| !name.trim().is_empty());
            let (name, value) = pair.ok_or("--header: write 'Name: value'.")?;
            headers.insert(name.trim().to_owned(), json!(value.trim()));
        }
        if let Some(token) = &self.token {
            let taken = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
            if taken {
                return Err("--token and --header Authorization say the same.".to_owned());
            }
            headers.insert("Authorization".to_owned(), json!(format!("Bearer {token}")));
        }
        merge(fields, HEADERS, headers, current, str::eq_ignore_ascii_case);
        Ok(())
    }

    fn stdio_fields(
        &self,
        program: Option<(&String, &[String])>,
        current: &Map<String, Value>,
        fields: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if !self.headers.is_empty() {
            return Err("--header requires --url (HTTP/SSE transport).".to_owned());
        }
        if self.transport.is_some_and(|kind| kind != TransportArg::Stdio) {
            return Err("--transport http, sse and websocket require --url.".to_owned());
        }
        if let Some((program, args)) = program {
            if current.contains_key("url") {
                remove(fields, &OF_NETWORK);
            }
            fields.insert("command".to_owned(), json!(program));
            let args = if args.is_empty() { Value::Null } else { json!(args) };
            fields.insert("args".to_owned(), args);
        }
        let mut env = Map::new();
        for pair in &self.env {
            let pair = pair.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) = pair.ok_or("--env: write NAME=value.")?;
            env.insert(name.to_owned(), json!(value));
        }
        merge(fields, ENV, env, current, |one, other| one == other);
        if let Some(cwd) = &self.cwd {
            fields.insert("cwd".to_owned(), json!(cwd));
        }
        Ok(())
    }
}

/// Whether the URL is that of a WebSocket.
pub(super) fn is_socket(url: &str) -> bool {
    ["ws://", "wss://"].iter().any(|scheme| url.starts_with(scheme))
}

fn remove(fields: &mut Map<String, Value>, names: &[&str]) {
    fields.extend(names.iter().map(|name| ((*name).to_owned(), Value::Null)));
}

/// Adds `entries` to the current ones of the field.
fn merge(
    fields: &mut Map<String, Value>,
    field: &str,
    entries: Map<String, Value>,
    current: &Map<String, Value>,
    is_same: impl Fn(&str, &str) -> bool,
) {
    if entries.is_empty() {
        return;
    }
    let mut all = current.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
    all.retain(|name, _| !entries.keys().any(|new| is_same(new, name)));
    all.extend(entries);
    fields.insert(field.to_owned(), Value::Object(all));
}
