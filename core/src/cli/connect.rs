//! Owns connecting one server or all of them for one command, and reporting those that failed.

use indexmap::IndexMap;

use super::advice::advised;
use super::progress::with_progress;
use super::screen::Screen;
use super::sources::FoundServers;
use super::terminal::Tint;
use super::{CliError, CommandResult, FAILED, OK};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::manager::{ConnectReport, Manager};
use crate::status::{ServerStatus, State};

pub(super) struct Connected {
    /// Statuses of the requested servers.
    pub(super) statuses: Vec<ServerStatus>,
    pub(super) failed: IndexMap<String, Error>,
    /// Servers whose source is not trusted, each with the error to show.
    pub(super) blocked: IndexMap<String, Error>,
    /// Servers whose tools come from the cache.
    pub(super) deferred: Vec<String>,
    /// The requested server, or one that the config requires, is not connected.
    pub(super) is_required_missing: bool,
}

impl Connected {
    /// The exit code: 1 if a server failed. With `--partial`, only if all failed, or one that is required.
    pub(super) fn exit_code(&self, is_partial: bool) -> i32 {
        let is_enough = self.failed.is_empty() || (is_partial && self.has_any());
        if is_enough && !self.is_required_missing { OK } else { FAILED }
    }

    /// Servers that can be asked something: those that are connected, and lazy ones, which a request starts.
    pub(super) fn askable_servers(&self, config: &Config) -> Vec<String> {
        let is_lazy = |name: &str| {
            let declared = config.servers.get(name);
            declared.and_then(|it| it.config.as_ref().ok()).is_some_and(|config| config.lazy)
        };
        let is_askable = |status: &&ServerStatus| match status.state {
            State::Connected | State::Degraded => true,
            State::Idle => is_lazy(&status.name),
            _ => false,
        };
        self.statuses.iter().filter(is_askable).map(|status| status.name.clone()).collect()
    }

    /// Prints and records the error of a server that was asked something after it was connected.
    pub(super) fn add_failure(
        &mut self,
        server: String,
        head: &str,
        error: Error,
        screen: &Screen,
    ) {
        if error.kind() == ErrorKind::Untrusted {
            print_blocked(&server, &error, screen);
            self.blocked.insert(server, error);
        } else {
            screen.trouble(head, &error);
            self.failed.insert(server, error);
        }
    }

    /// Prints how many servers there are of each kind, unless all are connected.
    pub(super) fn print_summary(&self, screen: &Screen) {
        if self.failed.is_empty() && self.blocked.is_empty() {
            return;
        }
        let connected = |status: &&ServerStatus| status.state == State::Connected;
        let counts = [
            (self.statuses.iter().filter(connected).count(), "connected"),
            (self.deferred.len(), "remembered"),
            (self.failed.len(), "failed"),
            (self.blocked.len(), "blocked"),
        ];
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = present.map(|(count, word)| format!("{count} {word}")).collect();
        screen.note(Tint::Bold, "Servers:", &words.join(", "));
    }

    fn has_any(&self) -> bool {
        self.statuses.iter().any(|status| status.tool_count > 0 || status.state == State::Connected)
    }
}

pub(super) async fn connect(
    manager: &Manager,
    found: &FoundServers,
    only: Option<&str>,
    screen: &Screen,
) -> Result<Connected, CliError> {
    found.print_warnings(screen);
    only.map_or(Ok(()), |server| found.check_name(server))?;
    let config = &found.config;
    let outcome = match only {
        Some(server) => connect_one(manager, config, server, screen).await,
        None => {
            let servers = enabled_servers(config);
            with_progress(manager, &servers, screen, manager.connect_all()).await
        }
    };
    print_value_warnings(manager, config, screen);
    let is_required_missing = outcome.is_err();
    let report = match (only, outcome) {
        (_, Ok(report)) => report,
        (None, Err(_)) => ConnectReport::default(),
        (Some(server), Err(error)) => {
            let failed = IndexMap::from([(server.to_owned(), error)]);
            ConnectReport { failed, ..ConnectReport::default() }
        }
    };
    let asked = |status: &ServerStatus| only.is_none_or(|server| status.name == server);
    let statuses: Vec<ServerStatus> = manager.status().into_iter().filter(asked).collect();
    let mut errors = report.failed;
    // Without a report (a required server is missing), the errors are in the statuses. For blocked servers, the report
    // has only names.
    for status in &statuses {
        let is_reported = is_required_missing || status.state == State::Blocked;
        if let (true, Some(error)) = (is_reported, &status.error) {
            errors.entry(status.name.clone()).or_insert_with(|| error.clone());
        }
    }
    let errors = errors.into_iter().map(|(name, error)| {
        let error = advised(&name, config.servers.get(&name), error);
        (name, error)
    });
    let (blocked, failed): (IndexMap<_, _>, IndexMap<_, _>) =
        errors.partition(|(_, error)| error.kind() == ErrorKind::Untrusted);
    for (server, error) in &failed {
        screen.trouble(&failed_to_connect(server), error);
    }
    for (server, error) in &blocked {
        print_blocked(server, error, screen);
    }
    Ok(Connected { statuses, failed, blocked, deferred: report.deferred, is_required_missing })
}

fn print_blocked(server: &str, error: &Error, screen: &Screen) {
    screen.note(Tint::Yellow, &format!("Blocked \"{server}\":"), error.message());
    screen.hint(error);
}

/// Prints warnings about values that were looked up while connecting.
pub(super) fn print_value_warnings(manager: &Manager, config: &Config, screen: &Screen) {
    for warning in manager.warnings().iter().skip(config.warnings.len()) {
        screen.note(Tint::Yellow, "Warning:", warning);
    }
}

/// Connects the server, waits for it and prints its warnings.
pub(super) async fn connect_required(
    manager: &Manager,
    config: &Config,
    server: &str,
    screen: &Screen,
) -> crate::error::Result<()> {
    let connected = connect_one(manager, config, server, screen).await;
    print_value_warnings(manager, config, screen);
    connected.map(drop)
}

async fn connect_one(
    manager: &Manager,
    config: &Config,
    server: &str,
    screen: &Screen,
) -> crate::error::Result<ConnectReport> {
    let servers = [server.to_owned()];
    let connected = with_progress(manager, &servers, screen, manager.connect(server)).await;
    let report = || ConnectReport { connected: servers.into(), ..ConnectReport::default() };
    connected.map(|()| report()).map_err(|error| advised(server, config.servers.get(server), error))
}

/// Ends a command that needs the server.
pub(super) fn not_connected(server: &str, error: Error, screen: &mut Screen) -> CommandResult {
    screen.fail_with(&failed_to_connect(server), &error);
    Ok(FAILED)
}

pub(super) fn failed_to_connect(server: &str) -> String {
    format!("Failed to connect to \"{server}\":")
}

fn enabled_servers(config: &Config) -> Vec<String> {
    let usable = |(name, declared): (&String, &crate::config::Declared)| {
        let on = declared.config.as_ref().is_ok_and(|config| config.enabled);
        on.then(|| name.clone())
    };
    config.servers.iter().filter_map(usable).collect()
}
