//! Owns the manager's lifetime on the command line: created for one command, always closed at its end.
//! Invariant: a server that never answered does not delay the end; the process exit ends what it left running.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::interrupt::Interrupt;
use super::screen::Screen;
use super::{CliError, CommandResult};
use crate::config::{Config, RestartPolicy};
use crate::manager::{Manager, ManagerOptions};
use crate::runtime;
use crate::status::State;

/// How long servers that are not connected may take to end before the process exits.
const GRACE: Duration = Duration::from_millis(20);

/// Runs `work` with a manager and closes the manager, however `work` ends.
pub(super) fn with_manager(
    config: Config,
    options: ManagerOptions,
    screen: &mut Screen,
    work: impl AsyncFnOnce(&Manager, &mut Screen) -> CommandResult,
) -> CommandResult {
    runtime::start()?;
    let interrupt = Interrupt::listen();
    let manager = Manager::new(config, options);
    runtime::block_on(async {
        let ended = tokio::select! {
            ended = work(&manager, screen) => ended,
            signal = interrupt.received() => Err(CliError::Interrupted(signal)),
        };
        screen.waiting_for("");
        if let Err(CliError::Interrupted(_)) = ended {
            let _ = timeout(GRACE, manager.close()).await;
            return ended;
        }
        tokio::select! {
            () = close(&manager) => ended,
            signal = interrupt.received() => Err(CliError::Interrupted(signal)),
        }
    })
}

/// Connected servers get their full time to close; the others are not waited for.
async fn close(manager: &Manager) {
    let up = |state| matches!(state, State::Connected | State::Degraded);
    let statuses = manager.status();
    let up = statuses.iter().filter(|status| up(status.state));
    let orderly: Vec<_> = up.map(|status| manager.disconnect(&status.name)).collect();
    let all = manager.close();
    join_all(orderly).await;
    let _ = timeout(GRACE, all).await;
}

/// The same config without restarts: each server is tried once.
pub(super) fn without_restarts(mut config: Config) -> Config {
    for declared in config.servers.values_mut() {
        if let Ok(server) = &mut declared.config {
            server.restart = RestartPolicy::never();
        }
    }
    config
}
