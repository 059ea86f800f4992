//! Owns the connections: one per server name and caller's identity, held by any number of managers. A connection ends with
//! its last holder unless it is kept alive.
//! Invariant: one name has one definition while it is held, and no connection serves two identities or uses the logins of
//! a manager that keeps them elsewhere.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use crate::caller::Identity;
use crate::catalog::ManagerSink;
use crate::client_info::ClientInfo;
use crate::clock::Clock;
use crate::completion::Completion;
use crate::config::{KeepAlive, ServerConfig};
use crate::connection::{Connection, ConnectionHost};
use crate::error::{Error, ErrorKind, Result};
use crate::fork::{PerProcess, ProcessLocal};
use crate::oauth::LoginPlace;
use crate::options::{Language, OptionKind, OptionValue, Options, options};
use crate::runtime;
use crate::status::State;
use crate::subscribers::Subscriber;
use crate::sync::lock;

mod lease;

pub(crate) use lease::{Lease, Release};

options! {
    /// Options of a pool; the defaults are good.
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct PoolOptions of "a pool" {
        /// How long a connection that no manager holds any more stays up. A server's own `keepAlive` wins. The default is
        /// not at all.
        keep_alive: Option<KeepAlive> = None,
        /// What servers are told about their client, in place of what is set for the process: the name and version of your
        /// agent. The default is our own.
        client_info: Option<ClientInfo> = None,
        /// The clock of restarts and other waits. A "manual" one stands still until it is advanced; it is for tests.
        clock: Clock = Clock::system(),
    }
}

impl PoolOptions {
    /// Reads `{"keep_alive": seconds or "always", "clock": "system" or "manual"}`.
    #[doc(hidden)]
    pub fn from_json(text: &str, language: Language) -> Result<Self> {
        Self::read(text, language)
    }
}

impl OptionValue for KeepAlive {
    fn kind() -> OptionKind {
        OptionKind::TimeOrWords(&["always"])
    }

    fn from_value(value: &Value, language: Language) -> Option<Self> {
        match value.as_str() {
            Some(word) => (word == "always").then_some(KeepAlive::Always),
            None => Duration::from_value(value, language).map(KeepAlive::For),
        }
    }
}

impl OptionValue for Clock {
    fn kind() -> OptionKind {
        OptionKind::Words(&["system", "manual"])
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        match value.as_str()? {
            "system" => Some(Clock::system()),
            "manual" => Some(Clock::manual()),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        "system".into()
    }
}

/// The shared connections of managers. Every process has one pool; others are separate.
#[derive(Clone)]
pub struct Pool(ProcessLocal<Arc<Inner>>);

struct Inner {
    connections: Arc<Connections>,
    options: PoolOptions,
}

impl Pool {
    /// A pool separate from the process-wide one.
    pub fn new(options: PoolOptions) -> Pool {
        Pool(ProcessLocal::new(Arc::new(Inner {
            connections: Connections::kept(options.keep_alive),
            options,
        })))
    }

    /// The process-wide pool.
    pub fn shared() -> Pool {
        static SHARED: PerProcess<Pool> = PerProcess::new(|| Pool::new(PoolOptions::default()));
        SHARED.get().clone()
    }

    /// The clock of supervision.
    pub fn clock(&self) -> &Clock {
        &self.0.options.clock
    }

    /// Advances a manual clock by a time in the unit of a language.
    #[doc(hidden)]
    pub fn advance(&self, time: f64, language: Language) -> Result<()> {
        let by = Duration::from_value(&time.into(), language).ok_or_else(|| {
            let expected = OptionKind::Time.expected(language);
            let text = format!("The time to advance must be {expected}, 0 or more");
            Error::new(ErrorKind::InvalidArguments, text)
        })?;
        self.clock().advance(by);
        Ok(())
    }

    pub(crate) fn options(&self) -> &PoolOptions {
        &self.0.options
    }

    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.0.connections
    }

    /// Whether this process created the pool.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.0.is_inherited() {
            let text = "This pool belongs to the parent process: its connections are not here";
            return Err(
                Error::new(ErrorKind::Closed, text).with_hint("create a new Pool after the fork")
            );
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Ends the connections kept without a holder: nothing can acquire them any more.
        lock(&self.connections.by_key).clear();
    }
}

/// Connections by name and identity. By default each ends with its last holder, whatever its definition says.
#[derive(Default)]
pub(crate) struct Connections {
    by_key: Mutex<HashMap<PoolKey, PooledConnection>>,
    /// Whether connections may stay without a holder.
    keeps: bool,
    /// How long, if the definition does not say.
    keep_alive: Option<KeepAlive>,
    /// How many leases there were.
    visits: AtomicU64,
}

/// Two managers share a connection if its key is the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PoolKey {
    name: Arc<str>,
    identity: Option<Identity>,
    logins: Option<LoginPlace>,
}

impl PoolKey {
    /// Whether it is the same server for the same identity, with logins that are kept elsewhere.
    fn is_beside(&self, other: &PoolKey) -> bool {
        self.name == other.name && self.identity == other.identity && self.logins != other.logins
    }
}

struct PooledConnection {
    connection: Arc<Connection>,
    config: ServerConfig,
    /// One for each lease.
    holders: Vec<Arc<ManagerSink>>,
    /// The number of the last lease, so that a delayed end notices a new one.
    visits: u64,
}

impl Connections {
    fn kept(keep_alive: Option<KeepAlive>) -> Arc<Self> {
        Arc::new(Connections { keeps: true, keep_alive, ..Connections::default() })
    }

