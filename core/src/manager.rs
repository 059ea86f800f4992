//! Owns one agent session's view: its servers, its names, its options. It brings the stages together and decides
//! nothing that a stage can decide.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use indexmap::IndexMap;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::catalog::{Catalog, Naming, did_you_mean};
use crate::config::{Config, ServerConfig};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventLog, Events};
use crate::per_process::Local;
use crate::runtime;
use crate::status::{Calls, ServerStatus, Source, State};
use crate::sync::lock;

mod calls;

pub use calls::{CallHandle, ToolRef};

const CLOSE_ONE: Duration = Duration::from_secs(5);
const CLOSE_ALL: Duration = Duration::from_secs(10);
const CONNECT_CONCURRENCY: usize = 64;

/// Options of a manager; the defaults are good.
#[derive(Clone, Debug, Default)]
pub struct ManagerOptions {
    /// How tools are named.
    pub naming: Naming,
    /// How many servers connect at the same time; 64 when not set.
    pub connect_concurrency: Option<usize>,
}

/// Connects to many servers, lists their tools, routes calls. Cheap to clone; the last clone that goes closes.
#[derive(Clone)]
pub struct Manager(Local<Arc<Inner>>);

struct Inner {
    servers: IndexMap<String, Server>,
    warnings: Vec<String>,
    naming: Naming,
    connect_slots: Semaphore,
    events: Arc<EventLog>,
    catalog: Mutex<(u64, Arc<Catalog>)>,
    catalog_version: Arc<AtomicU64>,
    closed: AtomicBool,
}

struct Server {
    required: bool,
    definition: Result<ServerConfig>,
    /// Absent for servers that are invalid or disabled.
    connection: Option<Connection>,
}

/// How a `connect_all` went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConnectReport {
    /// Servers that are up.
    pub connected: Vec<String>,
    /// Servers that are known from the cache only, so far.
    pub deferred: Vec<String>,
    /// Servers whose attempt goes on.
    pub pending: Vec<String>,
    /// Servers that are not, and why.
    pub failed: IndexMap<String, Error>,
    /// Servers whose source is not trusted.
    pub blocked: Vec<String>,
    /// Servers that are switched off.
    pub disabled: Vec<String>,
    /// How long each server took.
    pub durations_ms: IndexMap<String, f64>,
}

impl Manager {
    /// A manager for these servers. Nothing is started yet.
    pub fn new(config: Config, options: ManagerOptions) -> Manager {
        let events = Arc::new(EventLog::new());
        let catalog_version = Arc::new(AtomicU64::new(1));
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let servers = config.servers.into_iter().map(|(name, definition)| {
            let required = config.required.contains(&name);
            let connection =
                definition.as_ref().ok().filter(|config| config.enabled).map(|config| {
                    Connection::new(&name, config.clone(), events.clone(), catalog_version.clone())
                });
            (name, Server { required, definition, connection })
        });
        Manager(Local::new(Arc::new(Inner {
            servers: servers.collect(),
            warnings: config.warnings,
            naming: options.naming,
            connect_slots: Semaphore::new(
                options.connect_concurrency.unwrap_or(CONNECT_CONCURRENCY).max(1),
            ),
            events,
            catalog: Mutex::default(),
            catalog_version,
            closed: AtomicBool::new(false),
        })))
    }

    /// What was odd in the config.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Connects all enabled servers at once and waits until each is up or has failed within its own timeout.
    /// One server's failure is in the report; only a `required` server's makes this an error.
    pub fn connect_all(&self) -> impl Future<Output = Result<ConnectReport>> + Send + use<> {
        let manager = self.clone();
        on_runtime(async move { manager.connect_all_here().await })
    }

    async fn connect_all_here(&self) -> Result<ConnectReport> {
        self.check_open()?;
        let attempts = self.0.servers.iter().map(|(name, server)| async move {
            let started = Instant::now();
            let outcome = self.connect_server(name, server).await;
            (name, outcome, started.elapsed())
        });
        let outcomes = join_all(attempts).await;
        // Closed meanwhile: what came up is down again.
        self.check_open()?;
        let mut report = ConnectReport::default();
        let mut missing = None;
        for (name, outcome, took) in outcomes {
            match outcome {
                Ok(()) => report.connected.push(name.clone()),
                Err(error) if error.kind() == ErrorKind::ServerDisabled => {
                    report.disabled.push(name.clone());
                    continue;
                }
                Err(error) => {
                    if self.0.servers[name].required && missing.is_none() {
                        missing = Some(error.clone());
                    }
                    report.failed.insert(name.clone(), error);
                }
            }
            report.durations_ms.insert(name.clone(), took.as_secs_f64() * 1000.0);
        }
        match missing {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }

    /// Connects one server; does nothing when it is connected, joins an attempt that is under way.
    pub fn connect(&self, server: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, server) = (self.clone(), server.to_owned());
        on_runtime(async move {
            manager.check_open()?;
            let known = manager.find(&server)?;
            manager.connect_server(&server, known).await
        })
    }

    async fn connect_server(&self, name: &str, server: &Server) -> Result<()> {
        let connection = usable(name, server)?;
        let slot = self.0.connect_slots.acquire().await;
        let outcome = connection.connect().await;
        drop(slot);
        outcome
    }

