//! Owns `mcpool remove`.

use clap::Args;
use serde_json::json;

use super::display::short_path;
use super::edit_target::{DeclaringFile, EditTargetArgs, foreign_file_error};
use super::screen::Screen;
use super::{CommandResult, OK};
use crate::edit;

const EXAMPLES: &str = "\
Examples:
  mcpool remove time
  mcpool remove time --scope project
  mcpool remove time --file ~/.cursor/mcp.json

Without --file and --scope it is removed from the file that declares it, if that
is one of mcpool's own; files of other products are changed only when named.";

#[derive(Args)]
#[command(after_help = EXAMPLES, visible_alias = "rm")]
pub(super) struct Remove {
    /// The server
    name: String,
    #[command(flatten)]
    target: EditTargetArgs,
}

impl Remove {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let name = &self.name;
        let target = match self.target.declaring_file(name)? {
            DeclaringFile::Own(target) => target,
            DeclaringFile::Foreign(declared) => {
                return Err(foreign_file_error(name, &declared, "remove").into());
            }
        };
        let edited = edit::remove(&target, name)?;
        let path = edited.path.display().to_string();
        screen.document(&json!({"removed": name, "path": path, "warnings": edited.warnings}));
        screen.say(format!("Removed \"{name}\" from {}", short_path(&path)));
        screen.warnings(&edited.warnings);
        Ok(OK)
    }
}
