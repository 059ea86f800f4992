//! Owns the life of one server's link. One task, the actor, owns the state; others send it commands and read what it
//! has published. Whoever asks for the same thing shares one attempt.
//! Invariant: never two processes for one name; looking never starts anything.

use std::future::Future;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot, watch};

use crate::audience::Audience;
use crate::catalog::ServerTool;
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EventKind;
use crate::redact::Mask;
use crate::runtime;
use crate::session::{Greeting, Session};
use crate::status::{Reason, State, Tally};
use crate::sync::lock;

mod actor;
mod dial;
mod phase;
mod vigil;

use actor::{Actor, Command};

/// A handle on one server's link.
pub(crate) struct Connection {
    commands: mpsc::UnboundedSender<Command>,
    seen: Arc<Seen>,
}

/// What the actor shares with everybody.
pub(crate) struct Seen {
    pub(crate) server: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) audience: Audience,
    pub(crate) tally: Arc<Tally>,
    published: ArcSwap<Published>,
    /// Rings when something else is published. What, is read there: a watch skips values.
    changed: watch::Sender<()>,
    /// What was odd about its values when they were last resolved.
    warnings: Mutex<Vec<String>>,
    /// When a call went out last, by the clock; kept only for servers that are shut down when idle.
    called_ms: AtomicU64,
}

/// What everybody may see.
#[derive(Default)]
pub(crate) struct Published {
    pub(crate) state: State,
    pub(crate) attempt: u32,
    pub(crate) reason: Option<Reason>,
    /// When the next attempt is due by itself, by the clock.
    pub(crate) retry_at: Option<Duration>,
    pub(crate) restarts: u64,
    pub(crate) error: Option<Error>,
    /// The server's tools: live with the link, otherwise as they are known.
    pub(crate) tools: Tools,
    pub(crate) live: Option<Arc<Live>>,
}

impl Published {
    pub(crate) fn next_retry_ms(&self, clock: &Clock) -> Option<u64> {
        self.retry_at.map(|at| at.saturating_sub(clock.now()).as_millis() as u64)
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
    pub(crate) greeting: Greeting,
    pub(crate) connected_since_ms: u64,
}

/// A server's tools, in its own order and by raw name.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    pub(crate) list: Arc<Vec<Arc<ServerTool>>>,
    /// The hash of each raw name and the tool's place in the list, sorted: small, since every connection has one.
    by_name: Arc<[(u32, u32)]>,
}

impl Tools {
    pub(crate) fn new(list: Vec<Arc<ServerTool>>) -> Self {
        let hashes = list.iter().map(|tool| hash(tool.raw_name()));
        let mut by_name: Vec<(u32, u32)> = hashes.zip(0..).collect();
        by_name.sort_unstable();
        Tools { list: Arc::new(list), by_name: by_name.into() }
    }

    /// The tools that a list of raw entries holds; one bad tool never costs the others.
    pub(crate) fn read(server: &Arc<str>, listed: Vec<bytes::Bytes>) -> Self {
        dial::tools_of(server, listed, &Mask::default())
    }

    pub(crate) fn get(&self, raw_name: &str) -> Option<&Arc<ServerTool>> {
        let wanted = hash(raw_name);
        let from = self.by_name.partition_point(|&(hash, _)| hash < wanted);
        let alike = self.by_name[from..].iter().take_while(|(hash, _)| *hash == wanted);
        alike.map(|&(_, at)| &self.list[at as usize]).find(|tool| tool.raw_name() == raw_name)
    }

    fn is(&self, other: &Tools) -> bool {
        Arc::ptr_eq(&self.list, &other.list) || (self.list.is_empty() && other.list.is_empty())
    }
}

fn hash(raw_name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(raw_name.as_bytes());
    hasher.finish() as u32
}

impl Connection {
    pub(crate) fn new(server: &str, config: ServerConfig, clock: Clock) -> Self {
        let seen = Arc::new(Seen {
            server: server.into(),
            clock,
            audience: Audience::default(),
            tally: Arc::default(),
            published: ArcSwap::default(),
            changed: watch::Sender::new(()),
            warnings: Mutex::default(),
            called_ms: AtomicU64::new(0),
        });
        let (commands, inbox) = mpsc::unbounded_channel();
        runtime::spawn(Actor::new(config, inbox, seen.clone()).run());
        Connection { commands, seen }
    }

    pub(crate) fn published(&self) -> arc_swap::Guard<Arc<Published>> {
        self.seen.published.load()
    }

    pub(crate) fn server(&self) -> &Arc<str> {
        &self.seen.server
    }

    pub(crate) fn audience(&self) -> &Audience {
        &self.seen.audience
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.seen.tally
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.seen.clock
    }

    /// What was odd about the server's values when they were last resolved.
    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.seen.warnings).clone()
    }

    /// Rings whenever something else is published.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.seen.changed.subscribe()
    }

    /// Notes that the server is needed.
    pub(crate) fn touch(&self) {
        self.seen.touch();
    }

    /// Connects unless connected; joins an attempt that is under way.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.ask(Command::Connect).await?
    }

    /// Resolves when connected, or when nothing more is tried; starts nothing.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.ask(Command::Await).await?
    }

    /// A call needs the link: what sleeps wakes up.
    pub(crate) fn wake(&self) {
        let _ = self.commands.send(Command::Wake);
    }

    /// Shows these tools until the server's own are known. Tells whether any are known by then; commands are obeyed in
    /// order, so that is so under the latest definition.
    pub(crate) async fn adopt(&self, tools: Option<Tools>) -> bool {
        self.ask(|asker| Command::Adopt(tools, asker)).await.unwrap_or(false)
    }

    /// Goes by another definition from now on; a different server is started anew.
    pub(crate) fn redefine(&self, config: ServerConfig) {
        let _ = self.commands.send(Command::Redefine(Box::new(config)));
    }

    /// Ends the link. The order is given at once; the future resolves when everything has ended.
    pub(crate) fn disconnect(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.ask(Command::Disconnect);
        async move { drop(ended.await) }
    }

    /// The command is on its way before the answer is waited for.
    fn ask<T, C>(&self, command: C) -> impl Future<Output = Result<T>> + Send + use<T, C>
    where
        T: Send + 'static,
        C: FnOnce(oneshot::Sender<T>) -> Command,
    {
        let (asker, answer) = oneshot::channel();
        // An actor that is gone drops the asker.
        let _ = self.commands.send(command(asker));
        async move { answer.await.map_err(|_| Error::new(ErrorKind::Closed, "The manager is closed")) }
    }
}

impl Seen {
    /// Tells everybody what is odd, each line once.
    fn warn(&self, warnings: Vec<String>) {
        // Noted before: whoever joins meanwhile reads them there.
        lock(&self.warnings).clone_from(&warnings);
        for line in &warnings {
            self.audience.warn_once(&self.server, line);
        }
    }

    fn touch(&self) {
        self.called_ms.store(self.clock.now().as_millis() as u64, Ordering::Relaxed);
    }

    fn called(&self) -> Duration {
        Duration::from_millis(self.called_ms.load(Ordering::Relaxed))
    }
}
