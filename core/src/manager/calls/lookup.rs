//! Owns looking up the tool of a call, and the errors for tools and servers that do not exist.

use std::sync::Arc;

use super::super::Manager;
use crate::catalog::{Catalog, Offer, Tool};
use crate::config::ServerConfig;
use crate::connection::Published;
use crate::error::{Error, ErrorKind, Executed, Message, Result};
use crate::similar::{did_you_mean, most_similar};
use crate::status::State;
use crate::tool::{ServerTool, quoted};

impl Manager {
    /// The tool with this name in the catalog.
    pub(super) fn find_named(&self, name: &str) -> Result<Arc<ServerTool>> {
        let catalog = self.catalog();
        self.tool_named(&catalog, name).ok_or_else(|| self.no_tool_named(&catalog, name))
    }

    /// The error for a name that the catalog does not have.
    pub(in crate::manager) fn no_tool_named(&self, catalog: &Catalog, name: &str) -> Error {
        let is_raw_name = catalog.tools().iter().any(|tool| tool.definition.raw_name() == name);
        let meant = most_similar(name, catalog.tools().iter().flat_map(names_of));
        let hint = match (meant, catalog.tools().first()) {
            (Some(meant), _) if is_raw_name => format!(
                "call() takes names of the catalog: did you mean \"{meant}\"? call_tool() takes a server and the server's \
                 own name of a tool"
            ),
            (Some(meant), _) => format!("did you mean \"{meant}\"?"),
            (None, Some(tool)) => format!(
                "call() takes names of the catalog, such as \"{}\"; get_tools() lists them",
                tool.name
            ),
            (None, None) => "no server has tools now; status() says how the servers are".to_owned(),
        };
        let error = no_such_tool(format!("There is no tool \"{name}\"")).with_hint(hint);
        meant.into_iter().fold(error, Error::with_suggestion)
    }

    /// The error for a tool that the server does not have, if a name of the catalog was written in place of its own.
    pub(super) fn with_own_name(&self, error: Error, server: &str, name: &str) -> Error {
        match self.tool_named(&self.catalog(), name).filter(|tool| tool.server() == server) {
            Some(tool) => {
                let own = tool.raw_name();
                let hint = format!(
                    "call_tool() takes the server's own name of a tool: did you mean {}? call() takes names of the \
                     catalog",
                    quoted(own)
                );
                error.with_hint(hint).with_suggestion(own).quoting(own)
            }
            None => error,
        }
    }

    pub(super) fn no_such_server(&self, server: &str) -> Error {
        let error = Error::no_such_server(ErrorKind::ToolUnavailable, server);
        self.with_similar_server(error.with_executed(Executed::No), server)
    }
}

/// The tool with this raw name on the server; the error suggests only tools that are offered.
pub(super) fn find_tool<'a>(
    published: &'a Published,
    offer: &Offer,
    raw_name: &str,
) -> Result<&'a Arc<ServerTool>> {
    let tools = &published.tools;
    tools.get(raw_name).ok_or_else(|| {
        let server = offer.server();
        let text = format!("Server \"{server}\" has no tool {}", quoted(raw_name));
        let error = no_such_tool(text).quoting(raw_name).naming_server(server);
        offer.prepare(tools, || published.mask());
        let offered = tools.list.iter().filter(|tool| offer.has(tool));
        match did_you_mean(raw_name, offered.map(|tool| tool.raw_name())) {
            Some(near) => error
                .with_hint(format!("did you mean {}?", quoted(near)))
                .with_suggestion(near)
                .quoting(near),
            None => error,
        }
    })
}

/// Fails unless the server is up, coming up, or started by a call.
pub(in crate::manager) fn check_worth_waiting(
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

pub(in crate::manager) fn unavailable(server: &str, error: Option<&Error>) -> Error {
    // Connecting again would fail the same way.
    let is_incurable =
        |error: &&Error| matches!(error.kind(), ErrorKind::Untrusted | ErrorKind::AuthRequired);
    if let Some(error) = error.filter(is_incurable) {
        return error.clone().with_executed(Executed::No);
    }
    let text = because(format!("Server \"{server}\" is not connected"), error);
    let unavailable = Error::new(ErrorKind::ToolUnavailable, text)
        .naming_server(server)
        .with_executed(Executed::No)
        .with_hint("connect it with connect_all()");
    match error {
        Some(error) => unavailable.caused_by(error.clone()),
        None => unavailable,
    }
}

/// The message, with the cause at its end.
pub(super) fn because(text: String, cause: Option<&Error>) -> Message {
    let message = Message::new(text);
    match cause {
        Some(cause) => message.text(": ").append(cause.message_parts()),
        None => message,
    }
}

fn no_such_tool(text: String) -> Error {
    Error::new(ErrorKind::ToolRejected, text).with_executed(Executed::No)
}

/// The names of a tool, the server's own too, each with its name in the catalog.
fn names_of(tool: &Tool) -> [(&str, &str); 2] {
    [tool.name.as_str(), tool.definition.raw_name()].map(|name| (name, tool.name.as_str()))
}
