//! Owns looking up the tool of a call, and the errors for tools and servers that do not exist.

use std::sync::Arc;

use super::super::Manager;
use crate::config::ServerConfig;
use crate::connection::Published;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::similar::did_you_mean;
use crate::status::State;
use crate::tool::{ServerTool, Tools};

impl Manager {
    /// The tool with this name in the catalog.
    pub(super) fn find_named(&self, name: &str) -> Result<Arc<ServerTool>> {
        let catalog = self.catalog();
        self.tool_named(&catalog, name).ok_or_else(|| {
            let names = catalog.tools().iter().map(|tool| tool.name.as_str());
            no_such_tool(&format!("There is no tool \"{name}\""), name, names)
        })
    }

    pub(super) fn no_such_server(&self, server: &str) -> Error {
        let error = Error::no_such_server(ErrorKind::ToolUnavailable, server);
        self.with_similar_server(error.with_executed(Executed::No), server)
    }
}

/// The tool with this raw name on the server.
pub(super) fn find_tool<'a>(
    tools: &'a Tools,
    server: &str,
    raw_name: &str,
) -> Result<&'a Arc<ServerTool>> {
    tools.get(raw_name).ok_or_else(|| {
        let names = tools.list.iter().map(|tool| tool.raw_name());
        let text = format!("Server \"{server}\" has no tool \"{raw_name}\"");
        no_such_tool(&text, raw_name, names).quoting(raw_name).with_server(server)
    })
}

/// Fails unless the server is up, coming up, or started by a call.
pub(super) fn check_worth_waiting(
    published: &Published,
    config: &ServerConfig,
    server: &str,
) -> Result<()> {
    let wakes_up = config.lazy || config.idle_shutdown.is_some();
    match published.state {
        State::Connecting | State::Reconnecting | State::Connected | State::Degraded => Ok(()),
        State::Idle if wakes_up => Ok(()),
        _ => Err(unavailable(server, published.error.as_ref())),
    }
}

pub(super) fn unavailable(server: &str, error: Option<&Error>) -> Error {
    // Connecting again would fail the same way.
    let is_incurable =
        |error: &&Error| matches!(error.kind(), ErrorKind::Untrusted | ErrorKind::AuthRequired);
    if let Some(error) = error.filter(is_incurable) {
        return error.clone().with_executed(Executed::No);
    }
    let reason = error.map_or(String::new(), |error| format!(": {}", error.message()));
    let text = format!("Server \"{server}\" is not connected{reason}");
    let unavailable = Error::new(ErrorKind::ToolUnavailable, text)
        .with_server(server)
        .with_executed(Executed::No)
        .with_hint("connect it with connect_all()");
    match error {
        Some(error) => unavailable.caused_by(error.clone()),
        None => unavailable,
    }
}

fn no_such_tool<'a>(text: &str, wanted: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::new(ErrorKind::ToolRejected, text).with_executed(Executed::No);
    match did_you_mean(wanted, names) {
        Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")).quoting(similar),
        None => error,
    }
}
