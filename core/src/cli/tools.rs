//! Owns `mcpool tools`: lists the tools of the connected servers.

use std::time::Duration;

use clap::Args;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::CommandResult;
use super::connect::{Connected, connect};
use super::screen::Screen;
use super::sources::Sources;
use super::status::NO_GATE;
use super::table::Cell;
use super::terminal::Tint;
use super::work::{with_manager, without_restarts};
use crate::catalog::{Catalog, Tool, ToolState};
use crate::error::Error;
use crate::manager::ManagerOptions;

/// A person waits for this list, and most of it is cached.
const SHORT_GATE: Duration = Duration::from_millis(150);

const EXAMPLES: &str = "\
Examples:
  mcpool tools
  mcpool tools github
  mcpool tools --config mcp.json --json | jq '.tools[].name'
  mcpool tools --openai > tools.json
  mcpool tools --search 'who changed this file last'

Of a server that takes longer than a moment, the tools that it had last time are
shown; --fresh waits for it.
With --json each tool also has its schemas and the name under which agents see it.
Exit code 1 when a server cannot be connected; with --partial, only when none can,
or not the one asked for, or not one that is required. A server that waits for
\"mcpool trust\" is no failure.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tools {
    /// Connect only this server
    server: Option<String>,
    /// Print the list that OpenAI's API takes as "tools"
    #[arg(long, conflicts_with = "anthropic")]
    openai: bool,
    /// Print the list that Anthropic's API takes as "tools"
    #[arg(long)]
    anthropic: bool,
    /// Show only the tools that serve this need best, best first
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// How many tools --search shows at most
    #[arg(long, value_name = "N", default_value_t = 5, requires = "search")]
    top: usize,
    /// Wait for every server, whatever is remembered of it
    #[arg(long)]
    fresh: bool,
    /// Exit with 0 although some servers failed
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Tools {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        let config = without_restarts(found.config.clone());
        let default = ManagerOptions::default().begin_auth(false);
        let gate = if self.fresh { NO_GATE } else { SHORT_GATE };
        with_manager(config, ManagerOptions { gate, ..default }, screen, async |manager, screen| {
            let connected = connect(manager, &found, self.server.as_deref(), screen).await?;
            let catalog = manager.get_tools();
            let tools = self.selected(&catalog);
            if self.openai {
                screen.data(&map_tools(&tools, OpenAi::new));
            } else if self.anthropic {
                screen.data(&map_tools(&tools, Anthropic::new));
            } else {
                screen.document(&ToolsDocument {
                    tools: map_tools(&tools, ToolJson::new),
                    failed: &connected.failed,
                    blocked: &connected.blocked,
                    warnings: &manager.warnings(),
                });
                if found.config.servers.is_empty() {
                    found.print_no_servers(screen);
                } else {
                    print_tools(
                        &self.sorted_for_people(tools),
                        self.empty_note(),
                        &connected,
                        screen,
                    );
                }
            }
            connected.print_summary(screen);
            Ok(connected.exit_code(self.partial))
        })
    }

    /// The tools to list: all by name, or the search results, best first.
    fn selected<'a>(&self, catalog: &'a Catalog) -> Vec<&'a Tool> {
        match &self.search {
            Some(words) => {
                let found = catalog.search(words, self.top).into_iter();
                found.map(|place| &catalog.tools()[place]).collect()
            }
            None => catalog.tools().iter().collect(),
        }
    }

    fn empty_note(&self) -> &'static str {
        match self.search {
            Some(_) => "no tool has a word of that",
            None => "there are no tools",
        }
    }

    /// Sorted by server for people, unless search results keep their rank.
    fn sorted_for_people<'a>(&self, mut tools: Vec<&'a Tool>) -> Vec<&'a Tool> {
        if self.search.is_none() {
            tools.sort_by_key(|tool| (tool.definition.server(), tool.definition.raw_name()));
        }
        tools
    }
}

fn print_tools(tools: &[&Tool], empty_note: &str, connected: &Connected, screen: &mut Screen) {
    let rows = tools.iter().map(|tool| {
        let server = Cell::plain(tool.definition.server());
        let name = Cell::new(Tint::Bold, tool.definition.raw_name());
        vec![server, name, Cell::plain(tool.definition.description())]
    });
    if !tools.is_empty() {
        screen.table("", &["SERVER", "TOOL", "DESCRIPTION"], rows.collect());
    } else {
        screen.note(Tint::Dim, "Note:", empty_note);
    }
    if !connected.deferred.is_empty() {
        let text = format!("remembered from last time: {}", connected.deferred.join(", "));
        screen.note(Tint::Dim, "Note:", &text);
    }
}

fn map_tools<'a, T>(tools: &[&'a Tool], shape: impl Fn(&'a Tool) -> T) -> Vec<T> {
    tools.iter().copied().map(shape).collect()
}

/// A tool as OpenAI's chat API takes it.
#[derive(Serialize)]
struct OpenAi<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: String,
    parameters: Option<Box<RawValue>>,
}

impl<'a> OpenAi<'a> {
    fn new(tool: &'a Tool) -> Self {
        let function = Function {
            name: &tool.name,
            description: tool.definition.description(),
            parameters: RawValue::from_string(tool.definition.input_schema()).ok(),
        };
        OpenAi { r#type: "function", function }
    }
}

/// A tool as Anthropic's messages API takes it.
#[derive(Serialize)]
struct Anthropic<'a> {
    name: &'a str,
    description: String,
    input_schema: Option<Box<RawValue>>,
}

impl<'a> Anthropic<'a> {
    fn new(tool: &'a Tool) -> Self {
        Anthropic {
            name: &tool.name,
            description: tool.definition.description(),
            input_schema: RawValue::from_string(tool.definition.input_schema()).ok(),
        }
    }
}

#[derive(Serialize)]
struct ToolsDocument<'a> {
    tools: Vec<ToolJson<'a>>,
    failed: &'a IndexMap<String, Error>,
    blocked: &'a IndexMap<String, Error>,
    warnings: &'a [String],
}

/// A tool as JSON; its schemas are exactly as the server sent them.
#[derive(Serialize)]
pub(super) struct ToolJson<'a> {
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

impl<'a> ToolJson<'a> {
    pub(super) fn new(Tool { name, definition, state, requires_approval, .. }: &'a Tool) -> Self {
        let raw = |json: &'a str| serde_json::from_str(json).ok();
        ToolJson {
            name,
            server: definition.server(),
            raw_name: definition.raw_name(),
            title: definition.title(),
            description: definition.description(),
            input_schema: RawValue::from_string(definition.input_schema()).ok(),
            output_schema: definition.output_schema().and_then(raw),
            annotations: definition.annotations().and_then(raw),
            state: *state,
            requires_approval: *requires_approval,
            fingerprint: definition.fingerprint(),
        }
    }
}
