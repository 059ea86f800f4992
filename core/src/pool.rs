//! Owns the home of connections: one per server name, held by any number of managers, gone with the last of them
//! unless it is to stay.
//! Invariant: one name is one definition for as long as anybody holds it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::audience::View;
use crate::clock::Clock;
use crate::config::{KeepAlive, ScopeTrust, ServerConfig};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EventKind;
use crate::options::{Language, OptionKind, OptionValue, Options, options};
use crate::per_process::{Local, PerProcess};
use crate::runtime;
use crate::status::State;
use crate::sync::lock;

options! {
    /// Options of a pool; the defaults are good.
    #[derive(Clone, Debug)]
    pub struct PoolOptions of "a pool" {
        /// How long a connection that no manager holds any more stays up. A server's own `keepAlive` wins. The default is
        /// not at all.
        keep_alive: Option<KeepAlive> = None,
        /// The clock of restarts and other waits. A "manual" one stands still until it is advanced; it is for tests.
        clock: Clock = Clock::system(),
    }
}

impl PoolOptions {
    /// Reads `{"keep_alive": seconds or "always", "clock": "system" or "manual"}`.
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

/// Where managers find connections that they share. Every process has one; others are islands of their own.
#[derive(Clone)]
pub struct Pool(Local<Arc<Inner>>);

struct Inner {
    residents: Arc<Residents>,
    options: PoolOptions,
}

impl Pool {
    /// A pool apart from the process-wide one.
    pub fn new(options: PoolOptions) -> Pool {
        Pool(Local::new(Arc::new(Inner {
            residents: Residents::kept(options.keep_alive),
            options,
        })))
    }

    /// The process-wide pool.
    pub fn shared() -> Pool {
        static SHARED: PerProcess<Pool> = PerProcess::new(|| Pool::new(PoolOptions::default()));
        SHARED.get().clone()
    }

    /// The time that supervision goes by.
    pub fn clock(&self) -> &Clock {
        &self.0.options.clock
    }

    pub(crate) fn residents(&self) -> &Arc<Residents> {
        &self.0.residents
    }

    /// Whether this process made the pool.
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
        // What was kept without a holder has nobody left who could come back to it.
        lock(&self.residents.by_name).clear();
    }
}

/// Connections by name. By default each ends with its last holder, whatever its definition says.
#[derive(Default)]
pub(crate) struct Residents {
    by_name: Mutex<HashMap<String, Resident>>,
    /// Whether connections may stay without a holder.
    keeps: bool,
    /// How long, where the definition is silent.
    keep_alive: Option<KeepAlive>,
}

struct Resident {
    connection: Arc<Connection>,
    config: ServerConfig,
    holders: usize,
    /// Counts who came, so that a delayed farewell can see that somebody did.
    visits: u64,
}

impl Residents {
    fn kept(keep_alive: Option<KeepAlive>) -> Arc<Self> {
        Arc::new(Residents { by_name: Mutex::default(), keeps: true, keep_alive })
    }

    /// The connection of this name, for as long as the lease is held.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        name: &str,
        config: &ServerConfig,
        clock: &Clock,
        view: &Arc<View>,
    ) -> Result<Lease> {
        let (connection, is_replaced) = {
            let mut residents = lock(&self.by_name);
            let resident = match residents.entry(name.to_owned()) {
                Entry::Vacant(vacant) => vacant.insert(Resident {
                    connection: Arc::new(Connection::new(name, config.clone(), clock.clone())),
                    config: config.clone(),
                    holders: 0,
                    visits: 0,
                }),
                Entry::Occupied(occupied) => occupied.into_mut(),
            };
            let mut differences = resident.config.identity_differences(config);
            let is_replaced = !differences.is_empty();
            differences.extend(resident.config.setting_differences(config));
            if !differences.is_empty() {
                if resident.holders > 0 {
                    return Err(conflict(name, &differences));
                }
                resident.redefine(config);
            }
            resident.holders += 1;
            resident.visits += 1;
            (resident.connection.clone(), is_replaced)
        };
        connection.audience().join(view);
        greet(name, &connection, view, is_replaced);
        Ok(Lease {
            name: name.to_owned(),
            residents: self.clone(),
            connection,
            view: view.clone(),
            trusted: config.scope.trusted.clone(),
            released: AtomicBool::new(false),
        })
    }

    /// Takes the connection out if nobody has come since.
    fn forget(&self, name: &str, visits: u64) {
        let mut residents = lock(&self.by_name);
        if residents.get(name).is_some_and(|resident| resident.visits == visits) {
            residents.remove(name);
        }
    }

    /// Begins to close the connection if nobody has come since; under the lock, so that whoever comes next asks for
    /// a connection after it was told to end.
    fn begin_end(self: &Arc<Self>, name: &str, visits: u64) -> Option<Ending> {
        let residents = lock(&self.by_name);
        let resident = residents.get(name)?;
        if resident.holders > 0 || resident.visits != visits {
            return None;
        }
        let ended = resident.connection.disconnect();
        let (residents, name) = (self.clone(), name.to_owned());
        Some(runtime::spawn(async move {
            ended.await;
            residents.forget(&name, visits);
        }))
    }
}

