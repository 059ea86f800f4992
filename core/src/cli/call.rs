//! Owns `mcpool call`: one tool of one server, and its answer.

use std::io::Read;
use std::time::Duration;

use clap::{Args, value_parser};
use serde_json::Value;
use serde_json::value::RawValue;

use super::config_file::ConfigFile;
use super::pairs::{Pair, object};
use super::screen::Screen;
use super::{Ended, FAILED, Failure, OK, misused, with_manager};
use crate::call::{Arguments, CallOptions};
use crate::manager::Manager;

const EXAMPLES: &str = "\
Examples:
  mcpool call -c mcp.json time get_current_time timezone=UTC
  mcpool call -c mcp.json github search query=mcpool 'labels:=[\"bug\"]'
  mcpool call -c mcp.json files write --args '{\"path\": \"a.txt\", \"text\": \"hi\"}'
  generate | mcpool call -c mcp.json files write --args - --json

The tool's schema decides what key=value means: text for a string, JSON for
anything else; key:=json is always JSON.
Exit code 1 when the tool says that it failed; its words are on stdout then too.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Call {
    #[command(flatten)]
    config: ConfigFile,
    /// The server, as the config names it
    server: String,
    /// The tool, as the server names it
    tool: String,
    /// Arguments of the tool
    #[arg(value_name = "KEY=VALUE", conflicts_with = "args")]
    pairs: Vec<Pair>,
    /// All arguments as one JSON object; "-" reads it from stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Give up after this many milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u32).range(1..))]
    timeout: Option<u32>,
}

impl Call {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        let config = self.config.read()?;
        let written = self.args.as_deref().map(read_object).transpose()?;
        with_manager(config, screen, async |manager, screen| {
            screen.waiting_for(&format!("connecting {} …", self.server));
            let connected = manager.connect(&self.server).await;
            screen.waiting_for("");
            connected?;
            let arguments = match written {
                Some(arguments) => arguments,
                None => self.typed_pairs(manager)?,
            };
            let timeout = self.timeout.map(|ms| Duration::from_millis(ms.into()));
            let options = CallOptions { timeout, ..CallOptions::default() };
            let result = manager.call_tool(&self.server, &self.tool, arguments, options).await?;
            screen.document(&serde_json::from_str::<&RawValue>(result.json()).ok());
            screen.say_foreign(&result.text());
            Ok(if result.is_error() { FAILED } else { OK })
        })
    }

    fn typed_pairs(&self, manager: &Manager) -> Result<Arguments, Failure> {
        let catalog = manager.get_tools();
        let mut tools = catalog.tools().iter().map(|tool| &tool.of);
        let tool = tools.find(|of| of.server() == self.server && of.raw_name() == self.tool);
        // Without the tool nothing is sent anyway, and the call says so.
        let schema = tool.and_then(|tool| serde_json::from_str(&tool.input_schema()).ok());
        let json = object(&self.pairs, &schema.unwrap_or(Value::Null))
            .map_err(|problem| misused("call", &problem))?;
        Ok(Arguments::from_json(json)?)
    }
}

/// The value of `--args`.
fn read_object(text: &str) -> Result<Arguments, Failure> {
    let mut json = text.as_bytes().to_vec();
    if text == "-" {
        json.clear();
        std::io::stdin()
            .lock()
            .read_to_end(&mut json)
            .map_err(|error| misused("call", &format!("standard input cannot be read: {error}")))?;
    }
    Arguments::from_json(json)
        .map_err(|error| misused("call", &format!("--args: {}", error.message())))
}
