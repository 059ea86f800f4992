//! Owns the startup gate: it waits for the servers that connect, and replaces those that are late by their cached
//! tools.
//! Invariant: a start does not keep the manager alive.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{ConnectReport, connect_in_turn};
use crate::catalog::Cache;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::manager::server::Server;
use crate::manager::trust::Access;
use crate::manager::{Inner, PendingWithoutCache};
use crate::redact::Mask;
use crate::runtime;
use crate::status::State;
use crate::tool::Tools;

/// One server's start. It does not keep the manager's hold on the connection: dropping the manager ends the start.
pub(in crate::manager) struct ServerStart {
    name: String,
    required: bool,
    fingerprint: String,
    began: Instant,
    slots: Option<Arc<Semaphore>>,
    state: StartState,
}

/// The startup gate: how long to wait for servers, and what replaces those that are late.
#[derive(Clone)]
pub(in crate::manager) struct Gate {
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
    Settled(StartOutcome, Instant),
}

/// How a start ended, as far as the gate waited for it.
enum StartOutcome {
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

impl Inner {
    /// Starts connecting these servers.
    pub(in crate::manager) async fn begin_starts(
        &self,
        servers: Vec<Arc<Server>>,
    ) -> (Gate, Vec<ServerStart>) {
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
                Access::Refused(error) => StartState::Settled(StartOutcome::Failed(error), began),
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
    pub(in crate::manager) async fn pass(
        self,
        mut starts: Vec<ServerStart>,
    ) -> Result<ConnectReport> {
        let closing = self.clock.sleep(self.patience);
        self.decide_lazy(&mut starts).await;
        tokio::select! {
            biased;
            () = settle_all(starts.iter_mut()) => {}
            () = closing => {}
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
        report_on(starts)
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
    async fn decide_lazy(&self, starts: &mut [ServerStart]) {
        for start in starts {
            if let StartState::Undecided(connection) = &start.state {
                let connection = connection.clone();
                start.state = if self.may_sleep(start, &connection).await {
                    StartState::Settled(StartOutcome::Deferred, Instant::now())
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
                start.state = StartState::Settled(StartOutcome::Deferred, Instant::now());
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
            let listed = cache.load(&name, &fingerprint, now_ms)?.tools;
            Some(Tools::read(&name.into(), listed, &Mask::default()).0)
        };
        runtime::spawn_blocking(read).await.ok().flatten()
    }
}

async fn settle_all(starts: impl Iterator<Item = &mut ServerStart>) {
    for start in starts {
        if let StartState::Running(_, task) = &mut start.state {
            let closed = || Err(Error::new(ErrorKind::Closed, "The runtime has ended"));
            let (outcome, at) = task.await.unwrap_or_else(|_| (closed(), Instant::now()));
            let outcome = match outcome {
                Ok(()) => StartOutcome::Up,
                Err(error) => StartOutcome::Failed(error),
            };
            start.state = StartState::Settled(outcome, at);
        }
    }
}

fn report_on(starts: Vec<ServerStart>) -> Result<ConnectReport> {
    let mut report = ConnectReport::default();
    let mut missing = None;
    for ServerStart { name, required, began, state, .. } in starts {
        let (outcome, at) = match state {
            StartState::Settled(outcome, at) => (outcome, at),
            StartState::Undecided(_) | StartState::Running(..) => {
                (StartOutcome::Pending, Instant::now())
            }
        };
        match outcome {
            StartOutcome::Up => report.connected.push(name.clone()),
            StartOutcome::Deferred => report.deferred.push(name.clone()),
            StartOutcome::Pending => report.pending.push(name.clone()),
            StartOutcome::Failed(error) if error.kind() == ErrorKind::ServerDisabled => {
                report.disabled.push(name);
                continue;
            }
            StartOutcome::Failed(error) => {
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
