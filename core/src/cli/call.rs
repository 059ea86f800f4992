//! Owns `mcpool call`: calls one tool of one server and prints its result.

use std::io::Read;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, value_parser};
use serde_json::Value;
use serde_json::value::RawValue;

use super::advice::advised;
use super::connect::{connect_required, not_connected};
use super::pairs::{Pair, build_object};
use super::screen::Screen;
use super::sources::Sources;
use super::work::with_manager;
use super::{CliError, CommandResult, FAILED, OK, usage_error};
use crate::call::{Arguments, CallOptions};
use crate::manager::{Manager, ManagerOptions};

const EXAMPLES: &str = "\
Examples:
  mcpool call time get_current_time timezone=UTC
  mcpool call github search query=mcpool 'labels:=[\"bug\"]'
  mcpool call files write '{\"path\": \"a.txt\", \"text\": \"hi\"}'
  mcpool call time get_current_time --json '{\"timezone\": \"UTC\"}'
  generate | mcpool call -c mcp.json files write --args - --json

The tool's schema decides what key=value means: text for a string, JSON for
anything else; key:=json is always JSON. A word that begins with \"{\" is all
arguments in one. --json is about the answer: the result as the server wrote it.
Exit code 1 when the tool says that it failed; its words are on stdout then too.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Call {
    /// The server, as the config names it
    server: String,
    /// The tool, as the server names it
    tool: String,
    /// Arguments of the tool, or all of them as one JSON object
    #[arg(value_name = "KEY=VALUE", conflicts_with = "args")]
    words: Vec<CallArgument>,
    /// All arguments as one JSON object; "-" reads it from stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Give up after this many milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone)]
enum CallArgument {
    Pair(Pair),
    Object(String),
}

impl FromStr for CallArgument {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word.trim_start().starts_with('{') {
            return Ok(CallArgument::Object(word.to_owned()));
        }
        word.parse().map(CallArgument::Pair)
    }
}

/// The tool's arguments as given on the command line.
enum ToolArguments {
    Whole(Arguments),
    Pairs(Vec<Pair>),
}

impl Call {
    pub(super) fn run(mut self, screen: &mut Screen) -> CommandResult {
        let given = self.parse_arguments()?;
        let found = self.sources.find()?;
        found.check_name(&self.server)?;
        let (config, options) = (found.config.clone(), ManagerOptions::default().begin_auth(false));
        with_manager(config, options, screen, async |manager, screen| {
            let connected = connect_required(manager, &found.config, &self.server, screen).await;
            if let Err(error) = connected {
                return not_connected(&self.server, error, screen);
            }
            let arguments = match given {
                ToolArguments::Whole(arguments) => arguments,
                ToolArguments::Pairs(pairs) => self.typed_arguments(&pairs, manager)?,
            };
            let timeout = self.timeout.map(|ms| Duration::from_millis(ms.into()));
            let options = CallOptions { timeout, ..CallOptions::default() };
            let result = manager.call_tool(&self.server, &self.tool, arguments, options).await;
            let declared = found.config.servers.get(&self.server);
            let result = result.map_err(|error| advised(&self.server, declared, error))?;
            screen.document(&serde_json::from_str::<&RawValue>(result.json()).ok());
            screen.say_foreign(&result.text());
            Ok(if result.is_error() { FAILED } else { OK })
        })
    }

    fn parse_arguments(&mut self) -> Result<ToolArguments, CliError> {
        if let Some(text) = &self.args {
            return read_args_option(text).map(ToolArguments::Whole);
        }
        let mut pairs = Vec::new();
        let alone = self.words.len() == 1;
        for word in self.words.drain(..) {
            match word {
                CallArgument::Pair(pair) => pairs.push(pair),
                CallArgument::Object(text) if alone => {
                    return parse_object(text, "the arguments").map(ToolArguments::Whole);
                }
                CallArgument::Object(_) => {
                    let problem = "a JSON object has all arguments: nothing may stand beside it";
                    return Err(usage_error("call", problem));
                }
            }
        }
        Ok(ToolArguments::Pairs(pairs))
    }

    fn typed_arguments(&self, pairs: &[Pair], manager: &Manager) -> Result<Arguments, CliError> {
        let catalog = manager.get_tools();
        let mut tools = catalog.tools().iter().map(|tool| &tool.definition);
        let tool = tools.find(|of| of.server() == self.server && of.raw_name() == self.tool);
        // An unknown tool is reported by the call itself.
        let schema = tool.and_then(|tool| serde_json::from_str(&tool.input_schema()).ok());
        let json = build_object(pairs, &schema.unwrap_or(Value::Null))
            .map_err(|problem| usage_error("call", &problem))?;
        Ok(Arguments::from_json(json)?)
    }
}

/// Reads the value of `--args`.
fn read_args_option(text: &str) -> Result<Arguments, CliError> {
    let mut json = text.as_bytes().to_vec();
    if text == "-" {
        json.clear();
        std::io::stdin().lock().read_to_end(&mut json).map_err(|error| {
            usage_error("call", &format!("standard input cannot be read: {error}"))
        })?;
    }
    parse_object(json, "--args")
}

fn parse_object(json: impl Into<Vec<u8>>, named: &str) -> Result<Arguments, CliError> {
    Arguments::from_json(json.into())
        .map_err(|error| usage_error("call", &format!("{named}: {}", error.message())))
}
