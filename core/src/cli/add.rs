//! Owns `mcpool add`: turns arguments into a definition in a config file. Leaves validation and file edits to `config`.

use clap::{Args, ValueEnum, value_parser};
use serde_json::{Map, Value, json};

use super::display::{self, quoted_path, short_path};
use super::edit_target::EditTargetArgs;
use super::screen::Screen;
use super::terminal::Tint;
use super::{CommandResult, OK, usage_error};
use crate::config::{self, Config, EditScope};
use crate::redact;
use crate::shell;

const EXAMPLES: &str = "\
Examples:
  mcpool add time -- uvx mcp-server-time
  mcpool add files --env LOG=debug -- npx -y @modelcontextprotocol/server-filesystem .
  mcpool add docs --url https://example.com/mcp --token '${DOCS_TOKEN}'
  mcpool add old --url https://example.com/sse --transport sse --header 'X-Team: core'
  mcpool add time --scope project -- uvx mcp-server-time

${NAME} is looked up when the server is connected, so the file need not hold secrets.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// The server's name: letters, digits, "_", "." and "-"
    name: String,
    /// Reach it over the network
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How it is reached; by default http for a URL, websocket for a ws:// URL
    #[arg(long, value_enum)]
    transport: Option<TransportArg>,
    /// A header of each request; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Sent as "Authorization: Bearer TOKEN"
    #[arg(long)]
    token: Option<String>,
    /// A variable of the command; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// The directory that the command runs in
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Limit for connecting, in milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Add it switched off
    #[arg(long)]
    disabled: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    target: EditTargetArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TransportArg {
    Stdio,
    Http,
    Sse,
    #[value(alias = "ws")]
    Websocket,
}

impl Add {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let definition = self.definition().map_err(|problem| usage_error("add", &problem))?;
        let target = self.target.selected_or_user_file()?;
        let edited = config::add(&target, &self.name, definition.clone())?;
        let (name, path) = (&self.name, edited.path.display().to_string());
        let shown = canonical(name, definition);
        screen.document(&json!({
            "added": name,
            "path": path,
            "definition": shown,
            "warnings": edited.warnings,
        }));
        screen.say(format!(
            "Added \"{name}\" to {}: {}",
            short_path(&path),
            display::command_or_url(&shown)
        ));
        for warning in &edited.warnings {
            screen.note(Tint::Yellow, "Warning:", warning);
        }
        let project = target.file.is_none() && target.scope == EditScope::Project;
        let next = match self.url {
            None if project => format!("mcpool trust {}", quoted_path(&path)),
            _ => match &target.file {
                // Discovery does not read a file that was named explicitly.
                Some(_) => shell::mcpool("test", name, &format!("--config {}", quoted_path(&path))),
                None => shell::mcpool("test", name, ""),
            },
        };
        screen.note(Tint::Dim, "Next:", &next);
        Ok(OK)
    }

    /// Builds the definition from the arguments, or says what is wrong with them.
    fn definition(&self) -> Result<Value, String> {
        let mut fields = Map::new();
        match (&self.url, self.command.split_first()) {
            (Some(_), Some(_)) => {
                return Err("Use either --url or -- <command...>, not both.".to_owned());
            }
            (Some(url), None) => self.remote_fields(url, &mut fields)?,
            (None, _) if self.token.is_some() => {
                return Err("--token requires --url (HTTP/SSE transport).".to_owned());
            }
            (None, None) => return Err("Use either --url or -- <command...>.".to_owned()),
            (None, Some((program, args))) => self.stdio_fields(program, args, &mut fields)?,
        }
        if let Some(timeout) = self.timeout {
            fields.insert("timeout".to_owned(), json!(timeout));
        }
        if self.disabled {
            fields.insert("enabled".to_owned(), json!(false));
        }
        Ok(Value::Object(fields))
    }

    fn remote_fields(&self, url: &str, fields: &mut Map<String, Value>) -> Result<(), String> {
        if !self.env.is_empty() || self.cwd.is_some() {
            return Err("--env and --cwd are for -- <command...>, not for --url.".to_owned());
        }
        let socket = ["ws://", "wss://"].iter().any(|scheme| url.starts_with(scheme));
        let kind = match self.transport {
            Some(TransportArg::Stdio) => {
                return Err("--transport stdio requires -- <command...>.".to_owned());
            }
            Some(TransportArg::Sse) => "sse",
            Some(TransportArg::Websocket) => "websocket",
            None if socket => "websocket",
            Some(TransportArg::Http) | None => "http",
        };
        let mut headers = Map::new();
        for header in &self.headers {
            let (name, value) = header.split_once(':').ok_or("--header: write 'Name: value'.")?;
            headers.insert(name.trim().to_owned(), json!(value.trim()));
        }
        if let Some(token) = &self.token {
            let taken = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
            if taken {
                return Err("--token and --header Authorization say the same.".to_owned());
            }
            headers.insert("Authorization".to_owned(), json!(format!("Bearer {token}")));
        }
        fields.extend([("type".to_owned(), json!(kind)), ("url".to_owned(), json!(url))]);
        if !headers.is_empty() {
            fields.insert("headers".to_owned(), Value::Object(headers));
        }
        Ok(())
    }

    fn stdio_fields(
        &self,
        program: &str,
        args: &[String],
        fields: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if !self.headers.is_empty() {
            return Err("--header requires --url (HTTP/SSE transport).".to_owned());
        }
        if self.transport.is_some_and(|kind| kind != TransportArg::Stdio) {
            return Err("--transport http, sse and websocket require --url.".to_owned());
        }
        fields.insert("command".to_owned(), json!(program));
        if !args.is_empty() {
            fields.insert("args".to_owned(), json!(args));
        }
        let mut env = Map::new();
        for pair in &self.env {
            let (name, value) = pair.split_once('=').ok_or("--env: write NAME=value.")?;
            env.insert(name.to_owned(), json!(value));
        }
        if !env.is_empty() {
            fields.insert("env".to_owned(), Value::Object(env));
        }
        if let Some(cwd) = &self.cwd {
            fields.insert("cwd".to_owned(), json!(cwd));
        }
        Ok(())
    }
}

/// The definition in canonical form, redacted.
fn canonical(name: &str, definition: Value) -> Value {
    let read = Config::from_value(json!({"mcpServers": {name: definition}})).ok();
    let config = read.and_then(|mut read| read.servers.shift_remove(name)?.config.ok());
    config.map_or(Value::Null, |config| redact::definition(config.to_value()))
}
