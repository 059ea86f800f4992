//! Owns one agent session's view: its servers, tool names and options. It combines the stages and decides nothing that
//! a stage can decide.

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use indexmap::IndexMap;
use tokio::sync::Semaphore;

use crate::catalog::{Cache, ManagerSink, Offer, OfferSettings, SignInOptions, ToolNames};
use crate::config::{Config, Declared, Isolate, ProjectEntry, ServerConfig, Subject};
use crate::connection::Connection;
use crate::discover::Discovery;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Events;
use crate::fork::ProcessLocal;
use crate::pool::{Connections, Pool};
use crate::result::{Spill, SpillDir};
use crate::runtime;
use crate::similar::did_you_mean;
use crate::status::ServerStatus;
use crate::sync::lock;

mod auth;
mod calls;
mod close;
mod connect;
mod execute;
mod framework_approval;
mod identities;
mod options;
mod reload;
mod requests;
mod server;
mod sources;
mod telemetry;
mod tools;
mod trust;
#[cfg(not(feature = "watch"))]
#[path = "manager/no_watch.rs"]
mod watch;
#[cfg(feature = "watch")]
mod watch;

pub use auth::AuthorizeOptions;
pub use calls::{CallHandle, ToolRef};
pub use connect::ConnectReport;
pub use options::{CacheDir, ManagerOptions, PendingWithoutCache, Telemetry};
pub use reload::ReloadReport;
use server::{PresenterSettings, Server};
use sources::ConfigOrigin;
pub use telemetry::{Attributes, CallTelemetry, words as telemetry_words};
use tools::BuiltCatalog;
use trust::TrustPolicy;
use watch::Watch;

/// The default limit of remote servers that connect at the same time.
const REMOTE_CONNECTS: usize = 64;

/// Connects to many servers, lists their tools and routes calls. Cheap to clone; dropping the last clone closes it.
#[derive(Clone)]
pub struct Manager(ProcessLocal<Arc<Inner>>);

type Servers = IndexMap<String, Arc<Server>>;

struct Inner {
    me: Weak<Inner>,
    servers: ArcSwap<Servers>,
    warnings: Mutex<Vec<String>>,
    options: ManagerOptions,
    connect_slots: Arc<Semaphore>,
    pool: Pool,
    /// Connections shared by this manager and its children only.
    family: Arc<Connections>,
    /// Connections of this manager only.
    own: Arc<Connections>,
    /// The sink that this manager's connections report to.
    sink: Arc<ManagerSink>,
    presenter_settings: PresenterSettings,
    offer_settings: Arc<OfferSettings>,
    catalog: Mutex<BuiltCatalog>,
    /// The number of tool announcements that a catalog read has already waited for.
    heard_announcements: AtomicU64,
    /// Where `reload` reads the config from.
    origin: ConfigOrigin,
    discovery: ArcSwapOption<Discovery>,
    /// Everything that the project's files declare, trusted or not.
    project: ArcSwap<Vec<ProjectEntry>>,
    trust: Arc<TrustPolicy>,
    /// Subjects with an open trust question.
    questions: Mutex<HashSet<Arc<Subject>>>,
    watch: Mutex<Option<Watch>>,
    /// Serialises reloads.
    reloading: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    /// Whether a framework has to ask a person about calls.
    framework_approval: AtomicBool,
    /// The number of calls reported as events.
    call_count: AtomicU64,
}

impl Manager {
    /// A manager for these servers. Nothing is started yet.
    pub fn new(config: Config, options: ManagerOptions) -> Manager {
        let trust = trust_policy(&options);
        Manager::assemble(config, options, ConfigOrigin::Code, trust, None)
    }

