//! Owns `mcpool status`: connects the servers and prints the state of each.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::CommandResult;
use super::connect::connect;
use super::screen::Screen;
use super::sources::Sources;
use super::table::Cell;
use super::terminal::Tint;
use super::work::{with_manager, without_restarts};
use crate::manager::ManagerOptions;
use crate::status::{ServerStatus, State};

/// Waits for every server, within its own timeout.
pub(super) const NO_GATE: Duration = Duration::from_secs(24 * 60 * 60);

const EXAMPLES: &str = "\
Examples:
  mcpool status
  mcpool status --config mcp.json --json | jq '.servers[] | {name, state}'

Exit code 1 when an enabled server cannot be connected; with --partial, only when
none can, or not one that is required. A server that waits for \"mcpool trust\" is
shown as blocked and is no failure.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Status {
    /// Exit with 0 although some servers failed
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Status {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        let config = without_restarts(found.config.clone());
        let options =
            ManagerOptions { gate: NO_GATE, begin_auth: false, ..ManagerOptions::default() };
        with_manager(config, options, screen, async |manager, screen| {
            let connected = connect(manager, &found, None, screen).await?;
            screen.document(&json!({
                "servers": connected.statuses,
                "warnings": manager.warnings(),
            }));
            if connected.statuses.is_empty() {
                found.print_no_servers(screen);
            } else {
                print_statuses(screen, "", &connected.statuses);
            }
            connected.print_summary(screen);
            Ok(connected.exit_code(self.partial))
        })
    }
}

/// Prints the table of servers; empty columns are left out.
pub(super) fn print_statuses(screen: &mut Screen, indent: &str, statuses: &[ServerStatus]) {
    let heads = ["SERVER", "STATE", "VIA", "PID", "TOOLS", "CALLS OK", "P50", "SOFTWARE"];
    let row = |status: &ServerStatus| {
        let calls = &status.calls;
        let software = [status.server_name.as_deref(), status.server_version.as_deref()];
        vec![
            Cell::new(Tint::Bold, &status.name),
            state_cell(status.state),
            Cell::maybe(status.transport),
            Cell::maybe(status.pid),
            Cell::maybe((status.state == State::Connected).then_some(status.tool_count)),
            Cell::maybe((calls.ok > 0).then_some(calls.ok)),
            Cell::maybe(calls.p50_ms.map(in_ms)),
            Cell::plain(software.into_iter().flatten().collect::<Vec<_>>().join(" ")),
        ]
    };
    screen.table(indent, &heads, statuses.iter().map(row).collect());
}

fn state_cell(state: State) -> Cell {
    let tint = match state {
        State::Connected => Tint::Green,
        State::Failed => Tint::Red,
        State::Disabled => Tint::Dim,
        _ => Tint::Yellow,
    };
    match json!(state) {
        Value::String(name) => Cell::new(tint, name),
        other => Cell::new(tint, other.to_string()),
    }
}

/// Milliseconds with about three digits.
pub(super) fn in_ms(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}