    /// Resolves when the server is connected, or with its error; starts nothing.
    pub fn wait_for(
        &self,
        server: &str,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            manager.check_open()?;
            let connection = usable(&name, manager.find(&name)?)?;
            let Some(limit) = limit else { return connection.ready().await };
            timeout(limit, connection.ready()).await.unwrap_or_else(|_| {
                let text =
                    format!("Server \"{name}\" was not connected within {} ms", limit.as_millis());
                Err(Error::new(ErrorKind::ConnectTimeout, text).with_server(&name))
            })
        })
    }

    /// The tools of all connected servers, sorted by name.
    pub fn get_tools(&self) -> Arc<Catalog> {
        let version = self.0.catalog_version.load(Ordering::Acquire);
        let (built, catalog) = lock(&self.0.catalog).clone();
        if built == version {
            return catalog;
        }
        let connections = self.0.servers.values().filter_map(|server| server.connection.as_ref());
        let tools = connections
            .filter_map(|connection| connection.published().live.clone())
            .flat_map(|live| live.tools.list.to_vec());
        // Without the lock: a naming function may belong to a language with a lock of its own.
        let catalog = Arc::new(Catalog::build(tools.collect(), &self.0.naming));
        *lock(&self.0.catalog) = (version, catalog.clone());
        catalog
    }

    /// Every server's status, in the order of the config. Starts nothing.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.0.servers.iter().map(|(name, server)| status_of(name, server)).collect()
    }

    /// What happens from now on.
    pub fn events(&self) -> Events {
        self.0.events.subscribe()
    }

    /// Closes one server's connection and drops its tools. Idempotent, bounded.
    pub fn disconnect(&self, server: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            if let Some(connection) = &manager.find(&name)?.connection {
                let _ = timeout(CLOSE_ONE, connection.disconnect()).await;
            }
            Ok(())
        })
    }

    /// Closes every connection; the manager can connect again. Idempotent, bounded.
    pub fn disconnect_all(&self) -> impl Future<Output = ()> + Send + use<> {
        let manager = self.clone();
        let all = on_runtime(async move {
            manager.end_all(|connection| Box::pin(connection.disconnect())).await;
            Ok(())
        });
        async move { drop(all.await) }
    }

    /// Closes for good: every later verb fails with `CLOSED`. Idempotent, bounded.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.closed.store(true, Ordering::Release);
        let manager = self.clone();
        let all = on_runtime(async move {
            // A forked child has nothing of its parent's to close.
            if manager.0.is_inherited() {
                return Ok(());
            }
            manager.end_all(|connection| Box::pin(connection.close())).await;
            manager.0.events.close();
            Ok(())
        });
        async move { drop(all.await) }
    }

    async fn end_all<F>(&self, end: F)
    where
        F: for<'a> Fn(&'a Connection) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    {
        let connections = self.0.servers.values().filter_map(|server| server.connection.as_ref());
        let ending = connections.map(|connection| timeout(CLOSE_ONE, end(connection)));
        let _ = timeout(CLOSE_ALL, join_all(ending)).await;
    }

    fn check_open(&self) -> Result<()> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "The manager is closed")
                .with_hint("create a new Manager"));
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&Server> {
        self.0.servers.get(name).ok_or_else(|| {
            let error =
                Error::new(ErrorKind::ServerNotFound, format!("There is no server \"{name}\""));
            self.with_similar_server(error, name).with_server(name)
        })
    }

    fn with_similar_server(&self, error: Error, name: &str) -> Error {
        match did_you_mean(name, self.0.servers.keys().map(String::as_str)) {
            Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")),
            None => error,
        }
    }
}

/// The connection of a server that may be used, or why it may not.
fn usable<'a>(name: &str, server: &'a Server) -> Result<&'a Connection> {
    match (&server.connection, &server.definition) {
        (Some(connection), _) => Ok(connection),
        (None, Err(error)) => Err(error.clone()),
        (None, Ok(_)) => Err(Error::new(
            ErrorKind::ServerDisabled,
            format!("Server \"{name}\" is disabled. Run \"mcpool enable {name}\" first."),
        )
        .with_server(name)),
    }
}

fn status_of(name: &str, server: &Server) -> ServerStatus {
    let published = server.connection.as_ref().map(Connection::published);
    let live = published.as_ref().and_then(|published| published.live.as_deref());
    let greeting = live.map(|live| live.greeting.clone());
    let (state, error) = match (&published, &server.definition) {
        (Some(published), _) => (published.state, published.error.clone()),
        (None, Ok(_)) => (State::Disabled, None),
        (None, Err(error)) => (State::Failed, Some(error.clone())),
    };
    ServerStatus {
        name: name.to_owned(),
        state,
        transport: server.definition.as_ref().ok().map(|config| config.transport.name()),
        tool_count: live.map_or(0, |live| live.tools.list.len()),
        error,
        connected_since_ms: live.map(|live| live.connected_since_ms),
        attempt: published.as_ref().map_or(0, |published| published.attempt),
        next_retry_ms: None,
        restarts: published.as_ref().map_or(0, |published| published.restarts),
        refs: usize::from(server.connection.is_some()),
        pid: live.and_then(|live| live.session.wire()?.pid()),
        protocol_version: greeting.as_ref().map(|greeting| greeting.protocol_version.clone()),
        server_name: greeting.as_ref().and_then(|greeting| greeting.server_name.clone()),
        server_version: greeting.as_ref().and_then(|greeting| greeting.server_version.clone()),
        instructions: greeting.and_then(|greeting| greeting.instructions),
        source: Source::code(),
        calls: live.map_or_else(Calls::default, |live| live.session.calls()),
    }
}

/// Runs a verb on the pool's runtime, so that it may be awaited on any executor and goes on when it is not.
fn on_runtime<T, V>(verb: V) -> impl Future<Output = Result<T>> + Send + use<T, V>
where
    T: Send + 'static,
    V: Future<Output = Result<T>> + Send + 'static,
{
    let task = runtime::spawn(verb);
    async move {
        task.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "The runtime has ended")))
    }
}
