//! Owns `mcpool discover`: lists the config files, their servers, and which file wins and why.

use clap::Args;

use super::display::{ServerRow, command_or_url, short_path, source_text, without_path};
use super::screen::Screen;
use super::sources::DiscoveryArgs;
use super::table::Cell;
use super::terminal::Tint;
use super::{CommandResult, FAILED, OK};
use crate::config::{Level, Source};
use crate::discover::Discovery;
use crate::redact;

const EXAMPLES: &str = "\
Examples:
  mcpool discover
  mcpool discover --provider cursor --provider claude-code
  mcpool discover --json | jq '.servers'

Where several files have the same server, the first in this order wins whole:
mcpool's own files, then each product's by its rank, the project's before yours. What a
project says counts only once you trust it: until then yours is used.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Discover {
    #[command(flatten)]
    discovery_args: DiscoveryArgs,
}

impl Discover {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.discovery_args.discover()?;
        screen.document(&found.report());
        if found.files.is_empty() {
            screen.note(Tint::Dim, "Note:", "no config files were found");
        } else {
            files(&found, screen);
            servers(&found, screen);
            shadowed(&found, screen);
            left_out(&found, screen);
            bridges(&found, screen);
        }
        for warning in &found.config.warnings {
            screen.note(Tint::Yellow, "Warning:", warning);
        }
        for failed in &found.errors {
            screen.trouble(&format!("{}:", failed.path), &failed.error);
        }
        Ok(if found.errors.is_empty() { OK } else { FAILED })
    }
}

fn files(found: &Discovery, screen: &mut Screen) {
    heading(screen, "Files, the first one wins");
    let rows = found.files.iter().map(|file| {
        let (tint, note) = match &file.problem {
            Some(problem) => (Tint::Red, without_path(problem, &file.path).to_owned()),
            None => (Tint::Plain, String::new()),
        };
        vec![
            Cell::plain(&file.provider),
            Cell::plain(level(file.level)),
            Cell::plain(file.servers),
            Cell::plain(short_path(&file.path)),
            Cell::new(tint, note),
        ]
    });
    screen.table("  ", &["PRODUCT", "LEVEL", "SERVERS", "FILE", "PROBLEM"], rows.collect());
}

fn servers(found: &Discovery, screen: &mut Screen) {
    if found.config.servers.is_empty() {
        return;
    }
    heading(screen, "Servers");
    let rows = ServerRow::all(&found.config).into_iter().map(|row| {
        vec![
            Cell::new(Tint::Bold, row.name),
            row.state.cell(),
            Cell::maybe(row.transport),
            Cell::plain(source_text(row.source)),
            Cell::plain(row.command_or_url()),
        ]
    });
    let heads = ["SERVER", "STATE", "VIA", "SOURCE", "COMMAND OR URL"];
    screen.table("  ", &heads, rows.collect());
}

fn shadowed(found: &Discovery, screen: &mut Screen) {
    let rows = found.config.servers.iter().flat_map(|(name, declared)| {
        declared.shadows.iter().map(move |loser| {
            vec![
                Cell::new(Tint::Bold, name),
                Cell::plain(source_text(loser)),
                Cell::plain(why(&declared.source, loser)),
            ]
        })
    });
    section(screen, "Shadowed", &["SERVER", "NOT USED", "BECAUSE"], rows.collect());
}

fn why(winner: &Source, loser: &Source) -> String {
    let place = winner.path.as_deref().map_or_else(|| winner.provider.clone(), short_path);
    if winner.provider != loser.provider {
        return format!("{} comes before {}: {place}", winner.provider, loser.provider);
    }
    match (winner.level, loser.level) {
        (Level::Project, Level::User) => format!("the project's file comes first: {place}"),
        _ => format!("{place} comes first"),
    }
}

fn left_out(found: &Discovery, screen: &mut Screen) {
    let rows = found.left_out.iter().map(|left_out| {
        vec![
            Cell::new(Tint::Bold, &left_out.name),
            Cell::plain(source_text(&left_out.source)),
            Cell::plain(&left_out.why),
        ]
    });
    section(screen, "Left out", &["SERVER", "SOURCE", "BECAUSE"], rows.collect());
}

fn bridges(found: &Discovery, screen: &mut Screen) {
    let rows = found.config.servers.iter().filter_map(|(name, declared)| {
        let direct = redact::definition(declared.direct.as_ref()?.to_value());
        Some(vec![Cell::new(Tint::Bold, name), Cell::plain(command_or_url(&direct))])
    });
    let title = "Bridged by mcp-remote, though mcpool can connect directly";
    section(screen, title, &["SERVER", "URL"], rows.collect());
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Explicit => "explicit",
        Level::User => "user",
        Level::Project => "project",
    }
}

fn section(screen: &mut Screen, title: &str, heads: &[&str], rows: Vec<Vec<Cell>>) {
    if !rows.is_empty() {
        heading(screen, title);
        screen.table("  ", heads, rows);
    }
}

fn heading(screen: &mut Screen, text: &str) {
    let text = screen.paint(Tint::Bold, text);
    screen.say(text);
}
