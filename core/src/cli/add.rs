//! Owns `mcpool add`: turns arguments, or the answers of a person, into a definition in a config file. Leaves validation and
//! file edits to `config`.

use clap::Args;
use serde_json::{Map, Value, json};

use super::definition_args::DefinitionArgs;
use super::display::{self, short_path};
use super::edit_target::EditTargetArgs;
use super::screen::Screen;
use super::terminal::Tint;
use super::{CommandResult, FAILED, OK, usage_error};
use crate::config::Config;
use crate::edit;

mod dialog;

const EXAMPLES: &str = "\
Examples:
  mcpool add                                 asks for everything, and tests it
  mcpool add time -- uvx mcp-server-time
  mcpool add files --env LOG=debug -- npx -y @modelcontextprotocol/server-filesystem .
  mcpool add docs --url https://example.com/mcp --token '${DOCS_TOKEN}'
  mcpool add old --url https://example.com/sse --transport sse --header 'X-Team: core'
  mcpool add time --scope project -- uvx mcp-server-time

${NAME} is looked up when the server is connected, so the file need not hold secrets.
At a terminal, what is missing is asked for.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// The server's name: letters, digits, "_", "." and "-"
    name: Option<String>,
    #[command(flatten)]
    server: DefinitionArgs,
    /// Add it switched off
    #[arg(long)]
    disabled: bool,
    #[command(flatten)]
    target: EditTargetArgs,
}

impl Add {
    pub(super) fn run(mut self, screen: &mut Screen) -> CommandResult {
        let is_described = self.server.url.is_some() || !self.server.command.is_empty();
        let is_asked = (self.name.is_none() || !is_described) && dialog::is_possible(screen);
        if is_asked && !dialog::ask(&mut self, screen)? {
            screen.note(Tint::Dim, "Note:", "nothing was added");
            return Ok(FAILED);
        }
        let Some(name) = self.name.take() else {
            return Err(usage_error("add", "name the server: mcpool add NAME -- <command...>."));
        };
        let definition = self.definition().map_err(|problem| usage_error("add", &problem))?;
        let target = self.target.selected_or_user_file()?;
        let edited = edit::add(&target, &name, Value::Object(definition.clone()))?;
        let path = edited.path.display().to_string();
        let shown = canonical(&name, definition);
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
        screen.warnings(&edited.warnings);
        screen.note(Tint::Dim, "Next:", &self.target.next_step(&name, &shown, &target, &path));
        Ok(OK)
    }

    fn definition(&self) -> Result<Map<String, Value>, String> {
        let mut fields = self.server.definition()?;
        if self.disabled {
            fields.insert("enabled".to_owned(), json!(false));
        }
        Ok(fields)
    }
}

/// The definition in canonical form, redacted.
pub(super) fn canonical(name: &str, definition: Map<String, Value>) -> Value {
    let read = Config::from_value(json!({"mcpServers": {name: definition}})).ok();
    let config = read.and_then(|mut read| read.servers.shift_remove(name)?.config.ok());
    config.map_or(Value::Null, |config| display::definition(&config))
}