    /// A child takes its shared parts from the parent.
    fn assemble(
        config: Config,
        options: ManagerOptions,
        origin: ConfigOrigin,
        trust: Arc<TrustPolicy>,
        parent: Option<&Inner>,
    ) -> Manager {
        let Config { servers, mut warnings, project } = config;
        let tools = options.tool_filter();
        if parent.is_none() {
            warnings.extend(options.warnings(servers.iter()));
        }
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let cache = match &options.cache_dir {
            CacheDir::User => Cache::at(None),
            CacheDir::At(dir) => Cache::at(Some(dir.clone())),
            CacheDir::Off => Cache::off(),
        };
        let spill_dir = match options.spill {
            Spill::None => None,
            Spill::File => Some(Arc::new(SpillDir::beside(cache.directory()))),
        };
        let pool = options.pool.clone().unwrap_or_else(Pool::shared);
        let names = match parent {
            Some(parent) => parent.offer_settings.names().clone(),
            None => ToolNames::new(options.naming.clone()),
        };
        let pins = parent.map_or_else(Arc::default, |parent| parent.offer_settings.pins().clone());
        let policies = (options.drift, options.approval);
        let offer_settings = OfferSettings::new(&tools, policies, names, cache.clone(), pins);
        let sign_in = SignInOptions {
            on_auth: options.on_auth.clone(),
            login_store: options.login_store.clone(),
            begin_auth: options.begin_auth,
        };
        let features = match parent {
            Some(parent) => parent.sink.features().for_child(),
            None => options.client_features(),
        };
        let sink = ManagerSink::new(cache, sign_in, features);
        let events = Arc::downgrade(&sink.events);
        let presenter_settings = PresenterSettings { wrap: options.wrap, spill_dir, events };
        let servers = servers.into_iter().map(|(name, declared)| {
            let declared = in_scope(declared, &options);
            let offer = Offer::new(&name, &declared, &offer_settings, None);
            let server = Server::new(&name, declared, offer, &presenter_settings);
            (name, server)
        });
        let servers: Servers = servers.collect();
        sink.set_offers(offers_of(&servers));
        let slots = options.connect_concurrency.unwrap_or(REMOTE_CONNECTS).max(1);
        Manager(ProcessLocal::new(Arc::new_cyclic(|me| Inner {
            me: me.clone(),
            servers: ArcSwap::from_pointee(servers),
            warnings: Mutex::new(warnings),
            connect_slots: Arc::new(Semaphore::new(slots)),
            pool,
            family: parent.map_or_else(Arc::default, |parent| parent.family.clone()),
            own: Arc::default(),
            sink,
            presenter_settings,
            offer_settings,
            catalog: Mutex::default(),
            heard_announcements: AtomicU64::new(0),
            origin,
            discovery: ArcSwapOption::new(parent.and_then(|parent| parent.discovery.load_full())),
            project: ArcSwap::from_pointee(project),
            trust,
            questions: Mutex::default(),
            watch: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
            framework_approval: AtomicBool::new(false),
            call_count: AtomicU64::new(0),
            options,
        })))
    }

