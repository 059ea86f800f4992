//! Owns `mcpool enable` and `mcpool disable`. They edit the file that declares the server if it is mcpool's or was
//! named; otherwise mcpool's own file lists the name, so that no other product's file is touched.

use clap::Args;
use serde_json::json;

use super::display::short_path;
use super::edit_target::{DeclaringFile, EditTargetArgs};
use super::screen::Screen;
use super::{CommandResult, OK};
use crate::edit;

const ENABLE_EXAMPLES: &str = "\
Examples:
  mcpool enable time
  mcpool enable time --file mcp.json

A server of another product's file that was switched off by \"mcpool disable\" is
on again; what that file itself switches off stays off, unless it is named.";

const DISABLE_EXAMPLES: &str = "\
Examples:
  mcpool disable time
  mcpool disable time --file mcp.json

A server of another product's file is switched off for mcpool alone: its name goes
under \"disabledServers\" in mcpool's own file, the other file stays as it is.";

#[derive(Args)]
#[command(after_help = ENABLE_EXAMPLES)]
pub(super) struct Enable {
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Args)]
#[command(after_help = DISABLE_EXAMPLES)]
pub(super) struct Disable {
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Args)]
struct ServerArgs {
    /// The server
    name: String,
    #[command(flatten)]
    target: EditTargetArgs,
}

impl Enable {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let ServerArgs { name, target } = &self.server;
        let mut edited = match target.declaring_file(name)? {
            DeclaringFile::Own(file) => edit::enable(&file, name)?,
            DeclaringFile::Foreign(_) => edit::unhide(&target.user_file()?, name)?,
        };
        if target.selected()?.is_none() && target.is_disabled(name)? {
            // Our own file may disable a server that a project's file declares.
            edited = edit::unhide(&target.user_file()?, name)?;
            if target.is_disabled(name)? {
                return Err(target.disabled_elsewhere(name)?.into());
            }
        }
        let path = edited.path.display().to_string();
        screen.document(&json!({"enabled": name, "path": path, "warnings": edited.warnings}));
        screen.say(format!("Enabled \"{name}\" in {}", short_path(&path)));
        screen.warnings(&edited.warnings);
        Ok(OK)
    }
}

impl Disable {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let ServerArgs { name, target } = &self.server;
        let (edited, how) = match target.declaring_file(name)? {
            DeclaringFile::Own(file) => (edit::disable(&file, name)?, ""),
            DeclaringFile::Foreign(_) => {
                (edit::hide(&target.user_file()?, name)?, ", under \"disabledServers\"")
            }
        };
        let path = edited.path.display().to_string();
        screen.document(&json!({"disabled": name, "path": path, "warnings": edited.warnings}));
        screen.say(format!("Disabled \"{name}\" in {}{how}", short_path(&path)));
        screen.warnings(&edited.warnings);
        Ok(OK)
    }
}