    /// The connection of this name and of the definition's identity, for as long as the lease is held.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        name: &str,
        config: &ServerConfig,
        options: &PoolOptions,
        sink: &Arc<ManagerSink>,
    ) -> Result<Lease> {
        let login_store = sink.login_store();
        let key = PoolKey {
            name: name.into(),
            identity: config.scope.identity.clone(),
            logins: LoginPlace::new(config, login_store),
        };
        let (connection, is_replaced) = {
            let mut connections = lock(&self.by_key);
            check_other_logins(&mut connections, &key, config)?;
            let sibling = connections.iter().find(|(other, _)| other.name == key.name);
            let sibling = sibling.map(|(_, pooled)| pooled.connection.clone());
            let pooled = connections.entry(key.clone()).or_insert_with(|| {
                let (config, sibling) = (config.clone(), sibling.as_deref());
                let host = ConnectionHost {
                    clock: options.clock.clone(),
                    client_info: options.client_info.clone().map(Arc::new),
                    login_store: login_store.cloned(),
                };
                let connection = Connection::new(name, config.clone(), host, sibling);
                PooledConnection::new(connection, config)
            });
            let (differences, is_replaced) = pooled.differences(config);
            if !differences.is_empty() {
                if !pooled.holders.is_empty() {
                    return Err(conflict(name, &differences));
                }
                match is_replaced {
                    true => pooled.replace(config),
                    false => pooled.set(config),
                }
            }
            pooled.holders.push(sink.clone());
            pooled.visits = self.visits.fetch_add(1, Ordering::Relaxed) + 1;
            (pooled.connection.clone(), is_replaced)
        };
        connection.subscribers().join(subscriber(sink));
        report_history(name, &connection, sink, is_replaced);
        Ok(Lease {
            key,
            connections: self.clone(),
            connection,
            sink: sink.clone(),
            trusted: config.scope.trusted.clone(),
            released: AtomicBool::new(false),
        })
    }

    /// Removes the connection, unless it is held again.
    fn remove(&self, key: &PoolKey, visits: u64) {
        let mut connections = lock(&self.by_key);
        if connections.get(key).is_some_and(|pooled| pooled.visits == visits) {
            connections.remove(key);
        }
    }

    /// Starts closing the connection if there was no new lease since. Done under the lock, so that the next lease
    /// requests a connection after this one was told to end.
    fn begin_end(self: &Arc<Self>, key: &PoolKey, visits: u64) -> Option<Completion> {
        let connections = lock(&self.by_key);
        let pooled = connections.get(key)?;
        if !pooled.holders.is_empty() || pooled.visits != visits {
            return None;
        }
        let (ended, logins) = (pooled.connection.disconnect(), pooled.connection.logins());
        let (connections, key) = (self.clone(), key.clone());
        let task = runtime::spawn(async move {
            let stored = join_all(logins.iter().map(|login| login.finish()));
            tokio::join!(ended, stored);
            connections.remove(&key, visits);
        });
        Some(Completion::new(async move { drop(task.await) }))
    }
}

impl PooledConnection {
    fn new(connection: Connection, config: ServerConfig) -> Self {
        PooledConnection {
            connection: Arc::new(connection),
            config,
            holders: Vec::new(),
            visits: 0,
        }
    }

    /// The fields in which another definition differs, and whether it is that of another server.
    fn differences(&self, config: &ServerConfig) -> (Vec<&'static str>, bool) {
        let mut differences = self.config.identity_differences(config);
        let is_another = !differences.is_empty();
        differences.extend(self.config.setting_differences(config));
        (differences, is_another)
    }

    fn set(&mut self, config: &ServerConfig) {
        self.config = config.clone();
        self.connection.set(config.clone());
    }

    fn replace(&mut self, config: &ServerConfig) {
        self.config = config.clone();
        self.connection.replace(config.clone());
    }
}

/// Checks that managers that keep logins elsewhere have the same definition of a server; a connection that none of them holds
/// gives way to another definition.
fn check_other_logins(
    connections: &mut HashMap<PoolKey, PooledConnection>,
    key: &PoolKey,
    config: &ServerConfig,
) -> Result<()> {
    let mut outdated = Vec::new();
    for (other, pooled) in connections.iter() {
        if !other.is_beside(key) {
            continue;
        }
        let (differences, _) = pooled.differences(config);
        match (differences.is_empty(), pooled.holders.is_empty()) {
            (true, _) => {}
            (false, true) => outdated.push(other.clone()),
            (false, false) => return Err(conflict(&key.name, &differences)),
        }
    }
    outdated.iter().for_each(|other| drop(connections.remove(other)));
    Ok(())
}

/// Reports the state of a connection to a manager that joins it. Tools of another definition, which may still be
/// present for a moment, are not compared with this one's pins.
fn report_history(name: &str, connection: &Connection, sink: &Arc<ManagerSink>, is_replaced: bool) {
    for line in connection.warnings() {
        sink.warn_once(name, &line);
    }
    let published = connection.published();
    if published.state != State::Idle {
        sink.emit(name, published.status_event(connection.clock()));
    }
    if !published.tools.list.is_empty() && !is_replaced {
        sink.invalidate_catalog();
        sink.compare_tools(connection);
        sink.emit_tool_count(name, &published.tools, &published.mask());
    }
    for suspicion in connection.suspicions() {
        sink.report_suspicion(name, &suspicion);
    }
}

fn subscriber(sink: &Arc<ManagerSink>) -> Weak<dyn Subscriber> {
    let subscriber: Weak<ManagerSink> = Arc::downgrade(sink);
    subscriber
}

fn conflict(name: &str, differences: &[&str]) -> Error {
    let fields = differences.join(", ");
    let text = format!(
        "Server \"{name}\" is in use by another manager with a different definition ({fields})"
    );
    Error::new(ErrorKind::ConfigConflict, text)
        .naming_server(name)
        .with_hint("give it another name, or \"shared\": false, or close the other manager first")
}
