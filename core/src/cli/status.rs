//! Owns `mcpool status`: how each server is, once connected.

use clap::Args;
use serde_json::{Value, json};

use super::config_file::ConfigFile;
use super::connect::connect;
use super::screen::Screen;
use super::table::Cell;
use super::terminal::Tint;
use super::{Ended, FAILED, OK, with_manager};
use crate::status::{ServerStatus, State};

const EXAMPLES: &str = "\
Examples:
  mcpool status --config mcp.json
  mcpool status --config mcp.json --json | jq '.servers[] | {name, state}'

Exit code 1 when an enabled server cannot be connected.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Status {
    #[command(flatten)]
    config: ConfigFile,
}

impl Status {
    pub(super) fn run(self, screen: &mut Screen) -> Ended {
        with_manager(self.config.read()?, screen, async |manager, screen| {
            let connected = connect(manager, None, screen).await?;
            screen.document(&json!({
                "servers": connected.statuses,
                "warnings": manager.warnings(),
            }));
            if connected.statuses.is_empty() {
                screen.note(Tint::Dim, "Note:", "the config has no servers");
            } else {
                show(screen, "", &connected.statuses);
            }
            Ok(if connected.failed.is_empty() { OK } else { FAILED })
        })
    }
}

/// The table of servers; what no server has is left out.
pub(super) fn show(screen: &mut Screen, indent: &str, statuses: &[ServerStatus]) {
    let heads = ["SERVER", "STATE", "VIA", "PID", "TOOLS", "CALLS OK", "P50", "SOFTWARE"];
    let row = |status: &ServerStatus| {
        let calls = &status.calls;
        let software = [status.server_name.as_deref(), status.server_version.as_deref()];
        vec![
            Cell::new(Tint::Bold, &status.name),
            state(status.state),
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

fn state(state: State) -> Cell {
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

/// A time with about three digits.
pub(super) fn in_ms(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}
