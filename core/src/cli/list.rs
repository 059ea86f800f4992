//! Owns `mcpool list`: prints the configured servers. Starts nothing.

use clap::Args;
use serde_json::json;

use super::display::{ServerRow, source_text};
use super::screen::Screen;
use super::sources::Sources;
use super::table::Cell;
use super::terminal::Tint;
use super::{CommandResult, OK};

const EXAMPLES: &str = "\
Examples:
  mcpool list
  mcpool list --config mcp.json
  mcpool list --json | jq -r '.servers[] | select(.state == \"on\") | .name'

Values that may be secret are shown as stars.";

#[derive(Args)]
#[command(after_help = EXAMPLES, visible_alias = "ls")]
pub(super) struct List {
    #[command(flatten)]
    sources: Sources,
}

impl List {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        let rows = ServerRow::all(&found.config);
        screen.document(&json!({"servers": rows, "warnings": found.config.warnings}));
        found.print_warnings(screen);
        if rows.is_empty() {
            found.print_no_servers(screen);
            return Ok(OK);
        }
        // With a named file, every server has the same source.
        let source =
            |row: &ServerRow<'_>| found.discovery.as_ref().map(|_| source_text(row.source));
        let cells = |row: &ServerRow<'_>| {
            vec![
                Cell::new(Tint::Bold, row.name),
                row.state.cell(),
                Cell::maybe(row.transport),
                Cell::maybe(source(row)),
                Cell::plain(row.command_or_url()),
            ]
        };
        let heads = ["SERVER", "STATE", "VIA", "SOURCE", "COMMAND OR URL"];
        screen.table("", &heads, rows.iter().map(cells).collect());
        Ok(OK)
    }
}
