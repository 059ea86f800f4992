//! Owns `mcpool test`: connects one server once and reports the outcome.

use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::connect::{connect_required, failed_to_connect};
use super::screen::Screen;
use super::sources::Sources;
use super::status::in_ms;
use super::terminal::Tint;
use super::work::{with_manager, without_restarts};
use super::{CommandResult, FAILED, OK};
use crate::config::Config;
use crate::manager::{Manager, ManagerOptions};
use crate::status::ServerStatus;

const EXAMPLES: &str = "\
Examples:
  mcpool test time
  mcpool test time --config mcp.json --json

\"mcpool doctor time\" looks closer when this fails.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Test {
    /// The server
    name: String,
    #[command(flatten)]
    sources: Sources,
}

impl Test {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        found.check_name(&self.name)?;
        test_server(&found.config, &self.name, screen)
    }
}

/// Connects the server once and reports the outcome.
pub(super) fn test_server(config: &Config, name: &str, screen: &mut Screen) -> CommandResult {
    let options = ManagerOptions::default().begin_auth(false);
    with_manager(without_restarts(config.clone()), options, screen, async |manager, screen| {
        let began = Instant::now();
        let connected = connect_required(manager, config, name, screen).await;
        let ms = began.elapsed().as_secs_f64() * 1000.0;
        if let Err(error) = connected {
            screen.trouble(&failed_to_connect(name), &error);
            screen.document(&json!({"server": name, "ok": false, "ms": ms, "error": error}));
            return Ok(FAILED);
        }
        let Some(status) = manager.status().into_iter().find(|status| status.name == name) else {
            return Ok(FAILED);
        };
        print_connected(manager, status, ms, screen);
        Ok(OK)
    })
}

fn print_connected(manager: &Manager, status: ServerStatus, ms: f64, screen: &mut Screen) {
    let (name, catalog) = (&status.name, manager.get_tools());
    let tools: Vec<&str> = catalog.tools().iter().map(|tool| tool.definition.raw_name()).collect();
    screen.document(&json!({
        "server": name,
        "ok": true,
        "ms": ms,
        "transport": status.transport,
        "protocol_version": status.protocol_version,
        "server_name": status.server_name,
        "server_version": status.server_version,
        "tools": tools,
        "warnings": manager.warnings(),
    }));
    let words = [&status.server_name, &status.server_version].map(Option::as_deref);
    let software = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let up = screen.paint(Tint::Green, "connected");
    screen.say(format!("\"{name}\" {up} in {}", in_ms(ms)));
    for (head, text) in [
        ("software", software),
        ("protocol", status.protocol_version.unwrap_or_default()),
        ("tools", format!("{}: {}", tools.len(), tools.join(", "))),
    ] {
        let head = screen.paint(Tint::Dim, format!("{head:>10}"));
        screen.say_fitting(&format!("{head}  "), 12, &text);
    }
}
