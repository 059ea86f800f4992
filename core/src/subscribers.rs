//! Owns who hears of a connection: the managers that hold it, each with its own event log and its own catalog.
//! Invariant: whoever has let go of a connection hears nothing more of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::catalog::{Cache, Consult, Drift, Offer};
use crate::connection::Suspicion;
use crate::event::{EventKind, EventLog, LogOrigin};
use crate::redact::Mask;
use crate::sync::lock;
use crate::tool::Tools;

/// How many suspicions a manager remembers having been told of.
const SUSPICIONS: usize = 1024;
/// How many lines about servers a manager keeps.
const WARNINGS: usize = 1024;

/// What a manager shows a connection of itself.
pub(crate) struct View {
    pub(crate) events: EventLog,
    pub(crate) cache: Cache,
    catalog_version: AtomicU64,
    /// How many changes of tools its servers have announced.
    announced: AtomicU64,
    /// What the manager offers of its servers' tools, by server.
    offers: Mutex<HashMap<String, Arc<Offer>>>,
    /// What is odd about its servers, as far as that is known only since they were connected: server and line.
    warnings: Mutex<Vec<(String, String)>>,
    /// What it was told of texts that give orders to a model, by server.
    suspicions: Mutex<Vec<(String, Suspicion)>>,
}

impl View {
    pub(crate) fn new(cache: Cache) -> Arc<View> {
        Arc::new(View {
            events: EventLog::default(),
            cache,
            catalog_version: AtomicU64::new(1),
            announced: AtomicU64::new(0),
            offers: Mutex::default(),
            warnings: Mutex::default(),
            suspicions: Mutex::default(),
        })
    }

    pub(crate) fn set_offers(&self, offers: impl Iterator<Item = (String, Arc<Offer>)>) {
        *lock(&self.offers) = offers.collect();
    }

    pub(crate) fn offer(&self, server: &str) -> Option<Arc<Offer>> {
        lock(&self.offers).get(server).cloned()
    }

    /// How many of these tools the manager offers.
    pub(crate) fn tool_count(&self, server: &str, tools: &Tools, mask: &Mask) -> usize {
        match self.offer(server) {
            Some(offer) => offer.count(tools, || mask.clone()),
            None => tools.list.len(),
        }
    }

    /// What of these tools is not as it was.
    pub(crate) fn look(
        &self,
        server: &str,
        tools: &Tools,
        mask: &Mask,
        consult: Consult,
    ) -> Vec<Drift> {
        self.offer(server).map(|offer| offer.look(tools, mask, consult)).unwrap_or_default()
    }

    /// Tells the manager of that, as far as it has not heard it; the answer is a line that the log should have.
    pub(crate) fn tell(&self, server: &str, drifts: Vec<Drift>) -> Option<String> {
        let line = self.offer(server)?.tell(drifts, &self.events)?;
        self.events.emit(server, log_event("warning", &line));
        Some(line)
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).iter().map(|(_, line)| line.clone()).collect()
    }

    /// Notes the line and tells it as an event, unless that was done before.
    pub(crate) fn warn_once(&self, server: &str, line: &str) -> bool {
        let entry = (server.to_owned(), line.to_owned());
        {
            let mut warnings = lock(&self.warnings);
            if warnings.contains(&entry) {
                return false;
            }
            let excess = (warnings.len() + 1).saturating_sub(WARNINGS);
            warnings.drain(..excess);
            warnings.push(entry);
        }
        self.events.emit(server, log_event("warning", line));
        true
    }

    /// Notes the suspicion; tells whether it is news.
    pub(crate) fn is_first_report(&self, server: &str, suspicion: &Suspicion) -> bool {
        let entry = (server.to_owned(), suspicion.clone());
        let mut suspicions = lock(&self.suspicions);
        let news = !suspicions.contains(&entry);
        if news {
            // A server that always says something else is forgotten little by little.
            let excess = (suspicions.len() + 1).saturating_sub(SUSPICIONS);
            suspicions.drain(..excess);
            suspicions.push(entry);
        }
        news
    }

    /// What was odd about these servers is of no interest any more.
    pub(crate) fn forget_warnings(&self, is_over: impl Fn(&str) -> bool) {
        lock(&self.warnings).retain(|(server, _)| !is_over(server));
        lock(&self.suspicions).retain(|(server, _)| !is_over(server));
    }

    pub(crate) fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    /// Another number means that some server announced a change of its tools.
    pub(crate) fn announced(&self) -> u64 {
        self.announced.load(Ordering::Acquire)
    }

    /// Marks the catalog as out of date; whoever looks at it next builds it anew.
    pub(crate) fn invalidate_catalog(&self) {
        self.catalog_version.fetch_add(1, Ordering::Release);
    }
}

/// Everybody who holds one connection.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<Vec<Weak<View>>>);

/// How much a log line matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
    Info,
}

impl Subscribers {
    pub(crate) fn join(&self, view: &Arc<View>) {
        lock(&self.0).push(Arc::downgrade(view));
    }

    pub(crate) fn leave(&self, view: &Arc<View>) {
        let mut views = lock(&self.0);
        if let Some(at) = views.iter().position(|held| held.as_ptr() == Arc::as_ptr(view)) {
            views.remove(at);
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn views(&self) -> Vec<Arc<View>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn emit(&self, server: &str, kind: EventKind) {
        for view in self.views() {
            view.events.emit(server, kind.clone());
        }
    }

    pub(crate) fn invalidate_catalogs(&self) {
        for view in self.views() {
            view.invalidate_catalog();
        }
    }

    /// Notes that the server announced a change of its tools.
    pub(crate) fn note_announcement(&self) {
        for view in self.views() {
            view.announced.fetch_add(1, Ordering::Release);
        }
    }

    /// Writes a line to the log, and tells it as an event.
    pub(crate) fn say(&self, weight: Severity, server: &str, line: &str) {
        let level = match weight {
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

    /// A warning for everybody who has not heard it yet.
    pub(crate) fn warn_once(&self, server: &str, line: &str) {
        let news = self.views().iter().filter(|view| view.warn_once(server, line)).count();
        if news > 0 {
            tracing::warn!(server, "{line}");
        }
    }
}

fn log_event(level: &str, line: &str) -> EventKind {
    let (origin, level) = (LogOrigin::Mcpool, level.to_owned());
    EventKind::Log { origin, level, logger: None, data: line.into() }
}
