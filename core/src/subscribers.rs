//! Fans out a connection's events to the managers that hold it. The connection decides when; each manager decides what
//! it shows, reports and writes: `catalog/manager_sink`.
//! Invariant: a manager that has released a connection gets no more events from it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::auth_prompt::AuthPrompt;
use crate::event::{EventKind, LogLevel, LogOrigin};
use crate::redact::Mask;
use crate::result::ManagerId;
use crate::scan::Signal;
use crate::server_request::{self, Feature, Refusal, ServerRequest};
use crate::sync::lock;
use crate::tool::Tools;

/// A manager that holds a connection, as seen by the connection.
pub(crate) trait Subscriber: Send + Sync {
    fn emit(&self, server: &str, kind: EventKind);

    /// Asks the program to sign in, if it has a callback for that; the answer is the URL that the browser was sent back
    /// to, if the callback knows it.
    fn ask_auth(&self, prompt: &AuthPrompt) -> Option<BoxFuture<'static, Option<String>>>;

    /// Whether a sign-in is begun for a server that wants one.
    fn begin_auth(&self) -> bool;

    /// Tells managers apart.
    fn manager(&self) -> ManagerId;

    /// Whether the program answers requests of this kind.
    fn offers(&self, feature: Feature) -> bool;

    /// Passes a request of the server to the program.
    fn answer_request(&self, request: ServerRequest) -> BoxFuture<'static, Result<Value, Refusal>>;

    /// What the manager has set on the server for as long as it holds it.
    fn session_settings(&self, server: &str) -> SessionSettings;

    /// The server announced a change of its tools.
    fn note_announcement(&self);

    /// Invalidates the catalog; the next read rebuilds it.
    fn invalidate_catalog(&self);

    /// Emits a warning; returns false if it was emitted before.
    fn warn_once(&self, server: &str, line: &str) -> bool;

    /// Emits a suspicion; returns false if it was emitted before.
    fn report_suspicion(&self, server: &str, suspicion: &Suspicion) -> bool;

    /// Compares tools with their pins before they are shown.
    fn review_tools(&self, server: &str, tools: &Tools, mask: &Mask);

    /// Emits a change of the tools and their drift; returns a line for the log.
    fn report_tools(&self, server: &str, tools: &Tools, mask: &Mask) -> Option<String>;

    /// Loads the pins of earlier sessions, if no tool may be shown before that. The job blocks.
    fn load_pins(&self, server: &str) -> Option<Box<dyn FnOnce() + Send>>;

    /// Where the manager keeps the server's tools between sessions.
    fn tool_store(self: Arc<Self>, server: &str) -> Option<Box<dyn ToolStore>>;
}

/// What a manager has set on a server for as long as it holds it. Every new session gets it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionSettings {
    /// The resources whose updates it wants.
    pub(crate) subscriptions: BTreeSet<String>,
    pub(crate) log_level: Option<LogLevel>,
}

impl SessionSettings {
    /// The settings of a session that several managers hold: the resources of all, and the lowest level.
    fn merge(mut self, other: SessionSettings) -> SessionSettings {
        self.subscriptions.extend(other.subscriptions);
        let levels = [self.log_level, other.log_level].into_iter().flatten();
        SessionSettings { log_level: levels.min(), ..self }
    }
}

/// Where one manager keeps a server's tools. It is taken while the manager holds the connection; the manager may be
/// gone when the tools are written. All methods block.
pub(crate) trait ToolStore: Send {
    /// Whether nothing is kept.
    fn is_off(&self) -> bool;

    /// The version of the protocol that the kept tools were listed in.
    fn cached_protocol(&self, server: &str, fingerprint: &str, now_ms: u64) -> Option<String>;

    /// Emits how the tools differ from earlier sessions, if that was deferred; returns a line for the log.
    fn report_drift(&self, listing: &Listing) -> Option<String>;

    /// Writes the tools, unless another manager's store has written the same file.
    fn write(&self, listing: &Listing, written: &mut WrittenFiles);
}

/// A server's tools to compare and write.
pub(crate) struct Listing {
    pub(crate) server: Arc<str>,
    pub(crate) tools: Tools,
    /// The mask for the values that the server was given.
    pub(crate) mask: Mask,
    /// The entries as they may be written.
    pub(crate) masked_entries: Vec<Bytes>,
    /// The fingerprint of the server's definition.
    pub(crate) fingerprint: String,
    pub(crate) protocol_version: String,
    pub(crate) time_ms: u64,
}

/// The files written for one listing.
#[derive(Default)]
pub(crate) struct WrittenFiles(HashSet<PathBuf>);

impl WrittenFiles {
    /// Whether this file or directory was not written yet.
    pub(crate) fn is_first(&mut self, path: &Path) -> bool {
        self.0.insert(path.to_owned())
    }
}

/// A text of a server that looks like instructions to a model.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Suspicion {
    pub(crate) origin: TextOrigin,
    pub(crate) signals: Vec<Signal>,
}

/// Where a text of a server is from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// The server's instructions.
    Instructions,
    /// The tool with this raw name.
    Tool(String),
    /// The skill with this address.
    Skill(String),
}

/// The managers that hold one connection.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<Vec<Weak<dyn Subscriber>>>);

/// The level of a log line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
    Info,
}