type Ending = tokio::task::JoinHandle<()>;

impl Resident {
    fn redefine(&mut self, config: &ServerConfig) {
        self.config = config.clone();
        self.connection.redefine(config.clone());
    }
}

/// Whoever joins a connection that has a history hears where it stands. The tools of another definition, which may still
/// be there for a moment, are nothing to compare with the pins of this one.
fn greet(name: &str, connection: &Connection, view: &Arc<View>, is_replaced: bool) {
    for line in connection.warnings() {
        view.warn_once(name, &line);
    }
    let published = connection.published();
    if published.state != State::Idle {
        view.events.emit(name, published.status_event(connection.clock()));
    }
    if !published.tools.list.is_empty() && !is_replaced {
        view.outdate_catalog();
        connection.compare_tools(view);
        let tool_count = view.tool_count(name, &published.tools, &published.mask());
        view.events.emit(name, EventKind::ToolsChanged { tool_count });
    }
    connection.tell_suspicions(view);
}

fn conflict(name: &str, differences: &[&str]) -> Error {
    let fields = differences.join(", ");
    let text = format!(
        "Server \"{name}\" is in use by another manager with a different definition ({fields})"
    );
    Error::new(ErrorKind::ConfigConflict, text)
        .with_server(name)
        .with_hint("give it another name, or \"shared\": false, or close the other manager first")
}

/// A manager's hold on a connection.
pub(crate) struct Lease {
    name: String,
    residents: Arc<Residents>,
    connection: Arc<Connection>,
    view: Arc<View>,
    /// How far the manager trusts the definition.
    trusted: ScopeTrust,
    released: AtomicBool,
}

/// Why a manager lets go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It is done; what is to be kept alive stays.
    Closing,
    /// It wants this connection closed.
    Disconnecting,
}

impl Lease {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Changes the settings of the connection in place; the identity must be the same.
    pub(crate) fn set(&self, config: &ServerConfig) {
        let mut config = config.clone();
        config.scope.trusted = self.trusted.clone();
        if let Some(resident) = lock(&self.residents.by_name).get_mut(&self.name) {
            resident.redefine(&config);
        }
    }

    pub(crate) fn trusted(&self) -> &ScopeTrust {
        &self.trusted
    }

    /// Lets go; resolves when the connection has ended, or at once when it lives on.
    pub(crate) fn release(&self, leaving: Leaving) -> impl Future<Output = ()> + Send + use<> {
        let ending = self.leave(leaving);
        async move {
            if let Some(ending) = ending {
                let _ = ending.await;
            }
        }
    }

    fn leave(&self, leaving: Leaving) -> Option<Ending> {
        if self.released.swap(true, Ordering::AcqRel) {
            return None;
        }
        let had_tools = !self.connection.published().tools.list.is_empty();
        self.connection.audience().leave(&self.view);
        self.tell_farewell(had_tools);
        let (visits, keep_alive) = {
            let mut residents = lock(&self.residents.by_name);
            let resident = residents.get_mut(&self.name)?;
            resident.holders -= 1;
            // As it is defined now: a reload may have changed it.
            (resident.visits, resident.config.keep_alive.or(self.residents.keep_alive))
        };
        let stays = self.residents.keeps && leaving == Leaving::Closing;
        let keep_alive = keep_alive.filter(|_| stays);
        match keep_alive {
            Some(KeepAlive::Always) => None,
            Some(KeepAlive::For(limit)) if !limit.is_zero() => {
                let (residents, name) = (self.residents.clone(), self.name.clone());
                let until = self.connection.clock().sleep(limit);
                runtime::spawn(async move {
                    until.await;
                    if let Some(ending) = residents.begin_end(&name, visits) {
                        let _ = ending.await;
                    }
                });
                None
            }
            _ => self.residents.begin_end(&self.name, visits),
        }
    }

    fn tell_farewell(&self, had_tools: bool) {
        self.view.outdate_catalog();
        let state = State::Disconnected;
        let farewell =
            EventKind::Status { state, error: None, reason: None, attempt: 0, next_retry_ms: None };
        self.view.events.emit(&self.name, farewell);
        if had_tools {
            self.view.events.emit(&self.name, EventKind::ToolsChanged { tool_count: 0 });
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.leave(Leaving::Closing));
    }
}
