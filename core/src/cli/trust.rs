//! Owns `mcpool trust`: shows the user everything that a project's files say and asks whether to trust it. Leaves the
//! rule and the store to `crate::trust`.
//! Invariant: what is trusted is what was shown; the files are not read again in between.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::ask::is_yes;
use super::display::short_path;
use super::screen::Screen;
use super::table::Cell;
use super::terminal::Tint;
use super::{CliError, CommandResult, FAILED, OK, usage_error};
use crate::config::Level;
use crate::discover::DiscoverOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::trust::{
    TrustQuestion, Trusted, discover, questions, select_questions, trust_these, trusted, untrust,
};

mod question;

const EXAMPLES: &str = "\
Examples:
  mcpool trust                        what waits for your word here
  mcpool trust .mcp.json              see what this file says now, and trust it
  mcpool trust .mcp.json --server db  only one server of it
  mcpool trust --all                  every file of the project
  mcpool trust --list                 what you have trusted
  mcpool trust --revoke .mcp.json     take it back

Files of a project come from whoever wrote it, and a server is a program that runs
as you. Only what is shown is trusted: when the definition changes, or a file that it
brings, you are asked again. Without trust, servers on the network are reached at
public addresses only, and nothing of the project changes what you have configured.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Trust {
    /// A project's config file, or its directory for all its files
    path: Option<PathBuf>,
    /// Only this server; may be repeated
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    /// Only what has this fingerprint, as "mcpool trust" showed it; may be repeated
    #[arg(long = "fingerprint", value_name = "HEX", conflicts_with = "revoke")]
    fingerprints: Vec<String>,
    /// Do not ask; without a terminal nobody is asked
    #[arg(long, short)]
    yes: bool,
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
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let host_env = HostEnv::process();
        if self.list {
            print_changes(screen, "trusted", &trusted(&host_env)?, "nothing is trusted");
            return Ok(OK);
        }
        if self.path.is_none() && !self.all {
            if self.revoke || !self.servers.is_empty() || !self.fingerprints.is_empty() {
                return Err(usage_error("trust", "name the file, or say --all."));
            }
            print_untrusted(screen);
            return Ok(OK);
        }
        let place = self.target_path()?;
        let only = (!self.servers.is_empty()).then_some(&*self.servers);
        if self.revoke {
            let revoked = untrust(&place, only, &host_env)?;
            print_changes(screen, "revoked", &revoked, "nothing of it was trusted");
            return Ok(OK);
        }
        let asked = select_questions(&place, questions(&place, &host_env)?, only)?;
        let asked = self.with_fingerprint(asked)?;
        let open: Vec<&TrustQuestion> = asked.iter().filter(|it| !it.trusted).collect();
        open.iter().for_each(|question| question::print_question(question, screen));
        if !open.is_empty() && !self.is_confirmed(screen)? {
            screen.note(Tint::Dim, "Note:", "nothing was trusted");
            return Ok(FAILED);
        }
        let trusted = trust_these(&asked, &host_env)?;
        print_changes(screen, "trusted", &trusted, "there is nothing that needs trust");
        Ok(OK)
    }

    /// Keeps only the questions with the fingerprints that the user named.
    fn with_fingerprint(&self, mut asked: Vec<TrustQuestion>) -> Result<Vec<TrustQuestion>> {
        let is_it = |question: &TrustQuestion, wanted: &String| question.fingerprint == *wanted;
        for wanted in &self.fingerprints {
            if !asked.iter().any(|question| is_it(question, wanted)) {
                let text = format!("Nothing there has the fingerprint {wanted}; it has changed");
                return Err(Error::new(ErrorKind::Untrusted, text)
                    .with_hint("look at it again: mcpool trust"));
            }
        }
        if !self.fingerprints.is_empty() {
            asked.retain(|it| self.fingerprints.iter().any(|wanted| is_it(it, wanted)));
        }
        Ok(asked)
    }

    /// Whether the user agrees after seeing the questions. Without a terminal, running the command is the agreement.
    fn is_confirmed(&self, screen: &Screen) -> std::result::Result<bool, CliError> {
        let (input, output) = (io::stdin(), io::stderr());
        if self.yes || !input.is_terminal() || !self.fingerprints.is_empty() {
            return Ok(true);
        }
        if screen.is_for_programs() || !output.is_terminal() {
            return Err(usage_error(
                "trust",
                "nobody can be asked here: say --yes, or --fingerprint.",
            ));
        }
        Ok(is_yes("Trust this? [y/N]", false))
    }

    /// The file, or the directory whose files are all meant.
    fn target_path(&self) -> Result<PathBuf> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None if self.revoke => Ok(PathBuf::from("/")),
            None => std::env::current_dir().map_err(|error| {
                Error::new(ErrorKind::ConfigIo, format!("There is no current directory: {error}"))
            }),
        }
    }
}

/// Shows what is not trusted yet.
fn print_untrusted(screen: &mut Screen) {
    let found = discover(&DiscoverOptions::default());
    let entries = found.config.project.iter().filter(|entry| !entry.trusted);
    let open: Vec<TrustQuestion> = entries.map(TrustQuestion::from_entry).collect();
    screen.document(&json!({ "untrusted": open }));
    for file in found.files.iter().filter(|file| file.level == Level::Project) {
        if let Some(problem) = &file.problem {
            screen.note(Tint::Yellow, "Warning:", problem);
        }
    }
    if open.is_empty() {
        screen.note(Tint::Dim, "Note:", "nothing here waits for your trust");
        return;
    }
    open.iter().for_each(|question| question::print_question(question, screen));
    screen.note(Tint::Dim, "Next:", "mcpool trust FILE");
}

fn print_changes(screen: &mut Screen, verb: &str, changed: &[Trusted], nothing: &str) {
    screen.document(&json!({ verb: changed }));
    if changed.is_empty() {
        screen.note(Tint::Dim, "Note:", nothing);
        return;
    }
    let rows = changed.iter().map(|trusted| {
        let server = if trusted.server.is_empty() { "(lists)" } else { &trusted.server };
        vec![
            Cell::plain(verb),
            Cell::new(Tint::Bold, server),
            Cell::plain(short_path(&trusted.path)),
        ]
    });
    screen.table("", &["", "SERVER", "FILE"], rows.collect());
}
