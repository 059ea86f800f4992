//! Owns the life of one server's link. One task, the actor, owns the state; others send it commands and read what it
//! publishes. Concurrent requests for the same thing share one attempt.
//! Invariant: never two processes for one name; reading the state never starts anything.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::caller::ConnectionHeaders;
use crate::client_info::ClientInfo;
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::error::{Error, Result};
use crate::event::EventKind;
use crate::login_store::LoginStore;
use crate::oauth::Login;
use crate::redact::Mask;
use crate::runtime;
use crate::session::{Handshake, Session};
use crate::skill::Skill;
use crate::status::{CallCounters, Reason, State};
use crate::subscribers::{Subscribers, Suspicion, ToolStore};
use crate::sync::lock;
use crate::tool::Tools;

mod actor;
mod call_queue;
mod dial;
mod era;
mod health_watch;
mod inspect;
mod link;
mod login;
mod phase;
mod starts;

use actor::{Actor, Command};
pub(crate) use call_queue::{CallPermit, CallQueue, Turn};
use era::EraMemory;

/// A handle to one server's link.
pub(crate) struct Connection {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<ConnectionShared>,
}

/// What a connection gets from its pool and from its first holder.
pub(crate) struct ConnectionHost {
    pub(crate) clock: Clock,
    /// What the server is told about its client, if the pool says it.
    pub(crate) client_info: Option<Arc<ClientInfo>>,
    pub(crate) login_store: Option<LoginStore>,
}

/// What the actor shares with the handles.
pub(crate) struct ConnectionShared {
    pub(crate) server: Arc<str>,
    /// The headers of its identity, for the server of the current definition.
    headers: ArcSwap<ConnectionHeaders>,
    login: Mutex<Option<Arc<Login>>>,
    /// The login that a program was given.
    given_login: Mutex<Option<Arc<Login>>>,
    /// Where logins are kept, if not in files.
    login_store: Option<LoginStore>,
    /// To the actor, which ends with the last handle.
    commands: mpsc::WeakUnboundedSender<Command>,
    pub(crate) clock: Clock,
    client_info: Option<Arc<ClientInfo>>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) call_counters: Arc<CallCounters>,
    call_queue: Arc<CallQueue>,
    /// The turns of comparing results with output schemas.
    output_checks: Arc<Semaphore>,
    published: ArcSwap<Published>,
    /// Signalled on every publish. The value is read from `published`, because a watch skips values.
    changed: watch::Sender<()>,
    /// Warnings about its values and its login from the last attempt, and about its tools from the last listing.
    warnings: Mutex<[Vec<String>; 3]>,
    /// Suspicions in what the server says of itself.
    suspicions: Mutex<Vec<Suspicion>>,
    /// How long its attempts have waited for a start permit, and since when one is waiting.
    queued: Mutex<(Duration, Option<Instant>)>,
    /// What its attempts have found out about its protocol.
    era: Mutex<EraMemory>,
    /// When the last call was sent, by the clock; only kept for servers that are shut down when idle.
    called_ms: AtomicU64,
}

/// The published state.
#[derive(Default)]
pub(crate) struct Published {
    pub(crate) state: State,
    pub(crate) attempt: u32,
    pub(crate) reason: Option<Reason>,
    /// When the next automatic attempt is due, by the clock.
    pub(crate) retry_at: Option<Duration>,
    pub(crate) restarts: u64,
    pub(crate) error: Option<Error>,
    /// The server's tools: live while the link is up, otherwise the last known ones.
    pub(crate) tools: Tools,
    pub(crate) live: Option<Arc<Live>>,
}

impl Published {
    pub(crate) fn next_retry_ms(&self, clock: &Clock) -> Option<u64> {
        self.retry_at.map(|at| at.saturating_sub(clock.now()).as_millis() as u64)
    }

    /// The mask for the values that the server was given.
    pub(crate) fn mask(&self) -> Mask {
        self.live.as_ref().map(|live| live.session.mask()).unwrap_or_default()
    }

    pub(crate) fn status_event(&self, clock: &Clock) -> EventKind {
        EventKind::Status {
            state: self.state,
            error: self.error.clone(),
            reason: self.reason,
            attempt: self.attempt,
            next_retry_ms: self.next_retry_ms(clock),
        }
    }
}

/// A link that is up.
pub(crate) struct Live {
    pub(crate) session: Arc<Session>,
    pub(crate) greeting: Handshake,
    pub(crate) connected_since: SystemTime,
    /// The same moment, by the clock.
    pub(crate) up_at: Duration,
    /// The latest list of its skills, which their files are checked against.
    pub(crate) skills: ArcSwapOption<ListedSkills>,
}

/// A list of a server's skills.
pub(crate) struct ListedSkills {
    pub(crate) skills: Vec<Skill>,
    /// The same in the form that pins have.
    pub(crate) pinned_form: Tools,
    pub(crate) suspicions: Vec<Suspicion>,
}

