//! Owns connecting for a look: one server or all of them, and who did not make it.

use indexmap::IndexMap;

use super::advice::advised;
use super::progress::shown_while;
use super::screen::Screen;
use super::sources::Found;
use super::terminal::Tint;
use super::{Ended, FAILED, Failure};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::manager::{ConnectReport, Manager};
use crate::status::{ServerStatus, State};

pub(super) struct Connected {
    /// Of the servers that were asked for.
    pub(super) statuses: Vec<ServerStatus>,
    pub(super) failed: IndexMap<String, Error>,
    /// Servers whose source is not trusted, and how that is said.
    pub(super) blocked: IndexMap<String, Error>,
    /// Servers that are only remembered.
    pub(super) deferred: Vec<String>,
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
    found: &Found,
    only: Option<&str>,
    screen: &Screen,
) -> Result<Connected, Failure> {
    found.tell_oddities(screen);
    let config = &found.config;
    let outcome = match only {
        Some(server) => connect_one(manager, config, server, screen).await,
        None => {
            let servers = startable(config);
            shown_while(manager, &servers, screen, manager.connect_all()).await
        }
    };
    tell_values(manager, config, screen);
    let misses_wanted = outcome.is_err();
    let report = match (only, outcome) {
        (_, Ok(report)) => report,
        (None, Err(_)) => ConnectReport::default(),
        (Some(_), Err(error)) if error.kind() == ErrorKind::ServerNotFound => {
            return Err(error.into());
        }
        (Some(server), Err(error)) => {
            let failed = IndexMap::from([(server.to_owned(), error)]);
            ConnectReport { failed, ..ConnectReport::default() }
        }
    };
    let asked = |status: &ServerStatus| only.is_none_or(|server| status.name == server);
    let statuses: Vec<ServerStatus> = manager.status().into_iter().filter(asked).collect();
    let mut troubles = report.failed;
    // When a required server is missing there is no report; what went wrong is in the statuses. Of blocked servers
    // the report has the names alone.
    for status in &statuses {
        let told = misses_wanted || status.state == State::Blocked;
        if let (true, Some(error)) = (told, &status.error) {
            troubles.entry(status.name.clone()).or_insert_with(|| error.clone());
        }
    }
    let troubles = troubles.into_iter().map(|(name, error)| {
        let error = advised(&name, config.servers.get(&name), error);
        (name, error)
    });
    let (blocked, failed): (IndexMap<_, _>, IndexMap<_, _>) =
        troubles.partition(|(_, error)| error.kind() == ErrorKind::Untrusted);
    for (server, error) in &failed {
        screen.trouble(&failed_to_connect(server), error);
    }
    for (server, error) in &blocked {
        screen.note(Tint::Yellow, &format!("Blocked \"{server}\":"), error.message());
        screen.hint(error);
    }
    Ok(Connected { statuses, failed, blocked, deferred: report.deferred, misses_wanted })
}

/// Tells what was odd about values that were looked up while connecting.
fn tell_values(manager: &Manager, config: &Config, screen: &Screen) {
    for warning in manager.warnings().iter().skip(config.warnings.len()) {
        screen.note(Tint::Yellow, "Warning:", warning);
    }
}

/// Connects the server that is needed and waits for it; tells what was odd about it.
pub(super) async fn connect_needed(
    manager: &Manager,
    config: &Config,
    server: &str,
    screen: &Screen,
) -> crate::error::Result<()> {
    let connected = connect_one(manager, config, server, screen).await;
    tell_values(manager, config, screen);
    connected.map(drop)
}

async fn connect_one(
    manager: &Manager,
    config: &Config,
    server: &str,
    screen: &Screen,
) -> crate::error::Result<ConnectReport> {
    let servers = [server.to_owned()];
    let connected = shown_while(manager, &servers, screen, manager.connect(server)).await;
    let report = || ConnectReport { connected: servers.into(), ..ConnectReport::default() };
    connected.map(|()| report()).map_err(|error| advised(server, config.servers.get(server), error))
}

/// Ends a command that needs the server. A name that nobody has is not the server's failure.
pub(super) fn not_connected(server: &str, error: Error, screen: &mut Screen) -> Ended {
    if error.kind() == ErrorKind::ServerNotFound {
        return Err(error.into());
    }
    screen.fail_with(&failed_to_connect(server), &error);
    Ok(FAILED)
}

pub(super) fn failed_to_connect(server: &str) -> String {
    format!("Failed to connect to \"{server}\":")
}

fn startable(config: &Config) -> Vec<String> {
    let usable = |(name, declared): (&String, &crate::config::Declared)| {
        let on = declared.config.as_ref().is_ok_and(|config| config.enabled);
        on.then(|| name.clone())
    };
    config.servers.iter().filter_map(usable).collect()
}
