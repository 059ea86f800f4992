//! Owns `mcpool doctor`: all checks in one run, each with advice. `files` checks files and directories, `server` one
//! server, `network` the network to it, `login` what is stored of its login.
//! Invariant: it changes nothing, and leaves no process.

use clap::Args;
use futures_util::StreamExt;
use futures_util::stream;
use serde::Serialize;
use serde_json::json;

use super::display::short_path;
use super::progress::with_progress;
use super::screen::Screen;
use super::sources::{FoundServers, Sources};
use super::terminal::{Tint, tame, width};
use super::work::{with_manager, without_restarts};
use super::{CommandResult, FAILED, OK};
use crate::error::Result;
use crate::manager::ManagerOptions;

mod files;
mod finding;
mod local;
mod login;
mod network;
mod server;

use finding::{Finding, Verdict};

/// How many servers are checked at the same time.
const TOGETHER: usize = 8;

const EXAMPLES: &str = "\
Examples:
  mcpool doctor
  mcpool doctor github
  mcpool doctor --json | jq '.servers[] | select(.verdict == \"broken\")'

Each server is started or dialled once and closed again.
Exit code 1 when something is broken; warnings alone are no failure.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    #[command(flatten)]
    sources: Sources,
}

/// The findings about one file or server.
#[derive(Serialize)]
struct Examined {
    name: String,
    verdict: Verdict,
    findings: Vec<Finding>,
}

impl Examined {
    fn new(name: impl Into<String>, findings: Vec<Finding>) -> Self {
        let verdict = findings.iter().map(|finding| finding.verdict).max();
        Examined { name: name.into(), verdict: verdict.unwrap_or(Verdict::Ok), findings }
    }
}

impl Doctor {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        self.check_names(&found)?;
        let files = if self.servers.is_empty() { files::examine(&found) } else { Vec::new() };
        let wanted = |name: &String| self.servers.is_empty() || self.servers.contains(name);
        let names: Vec<String> =
            found.config.servers.keys().filter(|name| wanted(name)).cloned().collect();
        let config = without_restarts(found.config.clone());
        with_manager(
            config,
            ManagerOptions::default().begin_auth(false),
            screen,
            async |manager, screen| {
                let examined = stream::iter(&names)
                    .map(|name| server::examine(manager, name, &found.config.servers[name]))
                    .buffered(TOGETHER)
                    .collect::<Vec<Examined>>();
                let mut servers = with_progress(manager, &names, screen, examined).await;
                let project = found.config.project.iter().filter(|entry| wanted(&entry.name));
                servers.extend(project.filter_map(server::examine_held_back));
                Ok(print_report(&found, &files, &servers, screen))
            },
        )
    }

    fn check_names(&self, found: &FoundServers) -> Result<()> {
        self.servers.iter().try_for_each(|name| found.check_name(name))
    }
}

fn print_report(
    found: &FoundServers,
    files: &[Examined],
    servers: &[Examined],
    screen: &mut Screen,
) -> i32 {
    let all = || files.iter().chain(servers);
    let count = |verdict| all().filter(|examined| examined.verdict == verdict).count();
    let (broken, warnings) = (count(Verdict::Broken), count(Verdict::Warning));
    screen.document(&json!({
        "ok": broken == 0,
        "version": env!("CARGO_PKG_VERSION"),
        "platform": platform(),
        "files": files,
        "servers": servers,
        "warnings": found.config.warnings,
    }));
    screen.say(format!("mcpool {} on {}", env!("CARGO_PKG_VERSION"), platform()));
    section("Files", files, screen);
    section("Servers", servers, screen);
    for warning in &found.config.warnings {
        screen.note(Tint::Yellow, "Warning:", warning);
    }
    if servers.is_empty() {
        found.print_no_servers(screen);
    }
    let ok = count(Verdict::Ok);
    screen.say(format!("\n{ok} ok, {warnings} with warnings, {broken} broken"));
    if broken == 0 { OK } else { FAILED }
}

fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

fn section(title: &str, all: &[Examined], screen: &mut Screen) {
    if all.is_empty() {
        return;
    }
    let title = screen.paint(Tint::Bold, title);
    screen.say(format!("\n{title}"));
    for examined in all {
        let word = screen.paint(examined.verdict.tint(), format!("{:<8}", examined.verdict.word()));
        let name = tame(&short_path(&examined.name));
        let room = 11 + width(&name) + 2;
        let name = screen.paint(Tint::Bold, name);
        let fine = examined.findings.iter().filter(|finding| finding.verdict == Verdict::Ok);
        let facts: Vec<&str> = fine.map(|finding| finding.detail.as_str()).collect();
        screen.say_fitting(&format!("  {word} {name}  "), room, &facts.join("; "));
        for finding in examined.findings.iter().filter(|it| it.verdict != Verdict::Ok) {
            let words = screen.paint(finding.verdict.tint(), tame(&finding.detail));
            screen.say(format!("           {words}"));
            if let Some(advice) = &finding.advice {
                let advice = screen.paint(Tint::Cyan, tame(advice));
                screen.say(format!("           → {advice}"));
            }
            for line in finding.stdout.iter().chain(&finding.stderr) {
                let line = tame(line);
                let line = screen.paint(Tint::Dim, format!("           | {line}"));
                screen.say(line);
            }
        }
    }
}
