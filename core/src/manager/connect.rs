//! Owns the verbs that connect servers: one, or all in parallel within the startup gate (`gate`); and how many attempts
//! run at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use indexmap::IndexMap;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::server::Server;
use super::trust::Access;
use super::{Inner, Manager, on_runtime};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};

mod gate;

/// The outcome of `connect_all`.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ConnectReport {
    /// Servers that are up.
    pub connected: Vec<String>,
    /// Servers whose tools are known only from the cache so far; calls wait for them.
    pub deferred: Vec<String>,
    /// Servers whose first attempt is still running, with no known tools yet.
    pub pending: Vec<String>,
    /// Servers whose first attempt failed, and why; their restart policy continues in the background.
    pub failed: IndexMap<String, Error>,
    /// Servers whose source is not trusted. This includes servers that would replace one of the user's, which is used
    /// instead until then.
    pub blocked: Vec<String>,
    /// Servers that are switched off.
    pub disabled: Vec<String>,
    /// How long each server took to connect.
    pub durations_ms: IndexMap<String, f64>,
}

impl Manager {
    /// Connects all enabled servers in parallel. Returns when each is up or has failed, or when the startup gate
    /// closes. Servers that are late then get their cached tools and continue to connect in the background. For a late
    /// server without cached tools it waits, within the server's own timeout.
    /// A failing server is in the report; only a failing `required` server makes this an error.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// let report = manager.connect_all().await?;
    /// println!("{:?} are up", report.connected);
    /// for (server, error) in &report.failed {
    ///     eprintln!("{server}: {error}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect_all(&self) -> impl Future<Output = Result<ConnectReport>> + Send + use<> {
        let manager = self.clone();
        on_runtime(async move {
            manager.check_open()?;
            let servers: Vec<_> = manager.0.servers.load().values().cloned().collect();
            let (gate, starts) = manager.0.begin_starts(servers).await;
            let me = manager.0.me.clone();
            let held_back = manager.0.held_back().into_iter().map(|entry| entry.name);
            let held_back: Vec<String> = held_back.filter(|name| !name.is_empty()).collect();
            drop(manager);
            let mut report = gate.pass(starts).await?;
            report.blocked.extend(held_back);
            // A yes replaces servers, so it must not be applied while they connect.
            if let Some(manager) = me.upgrade() {
                manager.ask_about_held_back();
            }
            Ok(report)
        })
    }

    /// Connects one server and waits for the attempt to end; does nothing when it is connected.
    pub fn connect(&self, server: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            manager.check_open()?;
            let server = manager.find(&name)?;
            manager.0.refresh_trust([&server.declared].into_iter()).await;
            let slots = manager.0.slots_for(&server);
            let reached = manager.0.reach(&server);
            drop((server, manager));
            let connection = match reached {
                Access::Granted(connection) => connection,
                Access::Pending(held) => held.await?,
                Access::Refused(error) => return Err(error),
            };
            connect_in_turn(connection, slots).await
        })
    }

    /// Resolves when the server is connected, however many attempts that takes, or with its error when nothing more
    /// is tried or the limit has passed (by default the server's own timeout). Starts nothing.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// manager.wait_for("time", Some(std::time::Duration::from_secs(5))).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for(
        &self,
        server: &str,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            manager.check_open()?;
            let server = manager.find(&name)?;
            let is_own_timeout = limit.is_none();
            let limit = limit.unwrap_or(server.usable()?.timeout);
            if server.was_left() {
                return Err(Error::disconnected(&name));
            }
            let reached = manager.0.reach(&server);
            drop((server, manager));
            let late = || {
                let text =
                    format!("Server \"{name}\" was not connected within {} ms", limit.as_millis());
                Error::new(ErrorKind::ConnectTimeout, text).naming_server(&name)
            };
            let deadline = tokio::time::Instant::now().checked_add(limit);
            let connection = match reached {
                Access::Granted(connection) => connection,
                Access::Pending(held) => timeout_at(deadline, held).await.ok_or_else(late)??,
                Access::Refused(error) => return Err(error),
            };
            // The server's own timeout does not include the wait for a start permit.
            let (mut ready, before) = (pin!(connection.ready()), connection.queued());
            let mut late_by = Duration::ZERO;
            loop {
                let deadline = deadline.and_then(|deadline| deadline.checked_add(late_by));
                if let Some(outcome) = timeout_at(deadline, &mut ready).await {
                    return outcome;
                }
                let queued = connection.queued().saturating_sub(before);
                if !is_own_timeout || queued <= late_by {
                    break;
                }
                late_by = queued;
            }
            let last_error = connection.published().error.clone();
            Err(last_error.unwrap_or_else(late))
        })
    }
}

/// The outcome, or `None` if the deadline passes first.
async fn timeout_at<T>(
    deadline: Option<tokio::time::Instant>,
    outcome: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, outcome).await.ok(),
        None => Some(outcome.await),
    }
}

impl Inner {
    /// Limits the attempts to connect this server. Programs share the machine's start queue, unless the manager has its
    /// own limit.
    pub(super) fn slots_for(&self, server: &Server) -> Option<Arc<Semaphore>> {
        let starts_program =
            server.declared.config.as_ref().is_ok_and(|config| config.transport.starts_program());
        let unbounded = starts_program && self.options.connect_concurrency.is_none();
        (!unbounded).then(|| self.connect_slots.clone())
    }
}

/// Limits concurrent attempts, in the order of the requests; a queued attempt ends with the manager.
pub(super) fn connect_in_turn(
    connection: Arc<Connection>,
    slots: Option<Arc<Semaphore>>,
) -> impl Future<Output = Result<()>> + Send {
    let mut turn = slots.map(|slots| Box::pin(slots.acquire_owned()));
    // Polled once now, to take the place in the queue.
    let at_once = turn.as_mut().and_then(|turn| turn.now_or_never());
    async move {
        let slot = match (at_once, turn) {
            (Some(slot), _) => Some(slot),
            (None, Some(turn)) => Some(turn.await),
            (None, None) => None,
        };
        let Ok(_slot) = slot.transpose() else {
            return Err(Error::closed());
        };
        connection.connect().await
    }
}
