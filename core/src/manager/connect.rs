//! Owns connecting servers: all in parallel, within the startup gate, with cached tools for late servers.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use indexmap::IndexMap;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::server::Server;
use super::trust::Access;
use super::{Inner, Manager, PendingWithoutCache, on_runtime};
use crate::catalog::Cache;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Mask;
use crate::runtime;
use crate::status::State;
use crate::tool::Tools;

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

/// One server's start. It does not keep the manager's hold on the connection: dropping the manager ends the start.
pub(super) struct ServerStart {
    name: String,
    required: bool,
    fingerprint: String,
    began: Instant,
    slots: Option<Arc<Semaphore>>,
    state: StartState,
}

/// The startup gate: how long to wait for servers, and what replaces those that are late.
#[derive(Clone)]
pub(super) struct Gate {
    clock: Clock,
    patience: Duration,
    pending_without_cache: PendingWithoutCache,
    cache: Cache,
    /// Closed with the manager.
    slots: Arc<Semaphore>,
}

enum StartState {
    /// A lazy server that may not need to run.
    Undecided(Arc<Connection>),
    /// Without a connection while the trust decision is open.
    Running(Option<Arc<Connection>>, JoinHandle<(Result<()>, Instant)>),
    Settled(Outcome, Instant),
}

enum Outcome {
    Up,
    Deferred,
    Pending,
    Failed(Error),
}

impl ServerStart {
    fn is_finished(&self) -> bool {
        matches!(&self.state, StartState::Running(_, task) if task.is_finished())
    }
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
                Error::new(ErrorKind::ConnectTimeout, text).with_server(&name)
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
        let is_program =
            server.declared.config.as_ref().is_ok_and(|config| config.transport.is_stdio());
        let unbounded = is_program && self.options.connect_concurrency.is_none();
        (!unbounded).then(|| self.connect_slots.clone())
    }

    /// Starts connecting these servers.
    pub(super) async fn begin_starts(&self, servers: Vec<Arc<Server>>) -> (Gate, Vec<ServerStart>) {
        self.refresh_trust(servers.iter().map(|server| &server.declared)).await;
        let gate = Gate {
            clock: self.pool.clock().clone(),
            patience: self.options.gate,
            pending_without_cache: self.options.pending_without_cache,
            cache: self.sink.cache.clone(),
            slots: self.connect_slots.clone(),
        };
        let begin = |server: Arc<Server>| {
            let began = Instant::now();
            let config = server.declared.config.as_ref().ok();
            let slots = self.slots_for(&server);
            let state = match self.reach(&server) {
                Access::Refused(error) => StartState::Settled(Outcome::Failed(error), began),
                Access::Granted(connection) if config.is_some_and(|config| config.lazy) => {
                    StartState::Undecided(connection)
                }
                Access::Granted(connection) => gate.run(connection, slots.clone()),
                Access::Pending(held) => gate.run_once_held(held, slots.clone()),
            };
            ServerStart {
                name: server.name.clone(),
                required: server.declared.required,
                fingerprint: server.offer.fingerprint().to_owned(),
                began,
                slots,
                state,
            }
        };
        let starts = servers.into_iter().map(begin).collect();
        (gate, starts)
    }
}

impl Gate {
    pub(super) async fn pass(self, mut starts: Vec<ServerStart>) -> Result<ConnectReport> {
        let closing = self.clock.sleep(self.patience);
        self.decide(&mut starts).await;
        tokio::select! {
            () = closing => {}
            () = settle_all(starts.iter_mut()) => {}
        }
        self.use_cache_for_late(&mut starts).await;
        let waits = self.pending_without_cache == PendingWithoutCache::Wait;
        let awaited =
            starts.iter_mut().filter(|start| waits || start.required || start.is_finished());
        settle_all(awaited).await;
        // The manager was closed in the meantime, and its connections with it.
        if self.slots.is_closed() {
            return Err(Error::closed());
        }
        report(starts)
    }

    fn run(&self, connection: Arc<Connection>, slots: Option<Arc<Semaphore>>) -> StartState {
        let attempt = connect_in_turn(connection.clone(), slots);
        let task = runtime::spawn(async move { (attempt.await, Instant::now()) });
        StartState::Running(Some(connection), task)
    }

