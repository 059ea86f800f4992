//! Owns `mcpool tools`: what can be called, on which server.

use clap::Args;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::config_file::ConfigFile;
use super::connect::connect;
use super::screen::Screen;
use super::table::Cell;
use super::terminal::Tint;
use super::{Ended, FAILED, OK, with_manager};
use crate::catalog::{Tool, ToolState};
use crate::error::Error;

const EXAMPLES: &str = "\
Examples:
  mcpool tools --config mcp.json
  mcpool tools --config mcp.json --server github
  mcpool tools --config mcp.json --json | jq '.tools[].name'

With --json each tool also has its schemas and the name under which agents see it.
Exit code 1 when no server can be connected, or not the one asked for.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tools {
    #[command(flatten)]
    config: ConfigFile,
    /// Connect only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

impl Tools {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        with_manager(self.config.read()?, screen, async |manager, screen| {
            let connected = connect(manager, self.server.as_deref(), screen).await?;
            let catalog = manager.get_tools();
            screen.document(&Listing {
                tools: catalog.tools().iter().map(Listed::new).collect(),
                failed: &connected.failed,
                warnings: &manager.warnings(),
            });
            let mut tools: Vec<&Tool> = catalog.tools().iter().collect();
            tools.sort_by_key(|tool| (tool.of.server(), tool.of.raw_name()));
            let rows = tools.iter().map(|tool| {
                let server = Cell::plain(tool.of.server());
                let name = Cell::new(Tint::Bold, tool.of.raw_name());
                vec![server, name, Cell::plain(tool.of.description())]
            });
            if !tools.is_empty() {
                screen.table("", &["SERVER", "TOOL", "DESCRIPTION"], rows.collect());
            } else if connected.failed.is_empty() {
                screen.note(Tint::Dim, "Note:", "there are no tools");
            }
            let nobody_came = !connected.failed.is_empty() && !connected.has_any();
            Ok(if nobody_came || connected.misses_wanted { FAILED } else { OK })
        })
    }
}

#[derive(Serialize)]
struct Listing<'a> {
    tools: Vec<Listed<'a>>,
    failed: &'a IndexMap<String, Error>,
    warnings: &'a [String],
}

/// A tool for programs; its schemas as the server wrote them.
#[derive(Serialize)]
pub(super) struct Listed<'a> {
    name: &'a str,
    server: &'a str,
    raw_name: &'a str,
    title: Option<String>,
    description: String,
    input_schema: Option<Box<RawValue>>,
    output_schema: Option<&'a RawValue>,
    annotations: Option<&'a RawValue>,
    state: ToolState,
    requires_approval: bool,
    fingerprint: String,
}

impl<'a> Listed<'a> {
    pub(super) fn new(Tool { name, of, state, requires_approval }: &'a Tool) -> Self {
        let raw = |json: &'a str| serde_json::from_str(json).ok();
        Listed {
            name,
            server: of.server(),
            raw_name: of.raw_name(),
            title: of.title(),
            description: of.description(),
            input_schema: RawValue::from_string(of.input_schema()).ok(),
            output_schema: of.output_schema().and_then(raw),
            annotations: of.annotations().and_then(raw),
            state: *state,
            requires_approval: *requires_approval,
            fingerprint: of.fingerprint(),
        }
    }
}
