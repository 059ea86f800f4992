//! Owns a manager's hold on a connection, and how it is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Connections, PoolKey, subscriber};
use crate::catalog::ManagerSink;
use crate::completion::Completion;
use crate::config::{KeepAlive, ScopeTrust, ServerConfig};
use crate::connection::Connection;
use crate::event::EventKind;
use crate::oauth::LoginPlace;
use crate::result::ManagerId;
use crate::runtime;
use crate::status::State;
use crate::subscribers::Subscriber;
use crate::sync::lock;

/// A manager's hold on a connection.
pub(crate) struct Lease {
    pub(super) key: PoolKey,
    pub(super) connections: Arc<Connections>,
    pub(super) connection: Arc<Connection>,
    pub(super) sink: Arc<ManagerSink>,
    /// How far the manager trusts the definition.
    pub(super) trusted: ScopeTrust,
    pub(super) released: AtomicBool,
}

/// How a manager releases a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// The manager closes; a connection that is kept alive stays up.
    Close,
    /// The manager wants this connection closed.
    Disconnect,
}

impl Lease {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Changes the settings of the connection in place; the identity must be the same.
    pub(crate) fn set(&self, config: &ServerConfig) {
        let mut config = config.clone();
        config.scope.trusted = self.trusted.clone();
        config.scope.identity = self.key.identity.clone();
        for (key, pooled) in lock(&self.connections.by_key).iter_mut() {
            if *key == self.key {
                pooled.set(&config);
            } else if key.is_beside(&self.key) {
                let scope = pooled.config.scope.clone();
                pooled.set(&ServerConfig { scope, ..config.clone() });
            }
        }
    }

    pub(crate) fn trusted(&self) -> &ScopeTrust {
        &self.trusted
    }

    /// The managers that hold the connection.
    pub(crate) fn holders(&self) -> Vec<Arc<ManagerSink>> {
        let connections = lock(&self.connections.by_key);
        connections.get(&self.key).map(|pooled| pooled.holders.clone()).unwrap_or_default()
    }

    pub(crate) fn is_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }

    /// Releases the connection. Resolves when it has ended, or at once if it stays up.
    pub(crate) fn release(&self, how: Release) -> Completion {
        self.leave(how).unwrap_or_else(Completion::done)
    }

    fn leave(&self, how: Release) -> Option<Completion> {
        if self.released.swap(true, Ordering::AcqRel) {
            return None;
        }
        let had_tools = !self.connection.published().tools.list.is_empty();
        self.connection.subscribers().leave(&subscriber(&self.sink));
        self.report_disconnected(had_tools);
        let (visits, keep_alive) = {
            let mut connections = lock(&self.connections.by_key);
            let pooled = connections.get_mut(&self.key)?;
            if let Some(at) = pooled.holders.iter().position(|it| Arc::ptr_eq(it, &self.sink)) {
                pooled.holders.remove(at);
            }
            // Uses the current definition: a reload may have changed it.
            (pooled.visits, pooled.config.keep_alive.or(self.connections.keep_alive))
        };
        // A program's store of logins cannot be asked without its manager.
        let has_store = matches!(self.key.logins, Some(LoginPlace::Store(_)));
        let stays = self.connections.keeps && how == Release::Close && !has_store;
        let keep_alive = keep_alive.filter(|_| stays);
        let ending = match keep_alive {
            Some(KeepAlive::Always) => None,
            Some(KeepAlive::For(limit)) if !limit.is_zero() => {
                let (connections, key) = (self.connections.clone(), self.key.clone());
                let until = self.connection.clock().sleep(limit);
                runtime::spawn(async move {
                    until.await;
                    if let Some(ending) = connections.begin_end(&key, visits) {
                        ending.await;
                    }
                });
                None
            }
            _ => self.connections.begin_end(&self.key, visits),
        };
        if ending.is_none() {
            self.end_own_calls();
        }
        ending
    }

    /// Ends the manager's calls on a connection that stays up.
    fn end_own_calls(&self) {
        if let Some(live) = &self.connection.published().live {
            live.session.end_calls_of(ManagerId::from(&self.sink.events));
        }
    }

    fn report_disconnected(&self, had_tools: bool) {
        self.sink.invalidate_catalog();
        let state = State::Disconnected;
        let status =
            EventKind::Status { state, error: None, reason: None, attempt: 0, next_retry_ms: None };
        self.sink.emit(&self.key.name, status);
        if had_tools {
            self.sink.emit(&self.key.name, EventKind::ToolsChanged { tool_count: 0 });
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.leave(Release::Close));
    }
}