    fn run_once_held(
        &self,
        held: impl Future<Output = Result<Arc<Connection>>> + Send + 'static,
        slots: Option<Arc<Semaphore>>,
    ) -> StartState {
        let attempt = async move { connect_in_turn(held.await?, slots).await };
        let task = runtime::spawn(async move { (attempt.await, Instant::now()) });
        StartState::Running(None, task)
    }

    /// Starts the lazy servers without known tools, while the others connect.
    async fn decide(&self, starts: &mut [ServerStart]) {
        for start in starts {
            if let StartState::Undecided(connection) = &start.state {
                let connection = connection.clone();
                start.state = if self.may_sleep(start, &connection).await {
                    StartState::Settled(Outcome::Deferred, Instant::now())
                } else {
                    self.run(connection, start.slots.clone())
                };
            }
        }
    }

    async fn may_sleep(&self, start: &ServerStart, connection: &Connection) -> bool {
        let known = connection.adopt(None).await;
        connection.published().state == State::Idle
            && (known || connection.adopt(self.cached(start).await).await)
    }

    /// Shows the cached tools of late servers.
    async fn use_cache_for_late(&self, starts: &mut [ServerStart]) {
        for start in starts.iter_mut().filter(|start| !start.required) {
            let finished = start.is_finished();
            let StartState::Running(Some(connection), _) = &start.state else { continue };
            if finished {
                continue;
            }
            let known = connection.adopt(self.cached(start).await).await;
            // The attempt may have ended while the cache was read.
            if known && connection.published().live.is_none() {
                start.state = StartState::Settled(Outcome::Deferred, Instant::now());
            }
        }
    }

    async fn cached(&self, start: &ServerStart) -> Option<Tools> {
        if self.cache.is_off() {
            return None;
        }
        let (cache, name) = (self.cache.clone(), start.name.clone());
        let (fingerprint, now_ms) = (start.fingerprint.clone(), self.clock.wall_ms());
        let read = move || {
            let listed = cache.recall(&name, &fingerprint, now_ms)?.tools;
            Some(Tools::read(&name.into(), listed, &Mask::default()).0)
        };
        runtime::handle().spawn_blocking(read).await.ok().flatten()
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

async fn settle_all(starts: impl Iterator<Item = &mut ServerStart>) {
    for start in starts {
        if let StartState::Running(_, task) = &mut start.state {
            let closed = || Err(Error::new(ErrorKind::Closed, "The runtime has ended"));
            let (outcome, at) = task.await.unwrap_or_else(|_| (closed(), Instant::now()));
            let outcome = match outcome {
                Ok(()) => Outcome::Up,
                Err(error) => Outcome::Failed(error),
            };
            start.state = StartState::Settled(outcome, at);
        }
    }
}

fn report(starts: Vec<ServerStart>) -> Result<ConnectReport> {
    let mut report = ConnectReport::default();
    let mut missing = None;
    for ServerStart { name, required, began, state, .. } in starts {
        let (outcome, at) = match state {
            StartState::Settled(outcome, at) => (outcome, at),
            StartState::Undecided(_) | StartState::Running(..) => {
                (Outcome::Pending, Instant::now())
            }
        };
        match outcome {
            Outcome::Up => report.connected.push(name.clone()),
            Outcome::Deferred => report.deferred.push(name.clone()),
            Outcome::Pending => report.pending.push(name.clone()),
            Outcome::Failed(error) if error.kind() == ErrorKind::ServerDisabled => {
                report.disabled.push(name);
                continue;
            }
            Outcome::Failed(error) => {
                if required && missing.is_none() {
                    missing = Some(error.clone());
                }
                if error.kind() == ErrorKind::Untrusted {
                    report.blocked.push(name.clone());
                } else {
                    report.failed.insert(name.clone(), error);
                }
            }
        }
        report.durations_ms.insert(name, (at - began).as_secs_f64() * 1000.0);
    }
    match missing {
        Some(error) => Err(error),
        None => Ok(report),
    }
}