impl Subscribers {
    pub(crate) fn join(&self, subscriber: Weak<dyn Subscriber>) {
        lock(&self.0).push(subscriber);
    }

    pub(crate) fn leave(&self, subscriber: &Weak<dyn Subscriber>) {
        let mut subscribers = lock(&self.0);
        if let Some(at) = subscribers.iter().position(|held| held.ptr_eq(subscriber)) {
            subscribers.remove(at);
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn Subscriber>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn emit(&self, server: &str, kind: EventKind) {
        for subscriber in self.all() {
            subscriber.emit(server, kind.clone());
        }
    }

    /// What the client can do for a server, by all its managers.
    pub(crate) fn capabilities(&self) -> Value {
        let all = self.all();
        server_request::capabilities(|feature| all.iter().any(|it| it.offers(feature)))
    }

    /// The manager that a request of the server is for: that of a call, if it is known; or the newest that answers such
    /// requests.
    pub(crate) fn answering(
        &self,
        feature: Feature,
        caller: Option<ManagerId>,
    ) -> Option<Arc<dyn Subscriber>> {
        let mut all = self.all();
        // Nobody else answers for the manager of a call.
        if all.iter().any(|subscriber| Some(subscriber.manager()) == caller) {
            all.retain(|subscriber| Some(subscriber.manager()) == caller);
        }
        all.retain(|subscriber| subscriber.offers(feature));
        all.pop()
    }

    /// What every new session of the server gets.
    pub(crate) fn session_settings(&self, server: &str) -> SessionSettings {
        let all = self.all();
        let settings = all.iter().map(|subscriber| subscriber.session_settings(server));
        settings.fold(SessionSettings::default(), SessionSettings::merge)
    }

    /// Asks all programs that have a callback for signing in.
    pub(crate) fn ask_auth(&self, prompt: &AuthPrompt) -> Vec<BoxFuture<'static, Option<String>>> {
        self.all().iter().filter_map(|subscriber| subscriber.ask_auth(prompt)).collect()
    }

    /// Whether a manager wants a sign-in to be begun.
    pub(crate) fn begin_auth(&self) -> bool {
        self.all().iter().any(|subscriber| subscriber.begin_auth())
    }

    /// Records that the server announced a change of its tools.
    pub(crate) fn note_announcement(&self) {
        for subscriber in self.all() {
            subscriber.note_announcement();
        }
    }

    pub(crate) fn invalidate_catalogs(&self) {
        for subscriber in self.all() {
            subscriber.invalidate_catalog();
        }
    }

    pub(crate) fn review_tools(&self, server: &str, tools: &Tools, mask: &Mask) {
        for subscriber in self.all() {
            subscriber.review_tools(server, tools, mask);
        }
    }

    pub(crate) fn report_tools(&self, server: &str, tools: &Tools, mask: &Mask) {
        let report =
            |subscriber: &Arc<dyn Subscriber>| subscriber.report_tools(server, tools, mask);
        log_warnings(server, self.all().iter().filter_map(report).collect());
    }

    /// Loads the pins of earlier sessions for all managers that need them before they show a tool. The job blocks.
    pub(crate) fn load_pins(&self, server: &str) -> Option<impl FnOnce() + Send + use<>> {
        let load = |subscriber: &Arc<dyn Subscriber>| subscriber.load_pins(server);
        let jobs: Vec<_> = self.all().iter().filter_map(load).collect();
        (!jobs.is_empty()).then_some(move || jobs.into_iter().for_each(|job| job()))
    }

    pub(crate) fn tool_stores(&self, server: &str) -> Vec<Box<dyn ToolStore>> {
        self.all().into_iter().filter_map(|subscriber| subscriber.tool_store(server)).collect()
    }

    /// Writes a line to the log and emits it as an event.
    pub(crate) fn log(&self, severity: Severity, server: &str, line: &str) {
        let level = match severity {
            Severity::Error => {
                tracing::error!(server, "{line}");
                "error"
            }
            Severity::Warning => {
                tracing::warn!(server, "{line}");
                "warning"
            }
            Severity::Info => {
                tracing::info!(server, "{line}");
                "info"
            }
        };
        self.emit(server, log_event(level, line));
    }

    /// Warns every manager that was not warned before.
    pub(crate) fn warn_once(&self, server: &str, line: &str) {
        let warn = |subscriber: &&Arc<dyn Subscriber>| subscriber.warn_once(server, line);
        if self.all().iter().filter(warn).count() > 0 {
            tracing::warn!(server, "{line}");
        }
    }

    /// Reports a suspicion to all managers; returns whether it was new to any of them.
    pub(crate) fn report_suspicion(&self, server: &str, suspicion: &Suspicion) -> bool {
        let report =
            |subscriber: &&Arc<dyn Subscriber>| subscriber.report_suspicion(server, suspicion);
        self.all().iter().filter(report).count() > 0
    }
}

/// Writes the lines of several managers to the log, each once.
pub(crate) fn log_warnings(server: &str, lines: BTreeSet<String>) {
    for line in lines {
        tracing::warn!(server, "{line}");
    }
}

/// The event of a log line of ours.
pub(crate) fn log_event(level: &str, line: &str) -> EventKind {
    let (origin, level) = (LogOrigin::Mcpool, level.to_owned());
    EventKind::Log { origin, level, logger: None, data: line.into() }
}
