//! Owns a manager's holds on the connections of other identities than its own. A call acquires one; it is released when
//! nobody has called for a while.
//! Invariant: a hold with a call in progress is not released by the passing of time.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::future::join_all;

use super::Inner;
use super::server::Server;
use crate::caller::{CallerHeaders, Identity};
use crate::completion::Completion;
use crate::config::{Isolate, ServerConfig};
use crate::connection::Connection;
use crate::error::Result;
use crate::pool::{Connections, Lease, Release};
use crate::runtime;
use crate::status::State;
use crate::sync::lock;

/// How long the connection of an identity is kept without calls.
const KEPT: Duration = Duration::from_secs(300);

/// The connections to one server for other identities.
#[derive(Default)]
pub(super) struct Identities {
    holds: Mutex<HashMap<Identity, Arc<IdentityHold>>>,
}

/// A manager's hold on the connection of one identity.
pub(super) struct IdentityHold {
    lease: Lease,
    /// The definition as calls see it: each may start the server.
    pub(super) config: ServerConfig,
    /// When it was used last, by the clock, in milliseconds.
    used_ms: AtomicU64,
}

impl IdentityHold {
    fn new(lease: Lease, config: ServerConfig) -> Arc<IdentityHold> {
        let config = ServerConfig { lazy: true, ..config };
        let hold = IdentityHold { lease, config, used_ms: AtomicU64::new(0) };
        hold.touch();
        Arc::new(hold)
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        self.lease.connection()
    }

    fn touch(&self) {
        let now = self.connection().clock().now();
        self.used_ms.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// Whether nobody has used it for a while, and no call is in progress. Calls that wait hold a reference.
    fn is_unused(self: &Arc<Self>) -> bool {
        let used = Duration::from_millis(self.used_ms.load(Ordering::Relaxed));
        let published = self.connection().published();
        let is_quiet = published.live.as_ref().is_none_or(|live| live.session.is_quiet());
        let is_old = self.connection().clock().now() >= used + KEPT;
        is_old && is_quiet && Arc::strong_count(self) == 1
    }
}

impl Identities {
    /// The hold of an identity, acquired if there is none; also returns whether it is the first of all.
    pub(super) fn get(
        &self,
        identity: &Identity,
        config: &ServerConfig,
        acquire: impl FnOnce(&ServerConfig) -> Result<Lease>,
    ) -> Result<(Arc<IdentityHold>, bool)> {
        let mut holds = lock(&self.holds);
        if let Some(hold) = holds.get(identity) {
            hold.touch();
            return Ok((hold.clone(), false));
        }
        let mut config = config.clone();
        config.scope.identity = Some(identity.clone());
        let hold = IdentityHold::new(acquire(&config)?, config);
        holds.insert(identity.clone(), hold.clone());
        Ok((hold, holds.len() == 1))
    }

    /// Changes the settings of all connections in place.
    pub(super) fn set(&self, config: &ServerConfig) {
        let mut holds = lock(&self.holds);
        for hold in holds.values_mut() {
            hold.lease.set(config);
            let mut config = ServerConfig { lazy: true, ..config.clone() };
            config.scope.identity = hold.config.scope.identity.clone();
            if let Some(hold) = Arc::get_mut(hold) {
                hold.config = config;
            }
        }
    }

    /// Releases all; resolves when those connections have ended that have to end.
    pub(super) fn release(&self, how: Release) -> Option<Completion> {
        let holds: Vec<_> = lock(&self.holds).drain().map(|(_, hold)| hold).collect();
        let ending: Vec<_> = holds.iter().map(|hold| hold.lease.release(how)).collect();
        (!ending.is_empty()).then(|| Completion::new(async move { drop(join_all(ending).await) }))
    }

    /// The states of the connections, by identity.
    pub(super) fn states(&self) -> BTreeMap<String, State> {
        let holds = lock(&self.holds);
        let state = |hold: &IdentityHold| hold.connection().published().state;
        holds.iter().map(|(identity, hold)| (identity.to_string(), state(hold))).collect()
    }

    /// Releases the unused ones; returns whether any is left.
    fn release_unused(&self) -> bool {
        let mut holds = lock(&self.holds);
        for (_, hold) in holds.extract_if(|_, hold| hold.is_unused()) {
            drop(hold.lease.release(Release::Disconnect));
        }
        !holds.is_empty()
    }
}

impl Inner {
    /// Acquires the server's connection for another identity than the manager's.
    pub(super) fn hold_for(
        &self,
        server: &Server,
        identity: &Identity,
    ) -> Result<Arc<IdentityHold>> {
        self.check_open()?;
        self.pool.check_process()?;
        let (hold, is_first) = server.hold_for(identity, |config| {
            let config = self.admit(server, config)?;
            let sink = self.sink.for_identity(identity);
            self.home(&config).acquire(&server.name, &config, self.pool.clock(), &sink)
        })?;
        if is_first {
            let clock = self.pool.clock().clone();
            let identities = Arc::downgrade(server.identities());
            runtime::spawn(async move {
                while release_unused(&identities) {
                    clock.sleep(KEPT).await;
                }
            });
        }
        Ok(hold)
    }

    /// Where a connection of this definition is kept.
    pub(super) fn home(&self, config: &ServerConfig) -> &Arc<Connections> {
        match (config.shared, config.isolate) {
            // An untrusted definition must not occupy a name in the process-wide pool.
            _ if config.scope.is_restricted() => &self.family,
            (true, Isolate::None) => self.pool.connections(),
            (true, Isolate::Session) => &self.own,
            (false, _) => &self.family,
        }
    }

    /// The manager's own headers for a server; none for programs, and none for a project that is not trusted.
    pub(super) fn default_headers(
        &self,
        server: &Server,
        config: &ServerConfig,
    ) -> Option<CallerHeaders> {
        let headers = self.options.headers.as_ref()?.for_server(&server.name)?;
        (!config.transport.starts_program() && !self.is_untrusted(server)).then_some(headers)
    }
}

/// Releases the unused ones; returns whether any is left.
fn release_unused(identities: &Weak<Identities>) -> bool {
    identities.upgrade().is_some_and(|identities| identities.release_unused())
}
