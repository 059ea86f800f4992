//! Owns `mcpool enable` and `mcpool disable`: in the file that declares the server if that is ours or was named, else
//! by its name in our own file, so that no other product's file is touched.

use clap::Args;
use serde_json::json;

use super::place::{Home, PlaceArgs};
use super::screen::Screen;
use super::shown::short;
use super::{Ended, OK};
use crate::config;

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
    which: Which,
}

#[derive(Args)]
#[command(after_help = DISABLE_EXAMPLES)]
pub(super) struct Disable {
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Which {
    /// The server
    name: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Enable {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        let Which { name, place } = &self.which;
        let mut edited = match place.home_of(name)? {
            Home::Ours(home) => config::enable(&home, name)?,
            Home::Foreign(_) => config::unhide(&place.own()?, name)?,
        };
        if place.chosen()?.is_none() && place.is_off(name)? {
            // Our own file may have switched off what a project's declares.
            edited = config::unhide(&place.own()?, name)?;
            if place.is_off(name)? {
                return Err(place.switched_off(name)?.into());
            }
        }
        let path = edited.path.display().to_string();
        screen.document(&json!({"enabled": name, "path": path, "warnings": edited.warnings}));
        screen.say(format!("Enabled \"{name}\" in {}", short(&path)));
        Ok(OK)
    }
}

impl Disable {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        let Which { name, place } = &self.which;
        let (edited, how) = match place.home_of(name)? {
            Home::Ours(home) => (config::disable(&home, name)?, ""),
            Home::Foreign(_) => (config::hide(&place.own()?, name)?, ", under \"disabledServers\""),
        };
        let path = edited.path.display().to_string();
        screen.document(&json!({"disabled": name, "path": path, "warnings": edited.warnings}));
        screen.say(format!("Disabled \"{name}\" in {}{how}", short(&path)));
        Ok(OK)
    }
}
