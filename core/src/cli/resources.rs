//! Owns `mcpool resources`: lists the resources of the connected servers, and their templates.

use clap::Args;
use serde_json::{Map, Value};

use super::CommandResult;
use super::listing::{Answers, Listing, with_servers};
use super::screen::Screen;
use super::table::Cell;
use super::terminal::Tint;
use crate::error::Result;
use crate::manager::Manager;
use crate::resource::{Resource, ResourceTemplate};

const EXAMPLES: &str = "\
Examples:
  mcpool resources
  mcpool resources files
  mcpool resources --config mcp.json --json | jq -r '.resources[].uri'

\"mcpool read SERVER URI\" reads one of them. The addresses of a template have
values in place of its {names}.
Servers without resources are left out. Exit code 1 when a server cannot be
connected or asked; with --partial, only when none can, or not the one asked for,
or not one that is required. A server that waits for \"mcpool trust\" is no failure.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Resources {
    #[command(flatten)]
    listing: Listing,
}

/// What one server offers.
struct Offered {
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
}

impl Resources {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        self.listing.run("resources", screen, ask, to_lists, print)
    }
}

async fn ask(manager: &Manager, server: &str) -> Result<Offered> {
    let resources = manager.list_resources(server).await?;
    let templates = manager.list_resource_templates(server).await?;
    Ok(Offered { resources, templates })
}

fn all_resources(answers: &Answers<Offered>) -> impl Iterator<Item = (&String, &Resource)> {
    answers.iter().flat_map(|(server, it)| it.resources.iter().map(move |entry| (server, entry)))
}

fn all_templates(answers: &Answers<Offered>) -> impl Iterator<Item = (&String, &ResourceTemplate)> {
    answers.iter().flat_map(|(server, it)| it.templates.iter().map(move |entry| (server, entry)))
}

fn to_lists(answers: &Answers<Offered>) -> Map<String, Value> {
    Map::from_iter([
        ("resources".to_owned(), with_servers(all_resources(answers))),
        ("templates".to_owned(), with_servers(all_templates(answers))),
    ])
}

fn print(answers: &Answers<Offered>, screen: &mut Screen) {
    let resources: Vec<_> = all_resources(answers)
        .map(|(server, it)| {
            row(server, &it.uri, &it.mime_type, [&it.description, &it.title], &it.name)
        })
        .collect();
    let templates: Vec<_> = all_templates(answers)
        .map(|(server, it)| {
            row(server, &it.uri_template, &it.mime_type, [&it.description, &it.title], &it.name)
        })
        .collect();
    let (has_resources, has_templates) = (!resources.is_empty(), !templates.is_empty());
    if has_resources {
        screen.table("", &["SERVER", "URI", "TYPE", "DESCRIPTION"], resources);
    }
    if has_resources && has_templates {
        screen.say("");
    }
    if has_templates {
        screen.table("", &["SERVER", "TEMPLATE", "TYPE", "DESCRIPTION"], templates);
    }
    if !has_resources && !has_templates {
        screen.note(Tint::Dim, "Note:", "there are no resources");
    }
}

/// Described by the first text that there is, or by the name.
fn row(
    server: &str,
    uri: &str,
    mime_type: &Option<String>,
    texts: [&Option<String>; 2],
    name: &str,
) -> Vec<Cell> {
    let text = texts.into_iter().flatten().find(|text| !text.trim().is_empty());
    let description = text.map_or(name, String::as_str);
    let uri = Cell::new(Tint::Bold, uri);
    vec![Cell::plain(server), uri, Cell::maybe(mime_type.as_ref()), Cell::plain(description)]
}
