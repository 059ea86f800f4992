//! Owns `mcpool schema`.

use clap::Args;

use super::screen::Screen;
use super::{CommandResult, OK};
use crate::config::schema;

const EXAMPLES: &str = "\
Examples:
  mcpool schema > mcpool.schema.json
  mcpool schema | jq '.properties | keys'

An editor checks a config file against it when the file says
\"$schema\": \"./mcpool.schema.json\".";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        screen.data(&schema());
        Ok(OK)
    }
}
