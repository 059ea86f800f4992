//! Owns `mcpool trust`: the user's word that a project's file may start programs. What is trusted and how it is kept
//! is `crate::trust`'s.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::screen::Screen;
use super::shown::{definition, reach, short};
use super::table::Cell;
use super::terminal::Tint;
use super::{Ended, OK, misused};
use crate::config::{Declared, Level, Transport};
use crate::discover::{DiscoverOptions, discover};
use crate::error::{Error, ErrorKind, Result};
use crate::surroundings::Surroundings;
use crate::trust::{Store, Trusted, place_of, trust, trusted, untrust};

const EXAMPLES: &str = "\
Examples:
  mcpool trust                        what waits for your word here
  mcpool trust .mcp.json              trust what this file declares now
  mcpool trust .mcp.json --server db  only one server of it
  mcpool trust --all                  every file of the project
  mcpool trust --list                 what you have trusted
  mcpool trust --revoke .mcp.json     take it back

Files of a project come from whoever wrote it, and a server is a program that runs
as you. Only the definition that is there now is trusted: when it changes, you are
asked again. Servers on the network need no trust.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Trust {
    /// A project's config file, or its directory for all its files
    path: Option<PathBuf>,
    /// Only this server; may be repeated
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    /// Take trust back
    #[arg(long)]
    revoke: bool,
    /// Show what is trusted
    #[arg(long, conflicts_with_all = ["path", "servers", "revoke", "all"])]
    list: bool,
    /// Every file of the project; with --revoke, everything
    #[arg(long, conflicts_with = "path")]
    all: bool,
}

impl Trust {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        let surroundings = Surroundings::process();
        if self.list {
            show(screen, "trusted", &trusted(&surroundings)?, "nothing is trusted");
            return Ok(OK);
        }
        if self.path.is_none() && !self.all {
            if self.revoke || !self.servers.is_empty() {
                return Err(misused("trust", "name the file, or say --all."));
            }
            waiting(screen)?;
            return Ok(OK);
        }
        let place = self.place()?;
        let change = if self.revoke { untrust } else { trust };
        let only = (!self.servers.is_empty()).then_some(&*self.servers);
        let changed = change(&place, only, &surroundings)?;
        match self.revoke {
            true => show(screen, "revoked", &changed, "nothing of it was trusted"),
            false => show(screen, "trusted", &changed, "there is nothing that needs trust"),
        }
        Ok(OK)
    }

    /// A file, or a directory for all files below it.
    fn place(&self) -> Result<PathBuf> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None if self.revoke => Ok(PathBuf::from("/")),
            None => std::env::current_dir().map_err(|error| {
                Error::new(ErrorKind::ConfigIo, format!("There is no current directory: {error}"))
            }),
        }
    }
}

/// What waits for the user's word.
fn waiting(screen: &mut Screen) -> Result<()> {
    let (found, known) = (discover(&DiscoverOptions::default()), Known::read());
    let open = || {
        let servers = found.config.servers.iter();
        servers.filter(|(name, declared)| !known.allows(name, declared))
    };
    let questions: Vec<Value> = open().map(|(name, declared)| question(name, declared)).collect();
    screen.document(&json!({ "untrusted": questions }));
    if questions.is_empty() {
        screen.note(Tint::Dim, "Note:", "nothing here waits for your trust");
        return Ok(());
    }
    let rows = questions.iter().map(|question| {
        let text = |key: &str| question[key].as_str().unwrap_or_default().to_owned();
        vec![
            Cell::new(Tint::Bold, text("server")),
            Cell::plain(short(&text("path"))),
            Cell::plain(reach(&question["definition"])),
        ]
    });
    screen.table("", &["SERVER", "FILE", "WOULD START"], rows.collect());
    screen.note(Tint::Dim, "Next:", "mcpool trust FILE");
    Ok(())
}

fn question(name: &str, declared: &Declared) -> Value {
    let definition = declared.config.as_ref().ok().map(definition);
    json!({"server": name, "path": declared.source.path, "definition": definition})
}

fn show(screen: &mut Screen, verb: &str, changed: &[Trusted], nothing: &str) {
    screen.document(&json!({ verb: changed }));
    if changed.is_empty() {
        screen.note(Tint::Dim, "Note:", nothing);
        return;
    }
    let rows = changed.iter().map(|trusted| {
        vec![
            Cell::plain(verb),
            Cell::new(Tint::Bold, &trusted.server),
            Cell::plain(short(&trusted.path)),
        ]
    });
    screen.table("", &["", "SERVER", "FILE"], rows.collect());
}

/// Whether a definition starts nothing without the user's word.
fn needs_trust(declared: &Declared) -> bool {
    let stdio = |transport: &Transport| matches!(transport, Transport::Stdio { .. });
    declared.source.level == Level::Project
        && declared.config.as_ref().is_ok_and(|config| config.enabled && stdio(&config.transport))
}

/// What the user has trusted.
pub(super) struct Known(Store);

impl Known {
    /// A list that cannot be read trusts nothing.
    pub(super) fn read() -> Self {
        Known(Store::load(&Surroundings::process()).unwrap_or_default())
    }

    /// Whether nothing stands in the way of starting it.
    pub(super) fn allows(&self, name: &str, declared: &Declared) -> bool {
        if !needs_trust(declared) {
            return true;
        }
        let (Some(path), Ok(config)) = (&declared.source.path, &declared.config) else {
            return false;
        };
        let project = config.scope.directory.as_deref().unwrap_or(Path::new(""));
        self.0.trusts(&place_of(Path::new(path), project), name, &config.fingerprint())
    }
}
