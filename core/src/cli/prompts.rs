//! Owns `mcpool prompts`: lists the prompts of the connected servers.

use clap::Args;
use serde_json::{Map, Value};

use super::CommandResult;
use super::listing::{Answers, Listing, with_servers};
use super::screen::Screen;
use super::table::Cell;
use super::terminal::Tint;
use crate::manager::Manager;
use crate::prompt::{Prompt, PromptArgument};

const EXAMPLES: &str = "\
Examples:
  mcpool prompts
  mcpool prompts demo
  mcpool prompts --config mcp.json --json | jq -r '.prompts[].name'

\"mcpool prompt SERVER PROMPT KEY=VALUE\" fills one of them in. Arguments in
brackets may be left out.
Servers without prompts are left out. Exit code 1 when a server cannot be
connected or asked; with --partial, only when none can, or not the one asked for,
or not one that is required. A server that waits for \"mcpool trust\" is no failure.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Prompts {
    #[command(flatten)]
    listing: Listing,
}

impl Prompts {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let ask = async |manager: &Manager, server: &str| manager.list_prompts(server).await;
        self.listing.run("prompts", screen, ask, to_lists, print)
    }
}

fn all_prompts(answers: &Answers<Vec<Prompt>>) -> impl Iterator<Item = (&String, &Prompt)> {
    answers.iter().flat_map(|(server, prompts)| prompts.iter().map(move |prompt| (server, prompt)))
}

fn to_lists(answers: &Answers<Vec<Prompt>>) -> Map<String, Value> {
    Map::from_iter([("prompts".to_owned(), with_servers(all_prompts(answers)))])
}

fn print(answers: &Answers<Vec<Prompt>>, screen: &mut Screen) {
    let row = |(server, prompt): (&String, &Prompt)| {
        let arguments: Vec<String> = prompt.arguments.iter().map(placeholder).collect();
        let description = prompt.description.as_ref().or(prompt.title.as_ref());
        vec![
            Cell::plain(server),
            Cell::new(Tint::Bold, &prompt.name),
            Cell::plain(arguments.join(" ")),
            Cell::maybe(description),
        ]
    };
    let rows: Vec<_> = all_prompts(answers).map(row).collect();
    match rows.is_empty() {
        true => screen.note(Tint::Dim, "Note:", "there are no prompts"),
        false => screen.table("", &["SERVER", "PROMPT", "ARGUMENTS", "DESCRIPTION"], rows),
    }
}

/// `NAME`, or `[NAME]` if it may be left out.
fn placeholder(argument: &PromptArgument) -> String {
    match argument.required {
        true => argument.name.clone(),
        false => format!("[{}]", argument.name),
    }
}
