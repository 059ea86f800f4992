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
use crate::config::ServerConfig;
use crate::connection::Connection;
use crate::error::Result;
use crate::pool::{Lease, Release};
use crate::runtime;
use crate::status::State;
use crate::sync::lock;

/// How long the connection of an identity is kept without calls.
const KEPT: Duration = Duration::from_secs(300);

/// The connections to one server for other identities.
#[derive(Default)]
pub(super) struct Identities(Mutex<Holds>);

#[derive(Default)]
struct Holds {
    by_identity: HashMap<Identity, Arc<IdentityHold>>,
    /// Whether a task releases the unused ones.
    is_watched: bool,
}

/// What [`Identities::get`] returns.
pub(super) struct Held {
    hold: Arc<IdentityHold>,
    is_new: bool,
    /// Whether a task has to be started that releases unused ones.
    wants_watch: bool,
}

/// A manager's hold on the connection of one identity.
pub(super) struct IdentityHold {
    lease: Arc<Lease>,
    /// The definition as calls see it: each may start the server.
    pub(super) config: ServerConfig,
    /// When it was used last, by the clock, in milliseconds.
    used_ms: AtomicU64,
}

impl IdentityHold {
    fn new(lease: Lease, config: ServerConfig) -> Arc<IdentityHold> {
        let config = ServerConfig { lazy: true, ..config };
        let hold = IdentityHold { lease: Arc::new(lease), config, used_ms: AtomicU64::new(0) };
        hold.touch();
        Arc::new(hold)
    }

    /// The same hold with other settings; calls in progress keep the ones that they began with.
    fn with_settings(&self, config: &ServerConfig) -> Arc<IdentityHold> {
        let mut config = ServerConfig { lazy: true, ..config.clone() };
        config.scope.identity = self.config.scope.identity.clone();
        let used_ms = AtomicU64::new(self.used_ms.load(Ordering::Relaxed));
        Arc::new(IdentityHold { lease: self.lease.clone(), config, used_ms })
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
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
        let is_waited_for = Arc::strong_count(self) > 1 || Arc::strong_count(&self.lease) > 1;
        is_old && is_quiet && !is_waited_for
    }
}

impl Identities {
    /// The hold of an identity, acquired if there is none.
    pub(super) fn get(
        &self,
        identity: &Identity,
        config: &ServerConfig,
        acquire: impl FnOnce(&ServerConfig) -> Result<Lease>,
    ) -> Result<Held> {
        let mut holds = lock(&self.0);
        if let Some(hold) = holds.by_identity.get(identity) {
            hold.touch();
            return Ok(Held { hold: hold.clone(), is_new: false, wants_watch: false });
        }
        let mut config = config.clone();
        config.scope.identity = Some(identity.clone());
        let hold = IdentityHold::new(acquire(&config)?, config);
        holds.by_identity.insert(identity.clone(), hold.clone());
        let wants_watch = !std::mem::replace(&mut holds.is_watched, true);
        Ok(Held { hold, is_new: true, wants_watch })
    }

    /// Changes the settings of all connections in place.
    pub(super) fn set(&self, config: &ServerConfig) {
        for hold in lock(&self.0).by_identity.values_mut() {
            hold.lease.set(config);
            *hold = hold.with_settings(config);
        }
    }

    /// Releases all; resolves when those connections have ended that have to end.
    pub(super) fn release(&self, how: Release) -> Option<Completion> {
        let holds: Vec<_> = lock(&self.0).by_identity.drain().map(|(_, hold)| hold).collect();
        let ending: Vec<_> = holds.iter().map(|hold| hold.lease.release(how)).collect();
        (!ending.is_empty()).then(|| Completion::new(async move { drop(join_all(ending).await) }))
    }

    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        let holds = lock(&self.0);
        holds.by_identity.values().map(|hold| hold.connection().clone()).collect()
    }

    /// The states of the connections, by identity.
    pub(super) fn states(&self) -> BTreeMap<String, State> {
        let holds = &lock(&self.0).by_identity;
        let state = |hold: &IdentityHold| hold.connection().published().state;
        holds.iter().map(|(identity, hold)| (identity.to_string(), state(hold))).collect()
    }

    /// Releases the unused ones; returns whether others have to be watched.
    fn release_unused(&self) -> bool {
        let mut holds = lock(&self.0);
        for (_, hold) in holds.by_identity.extract_if(|_, hold| hold.is_unused()) {
            drop(hold.lease.release(Release::Disconnect));
        }
        holds.is_watched = !holds.by_identity.is_empty();
        holds.is_watched
    }
}

impl Inner {
    /// Acquires the server's connection for another identity than the manager's; also returns whether it was not held
    /// before.
    pub(super) fn hold_for(
        &self,
        server: &Server,
        identity: &Identity,
    ) -> Result<(Arc<IdentityHold>, bool)> {
        self.check_open()?;
        self.pool.check_process()?;
        let Held { hold, is_new, wants_watch } = server.hold_for(identity, |config| {
            let config = self.admit(server, config)?;
            let sink = self.sink.for_identity(identity);
            self.home(&config).acquire(&server.name, &config, self.pool.options(), &sink)
        })?;
        if wants_watch {
            let clock = self.pool.clock().clone();
            let identities = Arc::downgrade(server.identities());
            runtime::spawn(async move {
                while release_unused(&identities) {
                    clock.sleep(KEPT).await;
                }
            });
        }
        Ok((hold, is_new))
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

/// Same as [`Identities::release_unused`], while there is a manager.
fn release_unused(identities: &Weak<Identities>) -> bool {
    identities.upgrade().is_some_and(|identities| identities.release_unused())
}
