//! Fans out what happens on a connection to the managers that hold it. The connection decides when; each manager decides
//! what it shows, reports and writes: `catalog/manager_sink`.
//! Invariant: a manager that has let go of a connection hears nothing more of it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;

use crate::event::{EventKind, LogOrigin};
use crate::redact::Mask;
use crate::scan::Signal;
use crate::sync::lock;
use crate::tool::Tools;

/// A manager that holds a connection, as the connection sees it.
pub(crate) trait Subscriber: Send + Sync {
    fn emit(&self, server: &str, kind: EventKind);

    /// The server announced a change of its tools.
    fn note_announcement(&self);

    /// The next read of the catalog rebuilds it.
    fn invalidate_catalog(&self);

    /// Emits a warning; false where it was emitted before.
    fn warn_once(&self, server: &str, line: &str) -> bool;

    /// Emits a suspicion; false where it was emitted before.
    fn report_suspicion(&self, server: &str, suspicion: &Suspicion) -> bool;

    /// Compares tools with what they were, before anybody is shown them.
    fn review_tools(&self, server: &str, tools: &Tools, mask: &Mask);

    /// Emits that there are other tools, and how they drifted; gives a line for the log.
    fn report_tools(&self, server: &str, tools: &Tools, mask: &Mask) -> Option<String>;

    /// Loads the pins of earlier sessions, where no tool may be shown before they are known. The job blocks.
    fn load_pins(&self, server: &str) -> Option<Box<dyn FnOnce() + Send>>;

    /// Where the manager keeps the server's tools from session to session.
    fn tool_store(self: Arc<Self>, server: &str) -> Option<Box<dyn ToolStore>>;
}

/// Where one manager keeps a server's tools. It is taken while the manager holds the connection; the manager may be gone
/// when the tools are written. All methods block.
pub(crate) trait ToolStore: Send {
    /// Whether nothing is kept.
    fn is_off(&self) -> bool;

    /// Emits how the tools differ from earlier sessions, if that was put off; gives a line for the log.
    fn report_drift(&self, listing: &Listing) -> Option<String>;

    /// Writes the tools, unless another manager's store has written the same file.
    fn write(&self, listing: &Listing, written: &mut WrittenFiles);
}

/// A server's tools as they are to be compared and written.
pub(crate) struct Listing {
    pub(crate) server: Arc<str>,
    pub(crate) tools: Tools,
    /// Hides the values that the server was given.
    pub(crate) mask: Mask,
    /// The entries as they may be written.
    pub(crate) masked_entries: Vec<Bytes>,
    /// The fingerprint of the server's definition.
    pub(crate) fingerprint: String,
    pub(crate) protocol_version: String,
    pub(crate) time_ms: u64,
}

/// The files that were written for one listing.
#[derive(Default)]
pub(crate) struct WrittenFiles(HashSet<PathBuf>);

impl WrittenFiles {
    /// Whether nobody has written this file or directory yet.
    pub(crate) fn is_first(&mut self, path: &Path) -> bool {
        self.0.insert(path.to_owned())
    }
}

/// A text of a server that looks as if it were written to give orders to a model.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Suspicion {
    /// The raw name of the tool that it describes; none for the server's instructions.
    pub(crate) tool: Option<String>,
    pub(crate) signals: Vec<Signal>,
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

    /// Notes that the server announced a change of its tools.
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

    /// Loads the pins of earlier sessions for all who need them before they show a tool. The job blocks.
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

    /// Warns everybody who was not warned of it before.
    pub(crate) fn warn_once(&self, server: &str, line: &str) {
        let warn = |subscriber: &&Arc<dyn Subscriber>| subscriber.warn_once(server, line);
        if self.all().iter().filter(warn).count() > 0 {
            tracing::warn!(server, "{line}");
        }
    }

    /// Reports a suspicion to all; tells whether it was new to any of them.
    pub(crate) fn report_suspicion(&self, server: &str, suspicion: &Suspicion) -> bool {
        let report =
            |subscriber: &&Arc<dyn Subscriber>| subscriber.report_suspicion(server, suspicion);
        self.all().iter().filter(report).count() > 0
    }
}

/// Writes lines of several managers to the log, each once.
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
