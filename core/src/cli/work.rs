//! Owns the life of a manager on the command line: made for one command, closed at its end, however that comes.
//! Invariant: a server that never answered does not hold up the end; what it left running ends with the process.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::interrupt::Interrupt;
use super::screen::Screen;
use super::{Ended, Failure};
use crate::config::{Config, RestartPolicy};
use crate::manager::{Manager, ManagerOptions};
use crate::runtime;
use crate::status::State;

/// How long servers that are not up may take to end before the end of the process ends them.
const GRACE: Duration = Duration::from_millis(20);

/// Works with a manager and closes it, however the work ends.
pub(super) fn with_manager(
    config: Config,
    options: ManagerOptions,
    screen: &mut Screen,
    work: impl AsyncFnOnce(&Manager, &mut Screen) -> Ended,
) -> Ended {
    runtime::start()?;
    let interrupt = Interrupt::listen();
    let manager = Manager::new(config, options);
    runtime::block_on(async {
        let ended = tokio::select! {
            ended = work(&manager, screen) => ended,
            signal = interrupt.heard() => Err(Failure::Interrupted(signal)),
        };
        screen.waiting_for("");
        if let Err(Failure::Interrupted(_)) = ended {
            let _ = timeout(GRACE, manager.close()).await;
            return ended;
        }
        tokio::select! {
            () = close(&manager) => ended,
            signal = interrupt.heard() => Err(Failure::Interrupted(signal)),
        }
    })
}

/// Servers that are up are given the time that is theirs; the others are not waited for.
async fn close(manager: &Manager) {
    let up = |state| matches!(state, State::Connected | State::Degraded);
    let statuses = manager.status();
    let up = statuses.iter().filter(|status| up(status.state));
    let orderly: Vec<_> = up.map(|status| manager.disconnect(&status.name)).collect();
    let all = manager.close();
    join_all(orderly).await;
    let _ = timeout(GRACE, all).await;
}

/// The same servers for one look at them: none is tried twice.
pub(super) fn tried_once(mut config: Config) -> Config {
    for declared in config.servers.values_mut() {
        if let Ok(server) = &mut declared.config {
            server.restart = RestartPolicy::never();
        }
    }
    config
}