impl Connection {
    /// `sibling` is a connection to the same server for another identity; they share a queue and count calls together.
    pub(crate) fn new(
        server: &str,
        config: ServerConfig,
        host: ConnectionHost,
        sibling: Option<&Connection>,
    ) -> Self {
        let ConnectionHost { clock, client_info, login_store } = host;
        let headers = Arc::new(sibling.map_or_else(ConnectionHeaders::default, |sibling| {
            ConnectionHeaders::beside(&sibling.headers())
        }));
        let sibling = sibling.map(|sibling| &sibling.shared);
        let (commands, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(ConnectionShared {
            server: server.into(),
            headers: ArcSwap::new(headers.clone()),
            login: Mutex::default(),
            given_login: Mutex::default(),
            login_store,
            commands: commands.downgrade(),
            clock,
            client_info,
            subscribers: Arc::default(),
            call_counters: sibling.map_or_else(Arc::default, |it| it.call_counters.clone()),
            call_queue: sibling.map_or_else(Arc::default, |it| it.call_queue.clone()),
            output_checks: Arc::new(Semaphore::new(1)),
            published: ArcSwap::default(),
            changed: watch::Sender::new(()),
            warnings: Mutex::default(),
            suspicions: Mutex::default(),
            queued: Mutex::default(),
            era: Mutex::default(),
            called_ms: AtomicU64::new(0),
        });
        shared.call_queue.set_limit(config.max_concurrency);
        runtime::spawn(Actor::new(config, headers, inbox, shared.clone()).run());
        Connection { commands, shared }
    }

    pub(crate) fn published(&self) -> arc_swap::Guard<Arc<Published>> {
        self.shared.published.load()
    }

    pub(crate) fn server(&self) -> &Arc<str> {
        &self.shared.server
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.shared.subscribers
    }

    pub(crate) fn call_counters(&self) -> &CallCounters {
        &self.shared.call_counters
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Warnings about the server's values and tools.
    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.shared.warnings).concat()
    }

    /// Suspicions in what the server says of itself and of its tools.
    pub(crate) fn suspicions(&self) -> Vec<Suspicion> {
        lock(&self.shared.suspicions).clone()
    }

    /// Signalled on every publish.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    /// Writes the link's tools also for a manager that joined later.
    pub(crate) fn store_tools_in(&self, store: Box<dyn ToolStore>) {
        let _ = self.commands.send(Command::Store(store));
    }

    /// The total time that its attempts have waited for a start permit.
    pub(crate) fn queued(&self) -> Duration {
        let (before, since) = *lock(&self.shared.queued);
        before + since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Records that the server is in use.
    pub(crate) fn touch(&self) {
        self.shared.touch();
    }

    /// Connects unless connected; joins an attempt in progress.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.ask(Command::Connect).await?
    }

    /// Resolves when connected, or when no more attempts follow; starts nothing.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.ask(Command::Await).await?
    }

    /// Wakes an idle link for a call.
    pub(crate) fn wake(&self) {
        let _ = self.commands.send(Command::Wake);
    }

    /// Shows these tools until the server's own are known. Returns whether any tools are known then. Commands are
    /// processed in order, so the answer is for the latest definition.
    pub(crate) async fn adopt(&self, tools: Option<Tools>) -> bool {
        self.ask(|asker| Command::Adopt(tools, asker)).await.unwrap_or(false)
    }

    /// Changes the settings.
    pub(crate) fn set(&self, config: ServerConfig) {
        self.redefine(config, self.headers());
    }

    /// Switches to another server, which is started anew. It gets nothing of the logins of the old one.
    pub(crate) fn replace(&self, config: ServerConfig) {
        let headers = Arc::new(ConnectionHeaders::beside(&self.headers()));
        self.shared.headers.store(headers.clone());
        self.redefine(config, headers);
    }

    fn redefine(&self, config: ServerConfig, headers: Arc<ConnectionHeaders>) {
        self.shared.call_queue.set_limit(config.max_concurrency);
        let _ = self.commands.send(Command::Redefine(Box::new(config), headers));
    }

    /// The headers of its identity.
    pub(crate) fn headers(&self) -> Arc<ConnectionHeaders> {
        self.shared.headers.load_full()
    }

    /// The turns of its calls.
    pub(crate) fn output_checks(&self) -> &Arc<Semaphore> {
        &self.shared.output_checks
    }

    pub(crate) fn call_queue(&self) -> &Arc<CallQueue> {
        &self.shared.call_queue
    }

    /// Ends the link. The command is sent at once; the future resolves when everything has ended.
    pub(crate) fn disconnect(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.ask(Command::Disconnect);
        async move { drop(ended.await) }
    }

    /// Sends the command at once; the future only waits for the answer.
    fn ask<T, C>(&self, command: C) -> impl Future<Output = Result<T>> + Send + use<T, C>
    where
        T: Send + 'static,
        C: FnOnce(oneshot::Sender<T>) -> Command,
    {
        let (asker, answer) = oneshot::channel();
        // If the actor is gone, the asker is dropped.
        let _ = self.commands.send(command(asker));
        async move { answer.await.map_err(|_| Error::closed()) }
    }
}

/// The topic of a warning.
#[derive(Clone, Copy)]
enum WarningTopic {
    Values,
    Tools,
    Login,
}

impl ConnectionShared {
    /// Warns all subscribers, each line once; replaces earlier warnings of the topic.
    fn warn(&self, topic: WarningTopic, warnings: Vec<String>) {
        // Stored before they are emitted: a manager that joins meanwhile reads them there.
        lock(&self.warnings)[topic as usize].clone_from(&warnings);
        for line in &warnings {
            self.subscribers.warn_once(&self.server, line);
        }
    }

    /// Records that an attempt waits for a start permit, until the value is dropped.
    fn queue(&self) -> Queued<'_> {
        lock(&self.queued).1 = Some(Instant::now());
        Queued(self)
    }

    fn touch(&self) {
        self.called_ms.store(self.clock.now().as_millis() as u64, Ordering::Relaxed);
    }

    fn last_call_at(&self) -> Duration {
        Duration::from_millis(self.called_ms.load(Ordering::Relaxed))
    }
}

/// An attempt that waits for a start permit.
struct Queued<'a>(&'a ConnectionShared);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let (before, since) = &mut *lock(&self.0.queued);
        *before += since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }
}
