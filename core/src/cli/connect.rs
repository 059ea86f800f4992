//! Owns connecting for a look: one server or all of them, and who did not make it.

use indexmap::IndexMap;

use super::Failure;
use super::screen::Screen;
use super::terminal::Tint;
use crate::error::{Error, ErrorKind};
use crate::manager::{ConnectReport, Manager};
use crate::status::{ServerStatus, State};

pub(super) struct Connected {
    /// Of the servers that were asked for.
    pub(super) statuses: Vec<ServerStatus>,
    pub(super) failed: IndexMap<String, Error>,
    /// The one server that was asked for, or one that the config requires, is not up.
    pub(super) misses_wanted: bool,
}

impl Connected {
    pub(super) fn has_any(&self) -> bool {
        self.statuses.iter().any(|status| status.tool_count > 0 || status.state == State::Connected)
    }
}

pub(super) async fn connect(
    manager: &Manager,
    only: Option<&str>,
    screen: &Screen,
) -> Result<Connected, Failure> {
    screen.waiting_for(&format!("connecting {} …", only.unwrap_or("the servers")));
    let outcome = match only {
        Some(server) => manager.connect(server).await.map(|()| ConnectReport::default()),
        None => manager.connect_all().await,
    };
    screen.waiting_for("");
    let misses_wanted = outcome.is_err();
    let mut failed = match (only, outcome) {
        (_, Ok(report)) => report.failed,
        (None, Err(_)) => IndexMap::new(),
        (Some(_), Err(error)) if error.kind() == ErrorKind::ServerNotFound => {
            return Err(error.into());
        }
        (Some(server), Err(error)) => IndexMap::from([(server.to_owned(), error)]),
    };
    let asked = |status: &ServerStatus| only.is_none_or(|server| status.name == server);
    let statuses: Vec<ServerStatus> = manager.status().into_iter().filter(asked).collect();
    // When a required server is missing there is no report; what went wrong is in the statuses.
    for status in &statuses {
        if let (true, Some(error)) = (misses_wanted, &status.error) {
            failed.entry(status.name.clone()).or_insert_with(|| error.clone());
        }
    }
    for warning in manager.warnings() {
        screen.note(Tint::Yellow, "Warning:", &warning);
    }
    for (server, error) in &failed {
        screen.trouble(&format!("Failed to connect to \"{server}\":"), error);
    }
    Ok(Connected { statuses, failed, misses_wanted })
}
