//! Owns `mcpool update`: changes fields of a server in a config file. Leaves validation and file edits to `config`.
//! Invariant: what the arguments do not name stays as it is.

use clap::Args;
use serde_json::{Map, Value, json};

use super::add::canonical;
use super::definition_args::DefinitionArgs;
use super::display::{self, short_path};
use super::edit_target::{DeclaringFile, EditTargetArgs, foreign_file_error};
use super::screen::Screen;
use super::setting::{Setting, unknown_field};
use super::terminal::Tint;
use super::{CliError, CommandResult, OK, usage_error};
use crate::config::is_field;
use crate::edit::{self, CurrentServer};
use crate::error::{Error, ErrorKind};

const EXAMPLES: &str = "\
Examples:
  mcpool update time -- uvx mcp-server-time --local-timezone UTC
  mcpool update files --env LOG=debug --unset env.TRACE
  mcpool update docs --url https://example.com/v2/mcp
  mcpool update docs --set toolTimeout=120000 --set restart=once --unset headers.X-Team
  mcpool update time --file ~/.cursor/mcp.json --timeout 60000

Variables and headers are added to those that are there. Without --file and --scope
the server is changed in the file that declares it, if that is one of mcpool's own;
files of other products are changed only when named.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Update {
    /// The server
    name: String,
    #[command(flatten)]
    server: DefinitionArgs,
    /// Set a field, as text or (FIELD:=JSON) as JSON; may be repeated
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<Setting>,
    /// Remove a field, a variable (env.NAME) or a header (headers.NAME); may be repeated
    #[arg(long, value_name = "FIELD")]
    unset: Vec<String>,
    #[command(flatten)]
    target: EditTargetArgs,
}

impl Update {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let name = &self.name;
        let target = match self.target.declaring_file(name)? {
            DeclaringFile::Own(target) => target,
            DeclaringFile::Foreign(declared) => {
                return Err(foreign_file_error(name, &declared, "update").into());
            }
        };
        let current = edit::current(&target, name)?;
        if let Some(current) = &current {
            self.check_unset(&current.written)?;
        }
        let current = self.definition(current)?;
        let changes = self.changes(&current)?;
        let edited = edit::update(&target, name, Value::Object(changes.clone()))?;
        let path = edited.path.display().to_string();
        let shown = canonical(name, changed(current.clone(), &changes));
        screen.document(&json!({
            "updated": name,
            "path": path,
            "definition": shown,
            "warnings": edited.warnings,
        }));
        screen.say(format!(
            "Updated \"{name}\" in {}: {}",
            short_path(&path),
            display::command_or_url(&shown)
        ));
        screen.warnings(&edited.warnings);
        let is_removed = |(_, value): &(&String, &Value)| value.is_null();
        let removed = changes.iter().filter(is_removed).map(|(field, _)| field.as_str());
        let removed: Vec<&str> = removed.filter(|field| current.contains_key(*field)).collect();
        if !removed.is_empty() {
            screen.note(Tint::Dim, "Removed:", &removed.join(", "));
        }
        if self.server.url.is_some() && current.contains_key("headers") {
            let text = "its headers are kept, and are sent to the new address";
            screen.note(Tint::Yellow, "Note:", text);
        }
        screen.note(Tint::Dim, "Next:", &self.target.next_step(name, &shown, &target, &path));
        Ok(OK)
    }

    /// The definition in canonical form, as it is in the file, with its references. Empty if it is invalid.
    fn definition(&self, current: Option<CurrentServer>) -> Result<Map<String, Value>, CliError> {
        match current.map(|current| current.definition) {
            Some(Ok(fields)) => Ok(fields),
            // What is there cannot be read, so nothing can be added to it.
            Some(Err(error)) if self.adds_entries() => Err(error.into()),
            _ => Ok(Map::new()),
        }
    }

    fn adds_entries(&self) -> bool {
        let DefinitionArgs { headers, token, env, .. } = &self.server;
        let of_entry = |field: &String| field.contains('.');
        !headers.is_empty() || token.is_some() || !env.is_empty() || self.unset.iter().any(of_entry)
    }

    fn changes(&self, current: &Map<String, Value>) -> Result<Map<String, Value>, CliError> {
        let wrong = |problem: String| usage_error("update", &problem);
        let mut changes = self.server.changes(current).map_err(wrong)?;
        for setting in &self.set {
            let field = setting.field().map_err(wrong)?.to_owned();
            changes.insert(field, setting.value().map_err(wrong)?);
        }
        for name in &self.unset {
            self.remove(name, current, &mut changes)?;
        }
        if changes.is_empty() {
            return Err(wrong("say what to change.".to_owned()));
        }
        Ok(changes)
    }

    /// An error for a field that neither we nor the entry know.
    fn check_unset(&self, written: &Map<String, Value>) -> Result<(), CliError> {
        let mut names = self.unset.iter().filter(|name| !name.contains('.'));
        match names.find(|name| !is_field(name) && !written.contains_key(*name)) {
            Some(name) => Err(usage_error("update", &unknown_field(name))),
            None => Ok(()),
        }
    }

    fn remove(
        &self,
        name: &str,
        current: &Map<String, Value>,
        changes: &mut Map<String, Value>,
    ) -> Result<(), CliError> {
        let Some((field, entry)) = name.split_once('.') else {
            changes.insert(name.to_owned(), Value::Null);
            return Ok(());
        };
        let now = changes.get(field).or_else(|| current.get(field));
        let mut entries = now.and_then(Value::as_object).cloned().unwrap_or_default();
        if entries.shift_remove(entry).is_none() {
            let text = format!("Server \"{}\" has no \"{entry}\" in \"{field}\"", self.name);
            let error = Error::new(ErrorKind::ConfigInvalid, text);
            return Err(error.naming_server(&self.name).into());
        }
        let left = if entries.is_empty() { Value::Null } else { Value::Object(entries) };
        changes.insert(field.to_owned(), left);
        Ok(())
    }
}

fn changed(mut definition: Map<String, Value>, changes: &Map<String, Value>) -> Map<String, Value> {
    for (field, value) in changes {
        match value {
            Value::Null => definition.shift_remove(field),
            value => definition.insert(field.clone(), value.clone()),
        };
    }
    definition
}