    /// A manager for a sub-agent: the same servers, on the same connections.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// let sub_agent = manager.child()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn child(&self) -> Result<Manager> {
        self.check_open()?;
        let servers = self.0.servers.load();
        let declared = servers.iter().map(|(name, server)| (name.clone(), server.declared.clone()));
        let project = self.0.project.load().to_vec();
        let config = Config { servers: declared.collect(), warnings: Vec::new(), project };
        let options = ManagerOptions { watch: false, ..self.0.options.clone() };
        let trust = self.0.trust.clone();
        Ok(Manager::assemble(config, options, ConfigOrigin::Code, trust, Some(&self.0)))
    }

    /// Warnings about the config, and about values that were resolved since.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = lock(&self.0.warnings).clone();
        warnings.extend(self.0.sink.warnings());
        warnings
    }

    /// Every server's status, in the order of the config. Starts nothing.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// for status in manager.status() {
    ///     println!("{} {:?} {} tools", status.name, status.state, status.tool_count);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn status(&self) -> Vec<ServerStatus> {
        self.name_tools_to_count();
        self.0.servers.load().values().map(|server| server.status()).collect()
    }

    /// One server's status. Starts nothing.
    pub fn status_of(&self, server: &str) -> Result<ServerStatus> {
        self.check_process()?;
        let server = self.find(server)?;
        self.name_tools_to_count();
        Ok(server.status())
    }

    /// Calls the naming function, if filters go by its answers: a status counts the tools that are left.
    fn name_tools_to_count(&self) {
        if self.0.offer_settings.go_by_answers() {
            self.catalog();
        }
    }

    /// Events from now on.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// let events = manager.events();
    /// while let Some(event) = events.next().await {
    ///     println!("{} {}", event.server, event.kind.name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn events(&self) -> Events {
        self.0.sink.events.subscribe()
    }

    fn check_open(&self) -> Result<()> {
        self.check_process()?;
        self.0.check_open()
    }

    /// Whether verbs can work: it belongs to this process and is not closed.
    #[doc(hidden)]
    pub fn is_usable(&self) -> bool {
        self.check_open().is_ok()
    }

    /// Whether this process created the manager. A forked child has none of its connections and must not read its
    /// state: another thread may have been writing to it during the fork.
    #[doc(hidden)]
    pub fn check_process(&self) -> Result<()> {
        if self.0.is_inherited() {
            return Err(inherited());
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Arc<Server>> {
        self.0.servers.load().get(name).cloned().ok_or_else(|| {
            let error = Error::no_such_server(ErrorKind::ServerNotFound, name);
            self.with_similar_server(error, name)
        })
    }

    fn with_similar_server(&self, error: Error, name: &str) -> Error {
        match did_you_mean(name, self.0.servers.load().keys().map(String::as_str)) {
            Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")),
            None => error,
        }
    }
}

impl Inner {
    /// The manager's offer of the server's tools.
    fn offer(&self, name: &str, declared: &Declared, before: Option<&Offer>) -> Arc<Offer> {
        Offer::new(name, declared, &self.offer_settings, before)
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }

    /// Where a connection of this definition is kept.
    fn home(&self, config: &ServerConfig) -> &Arc<Connections> {
        match (config.shared, config.isolate) {
            // An untrusted definition must not occupy a name in the process-wide pool.
            _ if config.scope.is_restricted() => &self.family,
            (true, Isolate::None) => self.pool.connections(),
            (true, Isolate::Session) => &self.own,
            (false, _) => &self.family,
        }
    }

    /// Acquires the server's connection and holds it.
    fn hold(&self, server: &Server) -> Result<Arc<Connection>> {
        self.check_open()?;
        self.pool.check_process()?;
        let was_blocked = server.is_blocked();
        let held = server.hold(|config| {
            let config = self.admit(server, config)?;
            let home = self.home(&config);
            let lease = home.acquire(&server.name, &config, self.pool.options(), &self.sink)?;
            if config.scope.identity.is_some()
                && let Some(headers) = self.default_headers(server, &config)
            {
                lease.connection().headers().keep(&headers);
            }
            self.warn_replaced(server);
            Ok(lease)
        });
        if let Err(error) = &held
            && server.is_blocked()
            && !was_blocked
        {
            self.emit_blocked(&server.name, error);
        }
        held
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Ends the attempts that still wait for a slot.
        self.connect_slots.close();
    }
}

fn trust_policy(options: &ManagerOptions) -> Arc<TrustPolicy> {
    TrustPolicy::new(options.trust.clone(), options.host_env.clone())
}

fn offers_of(servers: &Servers) -> impl Iterator<Item = (String, Arc<Offer>)> {
    servers.iter().map(|(name, server)| (name.clone(), server.offer.clone()))
}

/// Sets the manager's identity and host environment on the definition, unless its source has its own environment.
fn in_scope(mut declared: Declared, options: &ManagerOptions) -> Declared {
    if let Ok(config) = &mut declared.config {
        let scope = &mut config.scope;
        scope.bare_env_names |= options.bare_env_names;
        if scope.host_env.is_process() {
            scope.host_env = options.host_env.clone();
        }
        scope.identity = options.identity.clone().filter(|_| !config.shared_identity);
    }
    declared
}

fn inherited() -> Error {
    let text = "This manager belongs to the parent process: its connections are not here";
    Error::new(ErrorKind::Closed, text).with_hint("create a new Manager after the fork")
}

/// Runs a verb on the pool's runtime: it can be awaited on any executor, and continues if the future is dropped.
fn on_runtime<T, V>(verb: V) -> impl Future<Output = Result<T>> + Send + use<T, V>
where
    T: Send + 'static,
    V: Future<Output = Result<T>> + Send + 'static,
{
    let task = runtime::start().map(|()| runtime::spawn(verb));
    async move {
        let ended = |_| Err(Error::new(ErrorKind::Closed, "The runtime has ended"));
        task?.await.unwrap_or_else(ended)
    }
}
